//! `ops instant` from plan to proof, and attempts to bend it.

use std::process::Command;
use std::time::Duration;

use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};
use service_tests::text::{fields, list_of, parse_json, text_of};

mod attacks;

use crate::submission::{submission, write};
use crate::support::{CHAI, NOW, Stack, files_in};

pub(crate) const LIVE: &str = "--campaign chai-bora-2026 --environment live";
const SHOW: &str = "instant show --campaign chai-bora-2026 --environment live";
pub(crate) const STOP: &str =
    "instant stop --campaign chai-bora-2026 --environment live --why checks";
pub(crate) const START: &str =
    "instant start --campaign chai-bora-2026 --environment live --why checked";
const ARM: &str = "instant arm --campaign chai-bora-2026 --environment live";
/// From plan to round.
pub(crate) const NOTICE: Duration = Duration::from_secs(20 * 60);

/// From three hours ahead on: five and one on the first day, three on the second.
const INSTANT: &str = "\
instant:
  prizes: [\"Airtime 1,000\", Simu]
  caps: { total: 2, day: 1 }
  curves: { even: [1] }
  days:
    - { from: 2026-03-01T06:00, to: 2026-03-01, prizes: [5, 1] }
    - { from: 2026-03-02, to: 2026-03-02, curve: even, prizes: [3, 0] }
";

pub(crate) fn chai_with_prizes() -> String {
    format!("{CHAI}{INSTANT}")
}

async fn with_prizes() -> Stack {
    let stack = Stack::empty().await;
    stack.apply(chai_with_prizes()).await;
    stack
}

/// A plan of a scope into a folder, its round in 20 minutes.
pub(crate) fn plan(stack: &Stack, scope: &str, folder: &str) -> String {
    let (at, output) = (stack.clock.now().after(NOTICE), stack.arg(folder));
    format!("instant plan {scope} --at {at} --output {output} --yes")
}

pub(crate) fn reveal(stack: &Stack, scope: &str, folder: &str) -> String {
    let output = stack.arg(folder);
    format!("instant reveal {scope} --why ended --output {output} --yes")
}

async fn armed() -> Stack {
    let stack = with_prizes().await;
    stack.fine(plan(&stack, LIVE, "plan")).await;
    stack.clock.advance(NOTICE);
    stack.fine(ARM).await;
    stack
}

/// What `verify.py` of a folder says, without the signature.
pub(crate) fn python(stack: &Stack, folder: &str) -> String {
    let chain = stack
        .env
        .required("BEACON_CHAIN")
        .expect("the stack sets it");
    let chain = parse_json(&chain);
    let constants = ["public_key", "genesis_time", "period"]
        .map(|name| chain[name].to_string().replace('"', ""));
    let path = stack.path(folder);
    let ran = Command::new("python3")
        .arg(path.join("verify.py"))
        .args([path.as_os_str(), "".as_ref()])
        .args(constants)
        .output();
    let ran = ran.expect("python3 is not installed: install it, or verify.py is not tested");
    String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
}

#[tokio::test]
async fn plan_is_walked_to_its_proof() {
    let stack = with_prizes().await;
    let dry = stack.fine(plan(&stack, LIVE, "plan") + " --dry-run").await;
    let day = "2026-03-01 06:00:00  2026-03-02 00:00:00  default";
    assert_contains!(
        dry,
        day,
        "5 x Airtime 1,000, 1 x Simu",
        "1 a day and 2 in all"
    );
    assert!(!stack.path("plan").exists());
    stack.refused(SHOW, "plan_unknown").await;

    let planned = stack.json(plan(&stack, LIVE, "plan")).await;
    assert_eq!(
        files_in(&stack.path("plan")).join(" "),
        "commitment.txt header.json"
    );
    assert_eq!(
        json!(stack.read("plan/commitment.txt")),
        planned["commitment"]
    );
    assert_eq!(
        parse_json(&stack.read("plan/header.json")),
        planned["header"]
    );
    let refused = stack.refused(ARM, "round_not_there").await;
    assert_contains!(refused.message, "2026-03-01 03:20:00");
    let shown = stack.json(SHOW).await;
    assert_eq!(
        fields(&shown, "state published_at prizes"),
        format!(
            "planned {NOW} {}",
            json!([
                { "prize": "Airtime 1,000", "planned": 8, "due": 0, "given": 0 },
                { "prize": "Simu", "planned": 1, "due": 0, "given": 0 },
            ])
        )
    );

    stack.clock.advance(NOTICE);
    assert_eq!(stack.json(ARM).await["state"], "open");
    stack.refused(ARM, "plan_armed").await;
    stack
        .refused(plan(&stack, LIVE, "other"), "plan_open")
        .await;
    stack
        .refused(reveal(&stack, LIVE, "proof"), "plan_open")
        .await;
    assert_eq!(stack.json_by("asha", STOP).await["state"], "stopped");
    assert_eq!(
        stack.json_by("asha", START).await["state"],
        "open",
        "one person is enough"
    );
    stack.clock.advance(Duration::from_hours(48));
    let due = &stack.json(SHOW).await["prizes"][0]["due"];
    assert_eq!(*due, 8, "both days are over");
    stack.fine(STOP).await;
    stack
        .refused(plan(&stack, LIVE, "other"), "plan_not_revealed")
        .await;

    let asked = stack.json_by("asha", reveal(&stack, LIVE, "proof")).await;
    assert_eq!(fields(&asked, "state requested.act"), "stopped reveal");
    assert!(!stack.path("proof").exists());
    let alone = stack.run_by("asha", reveal(&stack, LIVE, "proof")).await;
    alone.refused("second_person_needed");
    let held = stack.json_by("juma", reveal(&stack, LIVE, "proof")).await;
    assert_eq!(
        fields(&held, "holds rows commitment"),
        format!("true 0 {}", text_of(&planned["commitment"]))
    );
    assert_eq!(
        files_in(&stack.path("proof")).join(" "),
        "certificate.html commitment.txt header.json result.json rows.csv secret.txt verify.py"
    );
    let verify = format!(
        "instant verify {} --commitment '{}'",
        stack.arg("proof"),
        stack.read("plan/commitment.txt")
    );
    assert_eq!(stack.json(&verify).await["commitment_compared"], true);
    let said = python(&stack, "proof");
    assert!(
        said.contains("Stopped from ") && said.contains("FOLLOWS: 0 entries with 0 prizes of 9"),
        "{said}"
    );
    // Published again, the same.
    let again = stack.json(reveal(&stack, LIVE, "again")).await;
    assert_eq!(again["holds"], true);
    assert_eq!(
        stack.read("again/result.json"),
        stack.read("proof/result.json")
    );
    stack.refused(START, "plan_revealed").await;
    let actions = stack.audit_actions().await;
    let own: Vec<_> = actions
        .iter()
        .filter_map(|one| one.strip_prefix("instant."))
        .collect();
    assert_eq!(
        own.join(" "),
        "plan arm stop start stop reveal reveal reveal"
    );
}

#[tokio::test]
async fn cleared_test_data_leaves_no_prize_given() {
    let stack = with_prizes().await;
    let test = LIVE.replace("live", "test");
    stack.fine(plan(&stack, &test, "plan")).await;
    let key = "part = 'chai-bora-2026#test#state' AND record = 'state'";
    stack
        .sql(format!("UPDATE instant SET given_0 = 3 WHERE {key}"))
        .await;
    let scope = "chai-bora-2026#test".parse().expect("a scope");
    let given = async || {
        let state = stack.tables().plans.state(&scope).await;
        state.expect("it answers").expect("a state").given
    };
    assert_eq!(given().await[0], 3);
    stack
        .fine("campaign clear-test-data chai-bora-2026 --yes")
        .await;
    assert_eq!(given().await, vec![0; 20]);
}

#[tokio::test]
async fn plan_that_could_be_known_is_refused() {
    let stack = with_prizes().await;
    let at = |minutes: u64| stack.clock.now().after(Duration::from_secs(minutes * 60));
    let plan = |at: Timestamp| {
        format!(
            "instant plan {LIVE} --at {at} --output {} --yes",
            stack.arg("plan")
        )
    };
    stack.refused(plan(at(9)), "round_too_near").await;
    let late = stack.refused(plan(at(180)), "plan_invalid").await;
    assert_contains!(
        late.message,
        "--at is 2026-03-01 06:00:00",
        "before the first day begins"
    );
    stack.clock.advance(Duration::from_hours(4));
    let past = stack.refused(plan(at(20)), "plan_invalid").await;
    assert_contains!(
        past.message,
        "instant.days[0].from is 2026-03-01T03:00:00.000Z, which is in the past"
    );
    stack.apply(CHAI).await;
    stack.refused(plan(at(20)), "no_instant_prizes").await;
    assert!(!stack.path("plan").exists());
    assert_eq!(
        stack.audit_actions().await.join(" "),
        "campaign.apply campaign.apply"
    );
}

#[tokio::test]
async fn stop_says_what_follows() {
    let stack = with_prizes().await;
    stack.fine(plan(&stack, LIVE, "plan")).await;
    let before = stack.run(STOP).await.fine().err;
    assert_contains!(before, "was not open", "`ops instant arm` opens it");
    stack.clock.advance(NOTICE);
    stack.fine(ARM).await;
    let stopped = stack.run(STOP).await.fine().err;
    assert_contains!(stopped, "`ops instant start` gives prizes again");
    stack.by_two(reveal(&stack, LIVE, "proof")).await;
    assert_eq!(stack.run(STOP).await.fine().err, "", "it has ended");
}

#[tokio::test]
async fn changed_record_of_a_plan_is_not_armed() {
    let stack = with_prizes().await;
    stack.fine(plan(&stack, LIVE, "plan")).await;
    stack.clock.advance(NOTICE);
    let commitment = stack.read("plan/commitment.txt");
    let header = stack.read("plan/header.json").replace("[5,1]", "[6,1]");
    let key = format!("part = 'chai-bora-2026#live#plan' AND record = '{commitment}'");
    stack
        .sql(format!(
            "UPDATE instant SET header = '{header}' WHERE {key}"
        ))
        .await;
    stack.refused(ARM, "plan_differs").await;
    stack.refused(SHOW, "plan_differs").await;
}

#[tokio::test]
async fn each_broken_rule_names_its_line() {
    let stack = Stack::empty().await;
    let problems = async |from: &str, to: &str| {
        let file = stack.file("bad.yaml", chai_with_prizes().replace(from, to));
        let refused = stack
            .refused(
                format!("campaign apply --yes {file}"),
                "campaign_file_invalid",
            )
            .await;
        let problems = refused.problems.iter();
        problems
            .map(|one| {
                format!(
                    "{}: {} {}",
                    one["line"],
                    text_of(&one["field"]),
                    text_of(&one["message"])
                )
            })
            .collect::<Vec<_>>()
            .join("\n")
    };
    let line = |text: &str| {
        let file = chai_with_prizes();
        file.lines()
            .position(|line| line.contains(text))
            .expect("a line")
            + 1
    };
    let (first, second) = (line("prizes: [5, 1]"), line("curve: even"));
    for (from, to, at, expected) in [
        (
            "from: 2026-03-02,",
            "from: 2026-03-03,",
            second,
            "instant.days[1].from is 2026-03-02T21:00:00.000Z, and leaves a gap",
        ),
        (
            "from: 2026-03-02,",
            "from: 2026-03-01T20:00,",
            second,
            "instant.days[1].from is 2026-03-01T17:00:00.000Z, and overlaps",
        ),
        (
            "to: 2026-03-01,",
            "to: 2026-03-02,",
            second,
            "instant.days[1].from is 2026-03-01T21:00:00.000Z, and not in order",
        ),
        (
            "to: 2026-03-02,",
            "to: 2029-03-02,",
            first,
            "instant.days must be 1 to 731 days",
        ),
        (
            "from: 2026-03-02,",
            "from: tomorrow,",
            second,
            "instant.days[1].from must be a day or a time",
        ),
        (
            "curve: even",
            "curve: odd",
            second,
            "instant.days[1].curve names no curve",
        ),
        (
            "even: [1]",
            "even: [7, 7, 7, 7, 7, 7, 7]",
            second,
            "instant.days[1] has 86400 seconds",
        ),
        (
            "even: [1]",
            "even: [0, 0]",
            line("curves:"),
            "instant.curves.even must have at least one weight",
        ),
        (
            "even: [1]",
            "even: [1000001]",
            line("curves:"),
            "instant.curves.even[0] must be a whole number of at most 1000000",
        ),
        (
            "[5, 1]",
            "[5]",
            first,
            "instant.days[0].prizes must have a number for each",
        ),
        (
            "[5, 1]",
            "[20000, 1]",
            first,
            "instant.days[0].prizes must add up to 20000",
        ),
        (
            "day: 1",
            "day: 0",
            line("caps:"),
            "instant.caps.day must be a whole number of at least 1",
        ),
        (
            "Simu",
            "\"\"",
            line("Airtime"),
            "instant.prizes[1] must be 1 to 120 characters",
        ),
        (
            "Simu",
            "\"Airtime 1,000\"",
            line("Airtime"),
            "instant.prizes[1] is there twice",
        ),
        (
            "end: null",
            "end: 2026-03-02T00:00:00+03:00",
            second,
            "instant.days[1].to is 2026-03-02T21:00:00.000Z, after the campaign's window",
        ),
    ] {
        let said = problems(from, to).await;
        assert!(said.contains(&format!("{at}: {expected}")), "{to}: {said}");
    }
}

/// An accepted entry without a phone.
async fn accepted(stack: &Stack, at: Timestamp) {
    let made = submission(SubmissionStatus::accepted(1, None), None);
    let made = Submission {
        created_at: at,
        updated_at: at,
        ..made
    };
    write(stack, &made, None).await;
}

#[tokio::test]
async fn reveal_tells_who_was_passed_over() {
    let stack = armed().await;
    // All moments of the first day are due, and no claim was made.
    stack.clock.advance(Duration::from_hours(30));
    for minutes in 0..3 {
        let at = stack.clock.now().after(Duration::from_secs(60 * minutes));
        accepted(&stack, at).await;
    }
    stack.clock.advance(Duration::from_hours(24));
    stack.fine(STOP).await;
    stack.run_by("asha", reveal(&stack, LIVE, "proof")).await;
    let told = stack.run_by("juma", reveal(&stack, LIVE, "proof")).await;
    let told = told.refused("plan_differs").message;
    assert_contains!(
        told,
        "rows.csv, line 1: ",
        "entered while a prize was open, and did not win"
    );
    let verify = format!("instant verify {}", stack.arg("proof"));
    assert_contains!(
        stack.refused(verify, "plan_differs").await.message,
        "rows.csv, line 1: "
    );
    assert_contains!(python(&stack, "proof"), "DIFFERENT: rows.csv, line 1: ");
    let rows = stack.read("proof/rows.csv");
    assert_eq!(rows.lines().count(), 3);
    let state: Value = stack.json(SHOW).await;
    assert_eq!(list_of(&state["changes"]).len(), 2, "{state}");
}
