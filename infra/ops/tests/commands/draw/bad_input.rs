//! Refusals, and periods at the edge.

use common::domain::submission::SubmissionStatus;
use common::domain::timestamp::Timestamp;
use serde_json::json;

use super::races::assert_released;
use super::*;
use crate::draw_walk::revoked_by_two;

/// Freezes with these options; returns the error's code.
async fn refused(stack: &Stack, options: &str) -> String {
    let output = stack.arg("refused");
    let mut command = format!("draw freeze --draw refused --output {output} --yes {options}");
    for (name, value) in [
        ("--from", "2026-02-22"),
        ("--to", "2026-02-28"),
        ("--at", "2026-03-01T03:10:00+03:00"),
        ("--prize", "Kettle=1"),
        ("--campaign", "chai-bora-2026"),
    ] {
        if !options.contains(name) {
            command.push_str(&format!(" {name} {value}"));
        }
    }
    let command: Vec<_> = command.split_whitespace().collect();
    let error = stack.refused(&command).await;
    assert!(
        !stack.path("refused").exists(),
        "the folder is whole or not there"
    );
    error["code"].as_str().expect("a code").to_owned()
}

#[tokio::test]
async fn invalid_freeze_is_refused_and_leaves_nothing() {
    let stack = with_entries().await;
    for (options, code) in [
        (
            "--from 2026-01-01 --to 2026-01-31",
            "period_without_entries",
        ),
        ("--from 2026-02-28 --to 2026-02-27", "period_empty"),
        ("--to 2026-03-01", "period_open"),
        ("--to 2026-03-01T02:56:00+03:00", "period_open"),
        ("--at 2026-03-01T03:09:59+03:00", "round_too_near"),
        ("--at 2026-02-28T03:00:00+03:00", "round_too_near"),
        ("--prize Kettle=1 --prize Kettle=2", "draw_invalid"),
        (
            "--prize Kettle=18446744073709551615 --prize Tea=1",
            "draw_invalid",
        ),
        ("--campaign other", "campaign_unknown"),
    ] {
        assert_eq!(refused(&stack, options).await, code, "{options}");
    }
    for prize in ["Kettle", "Kettle=0", "=1"] {
        let ended = stack
            .run(&args(&freeze(
                &stack,
                "refused",
                &format!("--prize {prize}"),
            )))
            .await;
        assert_eq!(ended.code, ops_core::EXIT_USAGE, "{prize}");
    }
    assert_eq!(
        files_in(stack.folder.path()),
        ["chai.yaml"],
        "no folder is left behind"
    );
    assert!(
        stack
            .tables()
            .await
            .draws
            .list(&chai(Environment::Live))
            .await
            .expect("it answers")
            .is_empty()
    );
}

#[tokio::test]
async fn freeze_shows_what_it_commits_to_and_asks() {
    let stack = with_entries().await;
    submitted(&stack, "0711000005", SubmissionStatus::checking(), ENTERED).await;
    let command = freeze(&stack, "week-03", "--prize Kettle=2 --prize Tea=5");
    let asking: Vec<_> = args(&command)
        .into_iter()
        .filter(|arg| *arg != "--yes")
        .collect();
    assert_eq!(stack.refused(&asking).await["code"], "confirmation_needed");
    let told = stack
        .answering(
            &asking, "yes
",
        )
        .await;
    assert_eq!(
        (told.code, told.out.as_str()),
        (ops_core::EXIT_FAILURE, ""),
        "{}",
        told.err
    );
    for shown in [
        "period        2026-02-22 00:00:00 +03:00 to before 2026-03-01 00:00:00 +03:00\n",
        "entrants      3\n",
        "entries       10\n",
        "prizes        2 x Kettle, 5 x Tea\n",
        " at 2026-03-01 03:15:00 Africa/Dar_es_Salaam\n",
        "left out      0 entries of blocked phones, 0 of people who were erased\n",
        "largest rows  7 (",
        "by hand       0 entries were given by people, not by the service\n",
        "unsettled     1 submissions are not settled, and not in this draw\n",
        "This cannot be undone. Type week-03 to continue: ",
    ] {
        assert!(told.err.contains(shown), "{shown}: {}", told.err);
    }
    assert_eq!(
        files_in(stack.folder.path()),
        ["chai.yaml"],
        "no folder is left behind"
    );
    let (tables, scope) = (stack.tables().await, chai(Environment::Live));
    assert_eq!(tables.draws.list(&scope).await.expect("it answers"), []);
    assert_released(&stack).await;
    let agreed = stack.answering(&asking, "week-03\n").await;
    assert_eq!(agreed.code, ops_core::EXIT_OK, "{}", agreed.err);
}

#[tokio::test]
async fn folder_with_something_in_it_is_not_written_to() {
    let stack = with_entries().await;
    fs::create_dir(stack.path("taken")).expect("a disk");
    stack.file("taken/precious", "x");
    let error = stack.refused(&args(&freeze(&stack, "taken", PRIZE))).await;
    assert_eq!(error["code"], "file_exists");
    assert_eq!(files_in(&stack.path("taken")), ["precious"]);
    fs::create_dir(stack.path("empty")).expect("a disk");
    frozen(&stack, "empty", PRIZE).await;
    assert_eq!(files_in(&stack.path("empty")).len(), 4);
}

#[tokio::test]
async fn one_entrant_wins_once_however_many_prizes_there_are() {
    let stack = Stack::with_chai().await;
    entered(&stack, "0711000001", 1).await;
    let told = stack
        .fine(&args(&freeze(&stack, "alone", "--prize Kettle=5")))
        .await;
    assert!(
        told.contains("There are 5 prizes and 1 entrants: some prizes can have no winner."),
        "{told}"
    );
    let drawn = stack.json(&run("alone", &[])).await;
    assert_eq!(drawn["winners"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn entries_of_another_row_do_not_keep_a_winner() {
    let stack = Stack::with_chai().await;
    let earlier = Timestamp::from_millis(NOW.as_millis() - 30 * 24 * 60 * 60 * 1000);
    submitted(
        &stack,
        "0711000001",
        SubmissionStatus::accepted(1, None),
        earlier,
    )
    .await;
    let frauds = [
        entered(&stack, "0711000001", 5).await,
        entered(&stack, "0711000001", 2).await,
    ];
    frozen(&stack, "week-03", PRIZE).await;
    stack.fine(&run("week-03", &[])).await;
    for fraud in frauds {
        revoked_by_two(&stack, &fraud.reference().to_string()).await;
    }
    // Later entries, and others', are not at stake.
    for phone in ["0711000001", "0711000002"] {
        let later = NOW.after(Duration::from_secs(3_600));
        let other = submitted(&stack, phone, SubmissionStatus::accepted(1, None), later)
            .await
            .reference();
        stack
            .fine(&[
                "submission",
                "revoke",
                &other.to_string(),
                "--why",
                "mistake",
            ])
            .await;
    }
    let call = in_campaign("draw call --outcome reached --winner 1 --draw week-03");
    assert_eq!(stack.refused(&call).await["code"], "step_refused");
    let skip = "draw skip --reason revoked --inspector Neema --yes --winner 1 --draw week-03";
    stack.fine(&in_campaign(skip)).await;
}

#[tokio::test]
async fn weight_of_a_million_counts_a_million_times() {
    let stack = with_entries().await;
    entered(&stack, "0711000009", 1_000_000).await;
    let draw = frozen(&stack, "heavy", PRIZE).await;
    assert_eq!(draw["header"]["total"], 1_000_010);
    let entries = fs::read_to_string(stack.path("heavy").join("entries.csv")).expect("a file");
    assert_eq!(
        entries
            .lines()
            .filter(|line| line.ends_with(",1000000"))
            .count(),
        1
    );
    assert_eq!(
        stack.json(&run("heavy", &[])).await["winners"][0]["prize"],
        "Kettle"
    );
}

#[tokio::test]
async fn late_settled_entry_is_in_the_next_draw_alone() {
    let stack = with_entries().await;
    let late = submitted(&stack, "0711000005", SubmissionStatus::checking(), ENTERED).await;
    let reference = late.reference().to_string();
    let command = freeze(&stack, "week-03", PRIZE);
    let told = stack.fine(&args(&command)).await;
    assert!(
        told.contains(&format!(
            "1 submissions are not settled and not in this draw: {reference}."
        )),
        "{told}"
    );
    assert!(told.contains("so these join the next one"), "{told}");
    let id = late.submission_id.to_string();
    stack
        .fine(&[
            "submission",
            "settle",
            &id,
            "--accept",
            "--entries",
            "2",
            "--why",
            "seen",
        ])
        .await;
    stack.clock.advance(Duration::from_secs(24 * 60 * 60));
    let output = stack.arg("week-04");
    let next = format!(
        "draw freeze --draw week-04 --from 2026-03-01 --to 2026-03-01 --at 2026-03-02T18:00:00+03:00 {PRIZE} \
         --output {output} --yes"
    );
    let next = stack.json(&in_campaign(&next)).await;
    assert_eq!(
        (&next["header"]["rows"], &next["header"]["total"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(next["unsettled"], json!([]));
    assert_eq!(
        (&next["largest_rows"], &next["given_by_hand"]),
        (&json!([2]), &json!(2)),
        "a person gave them"
    );
    let told = stack.json(&["draw", "opening", &reference]).await;
    assert_eq!(told["openings"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["openings"][0]["draw"], "week-04");
}

#[tokio::test]
async fn late_and_rejected_submissions_are_left_out() {
    let stack = with_entries().await;
    let end = Timestamp::from_millis(NOW.as_millis() - 3 * 60 * 60 * 1000);
    let accepted = SubmissionStatus::accepted(9, None);
    submitted(&stack, "0711000006", accepted.clone(), end).await;
    let within = submitted(
        &stack,
        "0711000007",
        accepted,
        Timestamp::from_millis(end.as_millis() - 1),
    )
    .await;
    let mistaken = entered(&stack, "0711000008", 9).await;
    let id = mistaken.submission_id.to_string();
    stack
        .fine(&["submission", "revoke", &id, "--why", "mistake"])
        .await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    assert_eq!(
        (&draw["header"]["rows"], &draw["header"]["total"]),
        (&json!(4), &json!(19))
    );
    assert!(
        stack
            .json(&["draw", "opening", &within.reference().to_string()])
            .await["openings"]
            .is_array()
    );
}

/// Entries of the next period arrive during the read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_come_in_meanwhile_are_not_in_the_draw() {
    let stack = with_entries().await;
    let arriving = async {
        for number in 10..30 {
            let accepted = SubmissionStatus::accepted(1, None);
            submitted(&stack, &format!("07110000{number}"), accepted, NOW).await;
        }
    };
    let (draw, ()) = tokio::join!(frozen(&stack, "week-03", PRIZE), arriving);
    assert_eq!(
        (&draw["header"]["rows"], &draw["header"]["total"]),
        (&json!(3), &json!(10))
    );
    assert_eq!(draw["unsettled"], json!([]));
}

#[tokio::test]
async fn campaign_that_keeps_phones_no_longer_has_no_more_draws() {
    let stack = with_entries().await;
    let ended = CHAI.replace("end: null", "end: 2026-02-27T00:00:00+03:00");
    let kept = |days: u32| {
        stack.file(
            "chai.yaml",
            format!("{ended}retention: {{ phones_days: {days} }}\n"),
        )
    };
    stack
        .fine(&["campaign", "apply", "--yes", "--delete-now", &kept(2)])
        .await;
    assert_eq!(refused(&stack, "").await, "phones_deleted");
    stack.fine(&["campaign", "apply", "--yes", &kept(3)]).await;
    frozen(&stack, "week-03", PRIZE).await;
}
