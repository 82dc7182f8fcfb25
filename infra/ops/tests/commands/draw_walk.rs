//! `ops draw` after the order: calls, skips, the certificate, which other programs check.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::domain::draw::contact::Contact;
use common::domain::scope::Environment;
use serde_json::{Value, json};

use crate::correction::by;
use crate::draw::{args, entered, freeze, in_campaign, shown};
use crate::support::{Ended, Stack, chai, files_in};

pub(crate) const DRAW: [&str; 4] = ["--campaign", "chai-bora-2026", "--draw", "week-03"];

/// A kettle and two packs of tea among 30 entrants, with winners.
pub(crate) async fn drawn() -> Stack {
    let stack = Stack::with_chai().await;
    for number in 1..=30 {
        entered(&stack, &format!("07110000{number:02}"), 1 + number % 3).await;
    }
    let prizes = "--prize Kettle=1 --prize Tea=2 --one-prize-per-entrant";
    stack.fine(&args(&freeze(&stack, "week-03", prizes))).await;
    let run = format!("draw run --draw week-03 --output {}", stack.arg("week-03"));
    stack.fine(&in_campaign(&run)).await;
    stack
}

/// A winner's step, logged by Juma.
async fn step(stack: &Stack, command: &str, prize: &str, place: &str, more: &[&str]) -> Ended {
    let winner = ["--tier", prize, "--winner", place, "--by", "Juma", "--json"];
    stack
        .run(&[&["draw", command], &DRAW[..], &winner, more].concat())
        .await
}

async fn logged(stack: &Stack, command: &str, prize: &str, place: &str, more: &[&str]) -> Value {
    let ended = step(stack, command, prize, place, more).await;
    assert_eq!(
        ended.code,
        ops_core::EXIT_OK,
        "{command} {more:?}: {}",
        ended.err
    );
    serde_json::from_str(&ended.out).expect("JSON")
}

async fn refused(stack: &Stack, command: &str, prize: &str, place: &str, more: &[&str]) -> String {
    let ended = step(stack, command, prize, place, more).await;
    assert_eq!(
        (ended.code, ended.out.as_str()),
        (ops_core::EXIT_FAILURE, ""),
        "{command} {more:?}: {}",
        ended.err
    );
    let document: Value = serde_json::from_str(&ended.err).expect("JSON");
    format!(
        "{}: {}",
        document["error"]["code"], document["error"]["message"]
    )
}

const NO_ANSWER: [&str; 2] = ["--outcome", "no-answer"];
const REACHED: [&str; 2] = ["--outcome", "reached"];

fn because(reason: &str) -> [&str; 5] {
    ["--reason", reason, "--inspector", "A. Inspector", "--yes"]
}

/// Places whose winners were drawn and not called: a kettle's winner is skipped for tea.
async fn open_places(stack: &Stack, prize: &str) -> Vec<String> {
    let shown = shown(stack, "week-03").await;
    let winners = shown["winners"].as_array().expect("a list").iter();
    winners
        .filter(|winner| winner["prize"] == prize && winner["state"]["is"] == "drawn")
        .map(|winner| winner["place"].to_string())
        .collect()
}

/// Three unanswered calls, and the skip.
async fn skipped(stack: &Stack, prize: &str, place: &str) -> Value {
    for _ in 0..3 {
        logged(stack, "call", prize, place, &NO_ANSWER).await;
        stack.clock.advance(Duration::from_secs(60));
    }
    logged(stack, "skip", prize, place, &because("no-answer")).await
}

async fn handed_over(stack: &Stack, prize: &str, place: &str) {
    logged(stack, "call", prize, place, &REACHED).await;
    logged(stack, "confirm", prize, place, &[]).await;
    let state = logged(stack, "hand-over", prize, place, &[]).await["winner"]["state"].clone();
    assert_eq!(state, json!({ "is": "handed_over" }));
}

#[tokio::test]
async fn draw_is_walked_to_its_certificate_which_others_check() {
    let stack = drawn().await;
    let next = skipped(&stack, "Kettle", "1").await;
    assert_eq!(
        next["winner"]["state"],
        json!({ "is": "skipped", "reason": "no_answer" })
    );
    let place = next["next"]
        .as_array()
        .expect("a list")
        .last()
        .expect("the next one")["place"]
        .to_string();
    handed_over(&stack, "Kettle", &place).await;
    logged(
        &stack,
        "call",
        "Tea",
        &open_places(&stack, "Tea").await[0],
        &NO_ANSWER,
    )
    .await;

    let page = stack.arg("public.html");
    let written = stack
        .fine(&in_campaign(&format!(
            "draw certificate --draw week-03 --output {page}"
        )))
        .await;
    assert!(
        written.contains("verify.py") && !written.contains("SECRET"),
        "{written}"
    );
    let published = [
        "commitment.txt",
        "entries.csv",
        "header.json",
        "log.json",
        "public.html",
        "result.json",
        "verify.py",
    ];
    let files: HashSet<_> = files_in(stack.folder.path()).into_iter().collect();
    assert!(
        published.iter().all(|name| files.contains(*name)) && !files.contains("openings.csv"),
        "{files:?}"
    );
    let text = fs::read_to_string(stack.path("public.html")).expect("a page");
    let log = fs::read_to_string(stack.path("log.json")).expect("a log");
    for word in [
        r#""reason":"no_answer","inspector":"A. Inspector""#,
        r#""is":"handed_over""#,
        r#""is":"no_answer""#,
    ] {
        assert!(log.contains(word), "{word}");
    }
    assert!(
        text.contains("<h1>Chai Bora") && !log.contains("+25571100"),
        "{log}"
    );
    assert!(!text.contains("+25571100"), "no phone is whole");

    for path in [
        stack.folder.path().display().to_string(),
        stack.arg("week-03"),
    ] {
        let held = stack.json(&["draw", "verify", &path]).await;
        assert_eq!(
            (&held["holds"], &held["rows"]),
            (&json!(true), &json!(30)),
            "{path}"
        );
    }
    let chain = stack
        .env
        .required("BEACON_CHAIN")
        .expect("the stack sets it");
    let chain: Value = serde_json::from_str(&chain).expect("JSON");
    let constants = ["public_key", "genesis_time", "period"]
        .map(|name| chain[name].to_string().replace('"', ""));
    let commitment = fs::read_to_string(stack.path("commitment.txt")).expect("a file");
    let folder = stack.folder.path();
    let mut python = Command::new("python3");
    python
        .arg(folder.join("verify.py"))
        .args([folder.as_os_str(), commitment.trim().as_ref()])
        .args(&constants);
    let ran = python
        .output()
        .expect("python3 is not installed: install it, or verify.py is not tested");
    assert!(ran.stdout.starts_with(b"FOLLOWS: 30 entrants"), "{ran:?}");
    // For looking at it in a browser.
    if let Some(kept) = std::env::var_os("WALKED_DRAW_FOLDER") {
        fs::create_dir_all(&kept).expect("a disk");
        for name in published {
            fs::copy(folder.join(name), Path::new(&kept).join(name)).expect("a disk");
        }
        fs::write(Path::new(&kept).join("chain.txt"), constants.join(" ")).expect("a disk");
    }
}

#[tokio::test]
async fn steps_out_of_order_are_refused_and_leave_nothing() {
    let stack = drawn().await;
    for (command, more, expected) in [
        ("confirm", &[][..], "step_refused"),
        ("hand-over", &[], "step_refused"),
        ("skip", &because("no-answer"), "called three times"),
        ("skip", &because("declined"), "log the call first"),
        ("skip", &because("revoked"), "still accepted"),
    ] {
        let said = refused(&stack, command, "Kettle", "1", more).await;
        assert!(said.contains(expected), "{command} {more:?}: {said}");
    }
    let said = refused(&stack, "call", "Kettle", "2", &REACHED).await;
    assert!(
        said.contains("winner_unknown") && said.contains("once a winner before it is skipped"),
        "{said}"
    );
    assert!(
        refused(&stack, "call", "Car", "1", &REACHED)
            .await
            .contains("Kettle, Tea")
    );
    let by_rule = step(&stack, "skip", "Kettle", "1", &because("has-prize")).await;
    assert!(
        by_rule.code == ops_core::EXIT_USAGE && by_rule.err.contains("wrong-number"),
        "{}",
        by_rule.err
    );
    let shown = shown(&stack, "week-03").await;
    assert_eq!(
        shown["winners"][0]["steps"].as_array().map(Vec::len),
        Some(1),
        "only that it was drawn"
    );
}

#[tokio::test]
async fn after_each_call_the_command_that_usually_follows_is_printed() {
    let stack = drawn().await;
    let mut printed = String::new();
    let call = in_campaign("draw call --tier Kettle --winner 1 --outcome no-answer --draw week-03");
    for command in ["draw call", "draw call", "draw skip"] {
        let called = stack.run(&call).await;
        stack.clock.advance(Duration::from_secs(60));
        printed = called.err.split('`').nth(1).expect("a command").to_owned();
        assert!(printed.starts_with(&format!("ops {command} ")), "{printed}");
    }
    // Prizes have no spaces here.
    let printed = printed.replace('"', "").replace("NAME", "Neema");
    let args: Vec<_> = printed.split(' ').skip(1).chain(["--yes"]).collect();
    stack.fine(&args).await;
}

#[tokio::test]
async fn call_within_a_minute_is_refused_with_when() {
    let stack = drawn().await;
    logged(&stack, "call", "Kettle", "1", &NO_ANSWER).await;
    stack.clock.advance(Duration::from_millis(59_999));
    for call in [NO_ANSWER, REACHED] {
        let said = refused(&stack, "call", "Kettle", "1", &call).await;
        assert!(
            said.contains("step_refused")
                && said.contains("can be logged at 2026-03-01T00:16:00.000Z"),
            "{said}"
        );
    }
    stack.clock.advance(Duration::from_millis(1));
    let steps = logged(&stack, "call", "Kettle", "1", &NO_ANSWER).await["winner"]["steps"].clone();
    let times: Vec<_> = steps
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["at"].clone())
        .collect();
    assert_eq!(
        times[1..],
        ["2026-03-01T00:15:00.000Z", "2026-03-01T00:16:00.000Z"].map(|time| json!(time))
    );
}

#[tokio::test]
async fn skip_takes_the_draws_name_and_can_be_run_again() {
    let stack = drawn().await;
    logged(&stack, "call", "Kettle", "1", &REACHED).await;
    let asked =
        "draw skip --tier Kettle --winner 1 --reason declined --inspector Neema --draw week-03";
    let asked = in_campaign(asked);
    let unsure = stack.answering(&asked, "y\n").await;
    assert!(
        unsure.err.contains("Type week-03 to continue") && unsure.code == ops_core::EXIT_FAILURE,
        "{}",
        unsure.err
    );
    let sure = stack.answering(&asked, "week-03\n").await;
    assert_eq!(sure.code, ops_core::EXIT_OK, "{}", sure.err);
    assert!(
        sure.out.contains("skipped: declined the prize")
            && sure.out.contains("next: place 2 of Kettle"),
        "{}",
        sure.out
    );
    let again = logged(&stack, "skip", "Kettle", "1", &because("declined")).await;
    assert_eq!(again["next"], json!([]));
}

#[tokio::test]
async fn alternates_do_not_run_out_before_the_entrants() {
    let stack = drawn().await;
    for place in 1..=28_u8 {
        logged(
            &stack,
            "skip",
            "Kettle",
            &place.to_string(),
            &because("excluded"),
        )
        .await;
    }
    // Two rows have tea, and are skipped for the kettle meanwhile.
    let shown = shown(&stack, "week-03").await;
    let kettle = shown["winners"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|winner| winner["prize"] == "Kettle");
    assert!(kettle.count() > 28, "more than result.json has");
    let page = stack.arg("page.html");
    stack
        .fine(&in_campaign(&format!(
            "draw certificate --draw week-03 --output {page}"
        )))
        .await;
    stack
        .fine(&["draw", "verify", &stack.folder.path().display().to_string()])
        .await;
}

#[tokio::test]
async fn two_operators_who_skip_at_once_draw_one_winner_each() {
    let stack = drawn().await;
    let places = open_places(&stack, "Tea").await;
    for place in &places {
        logged(&stack, "call", "Tea", place, &REACHED).await;
    }
    let reason = because("declined");
    let (one, other) = futures_util::future::join(
        step(&stack, "skip", "Tea", &places[0], &reason),
        step(&stack, "skip", "Tea", &places[1], &reason),
    )
    .await;
    assert_eq!(
        (one.code, other.code),
        (ops_core::EXIT_OK, ops_core::EXIT_OK),
        "{}{}",
        one.err,
        other.err
    );
    assert_eq!(open_places(&stack, "Tea").await.len(), 2);
}

#[tokio::test]
async fn winners_that_follow_from_an_outdated_log_are_not_recorded() {
    let stack = drawn().await;
    let (draws, scope) = (stack.tables().await.draws, chai(Environment::Live));
    let name = "week-03".parse().expect("a name");
    let before = draws
        .get(&scope, &name)
        .await
        .expect("it answers")
        .expect("the draw");
    let known = draws.contacts(&scope, &name).await.expect("it answers");
    logged(&stack, "call", "Kettle", "1", &REACHED).await;
    let outdated = [Contact {
        tier: 0,
        place: 9,
        ..known[0].clone()
    }];
    let added = draws
        .add_contacts(&scope, &name, before.contact_changes, &outdated, Vec::new())
        .await;
    assert!(!added.expect("it answers"));
    assert_eq!(
        draws
            .contacts(&scope, &name)
            .await
            .expect("it answers")
            .len(),
        known.len()
    );
}

#[tokio::test]
async fn winners_of_a_draw_are_exported_with_their_phones() {
    let stack = drawn().await;
    let winners = shown(&stack, "week-03").await["winners"].clone();
    for (phones, part) in [(&[][..], "2557•••••0"), (&["--phones"], "25571100")] {
        let output = stack.arg(if phones.is_empty() {
            "masked.csv"
        } else {
            "whole.csv"
        });
        let export = ["export", "winners", "--output", &output];
        stack.fine(&[&export[..], &DRAW, phones].concat()).await;
        let text = fs::read_to_string(&output).expect("a file");
        assert!(
            text.starts_with("\u{feff}draw,prize,place,ref,phone,"),
            "{text}"
        );
        let rows: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(Some(rows.len()), winners.as_array().map(Vec::len));
        for (row, winner) in rows.iter().zip(winners.as_array().expect("winners")) {
            let reference = winner["ref"].as_str().expect("a reference");
            assert!(
                row.starts_with("week-03,") && row.contains(reference) && row.contains(part),
                "{row}"
            );
        }
    }
    let log = stack
        .fine(&["audit", "list", "--campaign", "chai-bora-2026"])
        .await;
    assert_eq!(
        log.matches("  export").count(),
        1,
        "whole numbers are recorded: {log}"
    );
}

/// Revokes a winner's entry, which takes two.
pub(crate) async fn revoked_by_two(stack: &Stack, reference: &str) {
    let revoke = || vec!["submission", "revoke", reference, "--why", "a bot"];
    let state = async || {
        stack.json(&["submission", "show", reference]).await["submissions"][0]["state"].clone()
    };
    let proposed = by(stack, "asha", revoke()).await;
    assert_eq!(
        (proposed.code, state().await),
        (ops_core::EXIT_OK, json!("accepted")),
        "{}",
        proposed.err
    );
    for same in ["asha/juma", "juma/asha"] {
        let alone = by(stack, same, revoke()).await;
        assert!(
            alone.err.contains("second_person_needed"),
            "{same}: {}",
            alone.err
        );
    }
    let confirmed = by(stack, "juma", revoke()).await;
    assert_eq!(
        (confirmed.code, state().await),
        (ops_core::EXIT_OK, json!("rejected")),
        "{}",
        confirmed.err
    );
}

#[tokio::test]
async fn winner_revoked_after_the_freeze_is_skipped() {
    let stack = drawn().await;
    let shown = shown(&stack, "week-03").await;
    let reference = shown["winners"][0]["ref"]
        .as_str()
        .expect("a reference")
        .to_owned();
    revoked_by_two(&stack, &reference).await;
    let said = refused(&stack, "call", "Kettle", "1", &REACHED).await;
    assert!(said.contains("with the reason revoked"), "{said}");
    let skipped = logged(&stack, "skip", "Kettle", "1", &because("revoked")).await;
    assert_eq!(skipped["winner"]["state"]["reason"], "revoked");
}

#[tokio::test]
async fn number_is_shown_when_asked_for_and_recorded() {
    let stack = drawn().await;
    let call = logged(&stack, "call", "Kettle", "1", &NO_ANSWER)
        .await
        .to_string();
    assert!(!call.contains("+25571100"), "{call}");
    let phone = logged(&stack, "call", "Kettle", "1", &["--show-phone"]).await;
    assert!(
        phone["phone"]
            .as_str()
            .is_some_and(|phone| phone.starts_with("+25571100")),
        "{phone}"
    );
    assert_eq!(phone["winner"]["state"]["times"], 1, "a look is no call");
    let log = stack
        .fine(&["audit", "list", "--campaign", "chai-bora-2026"])
        .await;
    assert!(
        log.contains("draw.show_phone") && log.contains("draw.call"),
        "{log}"
    );
    assert!(!log.contains("71100"), "{log}");
}

#[tokio::test]
async fn certificate_needs_winners_and_a_sheet_does_not() {
    let stack = Stack::with_chai().await;
    entered(&stack, "0711000001", 1).await;
    stack
        .fine(&args(&freeze(&stack, "week-03", "--prize Kettle<b>=1")))
        .await;
    let output = stack.arg("page.html");
    let certificate = [&["draw", "certificate"], &DRAW[..], &["--output", &output]].concat();
    assert_eq!(stack.refused(&certificate).await["code"], "draw_not_run");
    let sheet = [&["draw", "show"], &DRAW[..], &["--sheet", &output]].concat();
    stack.fine(&sheet).await;
    let page = fs::read_to_string(&output).expect("a page");
    let commitment =
        fs::read_to_string(stack.path("week-03").join("commitment.txt")).expect("a file");
    let groups: Vec<_> = commitment
        .as_bytes()
        .chunks(4)
        .map(String::from_utf8_lossy)
        .collect();
    assert!(
        page.contains(&groups.join(" ")) && page.contains("1 x Kettle&lt;b&gt;"),
        "{page}"
    );
    assert!(
        page.contains("NOT drand") && !page.contains("{{"),
        "a rehearsal says so"
    );
    assert_eq!(stack.refused(&sheet).await["code"], "file_exists");
}
