//! `ops draw` after the order: calls, skips, the certificate, which other programs check.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::domain::draw::contact::Contact;
use serde_json::{Value, json};
use service_tests::text::{fields, len_of, list_of, parse_json, text_of};

use crate::draw::{DRAW, entered, freeze, shown};
use crate::support::{Ended, Stack, files_in, live};

/// A kettle and two packs of tea among 30 entrants, with winners.
pub(crate) async fn drawn() -> Stack {
    let stack = Stack::with_chai().await;
    for number in 1..=30 {
        entered(&stack, &format!("07110000{number:02}"), 1 + number % 3).await;
    }
    let prizes = "--prize Kettle=1 --prize Tea=2 --one-prize-per-entrant";
    stack.fine(freeze(&stack, "week-03", prizes)).await;
    let run = format!("draw run {DRAW} --output {}", stack.arg("week-03"));
    stack.fine(run).await;
    stack
}

/// A winner's step, logged by Juma.
async fn step(stack: &Stack, step: &str) -> Ended {
    let (command, rest) = step.split_once(' ').expect("a winner");
    stack
        .run(format!(
            "draw {command} {DRAW} --tier {rest} --by Juma --json"
        ))
        .await
}

async fn logged(stack: &Stack, command: &str) -> Value {
    step(stack, command).await.json()
}

async fn refused(stack: &Stack, command: &str, code: &str) -> String {
    step(stack, command).await.refused(code).message
}

const CALL: &str = "call Kettle --winner 1 --outcome no-answer";
const REACH: &str = "call Kettle --winner 1 --outcome reached";

/// Skips the first winner of the kettle.
fn skip(reason: &str) -> String {
    format!("skip Kettle --winner 1 --reason {reason} --inspector 'A. Inspector' --yes")
}

/// Places whose winners were drawn and not called: a kettle's winner is skipped for tea.
async fn open_places(stack: &Stack, prize: &str) -> Vec<String> {
    let shown = shown(stack).await;
    let winners = list_of(&shown["winners"]).iter();
    winners
        .filter(|winner| winner["prize"] == prize && winner["state"]["is"] == "drawn")
        .map(|winner| winner["place"].to_string())
        .collect()
}

#[tokio::test]
async fn draw_is_walked_to_its_certificate_which_others_check() {
    let stack = drawn().await;
    for _ in 0..3 {
        logged(&stack, CALL).await;
        stack.clock.advance(Duration::from_secs(60));
    }
    let next = logged(&stack, &skip("no-answer")).await;
    let skipped = json!({ "is": "skipped", "reason": "no_answer" });
    assert_eq!(next["winner"]["state"], skipped);
    let place = &list_of(&next["next"]).last().expect("the next one")["place"];
    for command in ["call --outcome reached", "confirm", "hand-over"] {
        let step = format!("draw {command} {DRAW} --tier Kettle --winner {place}");
        stack.fine(step).await;
    }
    let places = open_places(&stack, "Tea").await;
    let call = format!("call Tea --winner {} --outcome no-answer", places[0]);
    logged(&stack, &call).await;

    let page = stack.arg("public.html");
    let certificate = format!("draw certificate {DRAW} --output {page}");
    let written = stack.fine(certificate).await;
    assert_contains!(written, "verify.py");
    assert_lacks!(written, "SECRET");
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
    let (text, log) = (stack.read("public.html"), stack.read("log.json"));
    assert_contains!(
        log,
        r#""reason":"no_answer","inspector":"A. Inspector""#,
        r#""is":"handed_over""#,
        r#""is":"no_answer""#
    );
    assert_contains!(text, "<h1>Chai Bora");
    assert_lacks!(text, "+25571100");
    assert_lacks!(log, "+25571100");

    for path in [
        stack.folder.path().display().to_string(),
        stack.arg("week-03"),
    ] {
        let held = stack.json(format!("draw verify {path}")).await;
        assert_eq!(fields(&held, "holds rows"), "true 30", "{path}");
    }
    let chain = stack
        .env
        .required("BEACON_CHAIN")
        .expect("the stack sets it");
    let chain = parse_json(&chain);
    let constants = ["public_key", "genesis_time", "period"]
        .map(|name| chain[name].to_string().replace('"', ""));
    let commitment = stack.read("commitment.txt");
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
    let [confirm, hand_over] =
        ["confirm", "hand-over"].map(|step| format!("{step} Kettle --winner 1"));
    for (step, expected) in [
        (confirm, ""),
        (hand_over, ""),
        (skip("no-answer"), "called three times"),
        (skip("declined"), "log the call first"),
        (skip("revoked"), "still accepted"),
    ] {
        let said = refused(&stack, &step, "step_refused").await;
        assert_contains!(said, expected);
    }
    let second = REACH.replace("--winner 1", "--winner 2");
    let said = refused(&stack, &second, "winner_unknown").await;
    assert_contains!(said, "once a winner before it is skipped");
    let car = REACH.replace("Kettle", "Car");
    let said = step(&stack, &car).await.failed();
    assert_contains!(said, "Kettle, Tea");
    let by_rule = step(&stack, &skip("has-prize")).await.misused();
    assert_contains!(by_rule, "wrong-number");
    let shown = shown(&stack).await;
    assert_eq!(len_of(&shown["winners"][0]["steps"]), 1);
}

#[tokio::test]
async fn after_each_call_the_command_that_usually_follows_is_printed() {
    let stack = drawn().await;
    let mut printed = String::new();
    let call = format!("draw call {DRAW} --tier Kettle --winner 1 --outcome no-answer");
    for command in ["draw call", "draw call", "draw skip"] {
        let called = stack.run(&call).await;
        stack.clock.advance(Duration::from_secs(60));
        printed = called.err.split('`').nth(1).expect("a command").to_owned();
        assert!(printed.starts_with(&format!("ops {command} ")), "{printed}");
    }
    let printed = printed.replace("NAME", "Neema").replacen("ops ", "", 1);
    stack.fine(printed + " --yes").await;
}

#[tokio::test]
async fn call_within_a_minute_is_refused_with_when() {
    let stack = drawn().await;
    logged(&stack, CALL).await;
    stack.clock.advance(Duration::from_millis(59_999));
    for call in [CALL, REACH] {
        let said = refused(&stack, call, "step_refused").await;
        assert_contains!(said, "can be logged at 2026-03-01T00:16:00.000Z");
    }
    stack.clock.advance(Duration::from_millis(1));
    let steps = logged(&stack, CALL).await["winner"]["steps"].clone();
    let times: Vec<_> = list_of(&steps)
        .iter()
        .map(|step| text_of(&step["at"]))
        .collect();
    assert_eq!(
        times[1..],
        ["2026-03-01T00:15:00.000Z", "2026-03-01T00:16:00.000Z"]
    );
}

#[tokio::test]
async fn skip_takes_the_draws_name_and_can_be_run_again() {
    let stack = drawn().await;
    logged(&stack, REACH).await;
    let asked = "--tier Kettle --winner 1 --reason declined --inspector Neema";
    let asked = format!("draw skip {DRAW} {asked}");
    let unsure = stack.answering(&asked, "y\n").await.failed();
    assert_contains!(unsure, "Type week-03 to continue");
    let sure = stack.answering(&asked, "week-03\n").await.fine();
    assert_contains!(
        sure.out,
        "skipped: declined the prize",
        "next: place 2 of Kettle"
    );
    let again = logged(&stack, &skip("declined")).await;
    assert_eq!(again["next"], json!([]));
}

#[tokio::test]
async fn alternates_do_not_run_out_before_the_entrants() {
    let stack = drawn().await;
    for place in 1..=28_u8 {
        let skip = skip("excluded").replace("--winner 1", &format!("--winner {place}"));
        logged(&stack, &skip).await;
    }
    // Two rows have tea, and are skipped for the kettle meanwhile.
    let shown = shown(&stack).await;
    let winners = list_of(&shown["winners"]).iter();
    let kettle = winners.filter(|winner| winner["prize"] == "Kettle");
    assert!(kettle.count() > 28, "more than result.json has");
    let page = stack.arg("page.html");
    stack
        .fine(format!("draw certificate {DRAW} --output {page}"))
        .await;
    stack
        .fine(format!("draw verify {}", stack.folder.path().display()))
        .await;
}

#[tokio::test]
async fn two_operators_who_skip_at_once_draw_one_winner_each() {
    let stack = drawn().await;
    let skips = open_places(&stack, "Tea").await;
    let mut commands = Vec::new();
    for place in &skips {
        let tea =
            |command: &str| command.replace("Kettle --winner 1", &format!("Tea --winner {place}"));
        logged(&stack, &tea(REACH)).await;
        commands.push(tea(&skip("declined")));
    }
    tokio::join!(logged(&stack, &commands[0]), logged(&stack, &commands[1]));
    assert_eq!(open_places(&stack, "Tea").await.len(), 2);
}

#[tokio::test]
async fn winners_that_follow_from_an_outdated_log_are_not_recorded() {
    let stack = drawn().await;
    let (draws, scope) = (stack.tables().draws, live());
    let name = "week-03".parse().expect("a name");
    let before = draws.get(&scope, &name).await.expect("it answers");
    let changes = before.expect("the draw").contact_changes;
    let known = draws.contacts(&scope, &name).await.expect("it answers");
    logged(&stack, REACH).await;
    let outdated = [Contact {
        tier: 0,
        place: 9,
        ..known[0].clone()
    }];
    let added = draws.add_contacts(&scope, &name, changes, &outdated, Vec::new());
    assert!(!added.await.expect("it answers"));
    let after = draws.contacts(&scope, &name).await.expect("it answers");
    assert_eq!(after.len(), known.len());
}

#[tokio::test]
async fn winners_of_a_draw_are_exported_with_their_phones() {
    let stack = drawn().await;
    let winners = shown(&stack).await["winners"].clone();
    for (name, phones, part) in [
        ("masked.csv", "", "2557•••••0"),
        ("whole.csv", "--phones", "25571100"),
    ] {
        let output = stack.arg(name);
        stack
            .fine(format!("export winners {DRAW} --output {output} {phones}"))
            .await;
        let text = stack.read(name);
        let mut rows = text.lines();
        let heading = rows.next().expect("a heading");
        assert!(
            heading.starts_with("\u{feff}draw,prize,place,ref,phone,"),
            "{text}"
        );
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), len_of(&winners));
        for (row, winner) in rows.iter().zip(list_of(&winners)) {
            assert!(row.starts_with("week-03,"), "{row}");
            assert_contains!(row, text_of(&winner["ref"]), part);
        }
    }
    let log = stack.fine("audit list").await;
    assert_eq!(
        log.matches("  export").count(),
        1,
        "whole numbers are recorded: {log}"
    );
}

/// A commitment as pages show it.
pub(crate) fn in_groups(commitment: &str) -> String {
    let groups = commitment.as_bytes().chunks(4).map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(" ")
}

/// Revokes a winner's entry, which takes two.
pub(crate) async fn revoked_by_two(stack: &Stack, reference: &str) {
    let revoke = || format!("submission revoke {reference} --why 'a bot'");
    let state = async || stack.shown(reference).await["state"].clone();
    stack.json_by("asha", revoke()).await;
    assert_eq!(state().await, "accepted");
    for same in ["asha/juma", "juma/asha"] {
        let alone = stack.run_by(same, revoke()).await;
        alone.refused("second_person_needed");
    }
    stack.json_by("juma", revoke()).await;
    assert_eq!(state().await, "rejected");
}

#[tokio::test]
async fn winner_revoked_after_the_freeze_is_skipped() {
    let stack = drawn().await;
    let shown = shown(&stack).await;
    let reference = text_of(&shown["winners"][0]["ref"]).to_owned();
    revoked_by_two(&stack, &reference).await;
    let said = step(&stack, REACH).await.failed();
    assert_contains!(said, "with the reason revoked");
    let skipped = logged(&stack, &skip("revoked")).await;
    assert_eq!(skipped["winner"]["state"]["reason"], "revoked");
}

#[tokio::test]
async fn number_is_shown_when_asked_for_and_recorded() {
    let stack = drawn().await;
    let call = logged(&stack, CALL).await.to_string();
    assert_lacks!(call, "+25571100");
    let phone = logged(&stack, "call Kettle --winner 1 --show-phone").await;
    assert_contains!(text_of(&phone["phone"]), "+25571100");
    assert_eq!(phone["winner"]["state"]["times"], 1, "a look is no call");
    let log = stack.fine("audit list").await;
    assert_contains!(log, "draw.show_phone", "draw.call");
    assert_lacks!(log, "71100");
}

#[tokio::test]
async fn certificate_needs_winners_and_a_sheet_does_not() {
    let stack = Stack::with_chai().await;
    entered(&stack, "0711000001", 1).await;
    stack
        .fine(freeze(&stack, "week-03", "--prize Kettle<b>=1"))
        .await;
    let output = stack.arg("page.html");
    let certificate = format!("draw certificate {DRAW} --output {output}");
    stack.refused(&certificate, "draw_not_run").await;
    let sheet = format!("draw show {DRAW} --sheet {output}");
    stack.fine(&sheet).await;
    let page = stack.read("page.html");
    let groups = in_groups(&stack.read("week-03/commitment.txt"));
    assert_contains!(page, groups, "1 x Kettle&lt;b&gt;", "NOT drand");
    assert_lacks!(page, "{{");
    stack.refused(&sheet, "file_exists").await;
}
