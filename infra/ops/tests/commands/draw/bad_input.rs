//! Refusals, and periods at the edge.

use common::domain::submission::SubmissionStatus;
use common::domain::timestamp::Timestamp;
use serde_json::json;

use super::races::assert_released;
use super::*;
use crate::draw_walk::revoked_by_two;

/// Freezes with these options and the usual others, which is refused.
async fn refused(stack: &Stack, options: &str, code: &str) {
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
    stack.refused(command, code).await;
    assert_eq!(
        files_in(stack.folder.path()),
        ["chai.yaml"],
        "no folder is left behind"
    );
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
        refused(&stack, options, code).await;
    }
    for prize in ["Kettle", "Kettle=0", "=1"] {
        let freeze = freeze(&stack, "refused", &format!("--prize {prize}"));
        stack.run(freeze).await.misused();
    }
    assert_no_draws(&stack).await;
}

#[tokio::test]
async fn freeze_shows_what_it_commits_to_and_asks() {
    let stack = with_entries().await;
    submitted(&stack, "0711000005", SubmissionStatus::checking(), ENTERED).await;
    let command = freeze(&stack, "week-03", "--prize Kettle=2 --prize Tea=5");
    let asking = command.replace(" --yes", "");
    stack.refused(&asking, "confirmation_needed").await;
    let told = stack.answering(&asking, "yes\n").await.failed();
    assert_contains!(
        told,
        "period        2026-02-22 00:00:00 +03:00 to before 2026-03-01 00:00:00 +03:00\n",
        "entrants      3\n",
        "entries       10\n",
        "prizes        2 x Kettle, 5 x Tea\n",
        " at 2026-03-01 03:15:00 Africa/Dar_es_Salaam\n",
        "left out      0 entries of blocked phones, 0 of people who were erased\n",
        "largest rows  7 (",
        "by hand       0 entries were given by people, not by the service\n",
        "unsettled     1 submissions are not settled, and not in this draw\n",
        "This cannot be undone. Type week-03 to continue: "
    );
    assert_eq!(files_in(stack.folder.path()), ["chai.yaml"]);
    assert_no_draws(&stack).await;
    assert_released(&stack).await;
    stack.answering(&asking, "week-03\n").await.fine();
}

#[tokio::test]
async fn folder_with_something_in_it_is_not_written_to() {
    let stack = with_entries().await;
    fs::create_dir(stack.path("taken")).expect("a disk");
    stack.file("taken/precious", "x");
    stack
        .refused(freeze(&stack, "taken", PRIZE), "file_exists")
        .await;
    assert_eq!(files_in(&stack.path("taken")), ["precious"]);
    fs::create_dir(stack.path("week-03")).expect("a disk");
    frozen(&stack).await;
    assert_eq!(files_in(&stack.path("week-03")).len(), 4);
}

#[tokio::test]
async fn one_entrant_wins_once_however_many_prizes_there_are() {
    let stack = Stack::with_chai().await;
    entered(&stack, "0711000001", 1).await;
    let told = stack
        .fine(freeze(&stack, "week-03", "--prize Kettle=5"))
        .await;
    assert_contains!(
        told,
        "There are 5 prizes and 1 entrants: some prizes can have no winner."
    );
    let drawn = stack.json(RUN).await;
    assert_eq!(len_of(&drawn["winners"]), 1);
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
    frozen(&stack).await;
    stack.fine(RUN).await;
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
            .fine(format!("submission revoke {other} --why mistake"))
            .await;
    }
    let call = format!("draw call {DRAW} --outcome reached --winner 1");
    stack.refused(call, "step_refused").await;
    let skip = format!("draw skip {DRAW} --reason revoked --inspector Neema --yes --winner 1");
    stack.fine(skip).await;
}

#[tokio::test]
async fn weight_of_a_million_counts_a_million_times() {
    let stack = with_entries().await;
    entered(&stack, "0711000009", 1_000_000).await;
    let draw = frozen(&stack).await;
    assert_eq!(draw["header"]["total"], 1_000_010);
    let entries = stack.read("week-03/entries.csv");
    assert_eq!(entries.matches(",1000000\n").count(), 1);
    assert_eq!(stack.json(RUN).await["winners"][0]["prize"], "Kettle");
}

#[tokio::test]
async fn late_settled_entry_is_in_the_next_draw_alone() {
    let stack = with_entries().await;
    let late = submitted(&stack, "0711000005", SubmissionStatus::checking(), ENTERED).await;
    let reference = late.reference().to_string();
    let told = stack.fine(freeze(&stack, "week-03", PRIZE)).await;
    assert_contains!(
        told,
        format!("1 submissions are not settled and not in this draw: {reference}."),
        "so these join the next one"
    );
    stack
        .fine(format!(
            "submission settle {reference} --accept --entries 2 --why seen"
        ))
        .await;
    stack.clock.advance(Duration::from_secs(24 * 60 * 60));
    let output = stack.arg("week-04");
    let next = format!(
        "draw freeze --campaign chai-bora-2026 --draw week-04 --from 2026-03-01 --to 2026-03-01 --at 2026-03-02T18:00:00+03:00 {PRIZE} \
         --output {output} --yes"
    );
    let next = stack.json(next).await;
    assert_eq!(size(&next), [1, 2]);
    let rest = fields(&next, "unsettled largest_rows given_by_hand");
    assert_eq!(rest, "[] [2] 2");
    let told = stack.json(format!("draw opening {reference}")).await;
    assert_eq!(len_of(&told["openings"]), 1);
    assert_eq!(told["openings"][0]["draw"], "week-04");
}

#[tokio::test]
async fn late_and_rejected_submissions_are_left_out() {
    let stack = with_entries().await;
    let end = Timestamp::from_millis(NOW.as_millis() - 3 * 60 * 60 * 1000);
    let accepted = SubmissionStatus::accepted(9, None);
    submitted(&stack, "0711000006", accepted.clone(), end).await;
    let within = Timestamp::from_millis(end.as_millis() - 1);
    let within = submitted(&stack, "0711000007", accepted, within).await;
    let mistaken = entered(&stack, "0711000008", 9).await;
    let id = mistaken.reference();
    stack
        .fine(format!("submission revoke {id} --why mistake"))
        .await;
    let draw = frozen(&stack).await;
    assert_eq!(size(&draw), [4, 19]);
    stack
        .fine(format!("draw opening {}", within.reference()))
        .await;
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
    let (draw, ()) = tokio::join!(frozen(&stack), arriving);
    assert_eq!(size(&draw), [3, 10]);
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
        .fine(format!("campaign apply --yes --delete-now {}", kept(2)))
        .await;
    refused(&stack, "", "phones_deleted").await;
    stack
        .fine(format!("campaign apply --yes {}", kept(3)))
        .await;
    frozen(&stack).await;
}
