//! `ops draw` from freeze to winners, and attempts to change them.

mod abandoned;
mod after_round;
mod at_stake;
mod bad_input;
mod erasure;
pub(crate) mod interrupted;
mod left_out;
pub(crate) mod races;
pub(crate) mod stored;
mod swapped;
mod tampering;
mod times;

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use common::domain::key_encryption::DeploymentSecret;
use common::domain::phone::Phone;
use common::domain::scope::Environment;
use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use common::random;
use serde_json::{Value, json};
use service_tests::service::{DEPLOYMENT_SECRET, entrant_id};
use service_tests::text::{fields, len_of, list_of, parse_json, text_of};

use crate::submission::{submission, write};
use crate::support::{CHAI, NOW, Stack, chai, files_in, live};

/// A time within the period.
const ENTERED: Timestamp = Timestamp::from_millis(NOW.as_millis() - 12 * 60 * 60 * 1000);
/// Days of the campaign; it ended three hours ago.
const PERIOD: &str = "--from 2026-02-22 --to 2026-02-28";
const PRIZE: &str = "--prize Kettle=1";
/// Freeze to round.
const NOTICE: Duration = Duration::from_secs(15 * 60);
/// The usual draw.
pub(crate) const DRAW: &str = "--campaign chai-bora-2026 --draw week-03";
const RUN: &str = "draw run --campaign chai-bora-2026 --draw week-03";
const SHOW: &str = "draw show --campaign chai-bora-2026 --draw week-03";

async fn submitted(
    stack: &Stack,
    phone: &str,
    status: SubmissionStatus,
    at: Timestamp,
) -> Submission {
    submitted_in(Environment::Live, stack, phone, status, at).await
}

async fn submitted_in(
    environment: Environment,
    stack: &Stack,
    phone: &str,
    status: SubmissionStatus,
    at: Timestamp,
) -> Submission {
    let made = made_in(environment, phone, status, at);
    write(stack, &made, None).await;
    made
}

fn made_in(
    environment: Environment,
    phone: &str,
    status: SubmissionStatus,
    at: Timestamp,
) -> Submission {
    let (scope, phone): (_, Phone) = (chai(environment), phone.parse().expect("a phone"));
    let made = submission(status, None);
    let secret = DeploymentSecret::new(DEPLOYMENT_SECRET).expect("long enough");
    Submission {
        entrant_id: entrant_id(&scope, &phone),
        phone: secret.encrypt_phone(&scope, made.submission_id, &phone, random::bytes()),
        scope,
        created_at: at,
        updated_at: at,
        day: at.day_in(chrono_tz()),
        ..made
    }
}

fn chrono_tz() -> chrono_tz::Tz {
    chrono_tz::Tz::Africa__Dar_es_Salaam
}

/// Accepted within the period.
pub(crate) async fn entered(stack: &Stack, phone: &str, entries: u32) -> Submission {
    submitted(
        stack,
        phone,
        SubmissionStatus::accepted(entries, None),
        ENTERED,
    )
    .await
}

/// The entries of three phones: 1, 2 and, in two submissions, 7.
async fn with_entries() -> Stack {
    let stack = Stack::with_chai().await;
    entered(&stack, "0711000001", 1).await;
    entered(&stack, "0711000002", 2).await;
    entered(&stack, "0711000003", 3).await;
    entered(&stack, "0711000003", 4).await;
    stack
}

/// A freeze into a folder of the draw's name.
pub(crate) fn freeze(stack: &Stack, name: &str, more: &str) -> String {
    freeze_at(stack, name, stack.clock.now().after(NOTICE), more)
}

/// A freeze with a round at this time.
fn freeze_at(stack: &Stack, name: &str, at: Timestamp, more: &str) -> String {
    let output = stack.arg(name);
    let own = format!("--draw {name} --at {at} --output {output} --yes {PERIOD} {more}");
    format!("draw freeze --campaign chai-bora-2026 {own}")
}

/// Freezes `week-03` with one prize, and returns what `--json` prints.
pub(crate) async fn frozen(stack: &Stack) -> Value {
    frozen_as(stack, "week-03", PRIZE).await
}

async fn frozen_as(stack: &Stack, name: &str, more: &str) -> Value {
    stack.json(freeze(stack, name, more)).await
}

/// What `ops draw show --json` prints of `week-03`.
pub(crate) async fn shown(stack: &Stack) -> Value {
    stack.json(SHOW).await
}

/// The rows and entries of a draw.
fn size(draw: &Value) -> [&Value; 2] {
    ["rows", "total"].map(|name| &draw["header"][name])
}

async fn assert_no_draws(stack: &Stack) {
    let draws = stack.tables().draws.list(&live()).await;
    assert_eq!(draws.expect("it answers"), []);
}

fn key(draw: &Value, file: &str) -> String {
    let [name, commitment] = ["draw", "commitment"].map(|name| text_of(&draw[name]));
    format!("chai-bora-2026/live/{name}/{commitment}/{file}")
}

/// The relay's reply for a draw's round.
pub(crate) async fn relay_reply(stack: &Stack, draw: &Value) -> String {
    let url = stack.env.required("BEACON_URL").expect("the stack sets it");
    let url = format!("{url}/{}/public/{}", text_of(&draw["chain"]), draw["round"]);
    service_tests::http::request_to_storage("GET", url)
        .await
        .text
}

#[tokio::test]
async fn draw_is_frozen_run_and_shown() {
    let stack = with_entries().await;
    let frozen = frozen_as(&stack, "week-03", "--prize Kettle=1 --prize Tea=2").await;
    assert_eq!(size(&frozen), [3, 10]);
    // The commitment covers the days.
    assert_eq!(
        fields(&frozen, "state days header.days"),
        r#"frozen {"2026-02-28":{"entries":10,"submissions":4}} {"2026-02-28":10}"#
    );
    assert_eq!(
        files_in(&stack.path("week-03")).join(" "),
        "commitment.txt entries.csv header.json openings.csv"
    );
    let read = |name: &str| stack.read(&format!("week-03/{name}"));
    assert_eq!(json!(read("commitment.txt")), frozen["commitment"]);
    assert_eq!(parse_json(&read("header.json")), frozen["header"]);
    let entries = read("entries.csv");
    let counts = entries
        .lines()
        .filter_map(|line| line.rsplit_once(',')?.1.parse::<u64>().ok());
    assert_eq!(counts.sum::<u64>(), 10);
    let mode = |name: &str| {
        let found = fs::metadata(stack.path(name)).expect("it is there");
        std::os::unix::fs::PermissionsExt::mode(&found.permissions())
    };
    for (secret, rights) in [("week-03", 0o700), ("week-03/openings.csv", 0o600)] {
        assert_eq!(mode(secret) & 0o777, rights, "{secret}");
    }
    assert_lacks!(read("openings.csv"), "711000");

    let ran = format!("{RUN} --output {}", stack.arg("week-03"));
    let ran = stack.run(ran).await.fine();
    assert!(ran.err.starts_with("round "), "{}", ran.err);
    assert_contains!(ran.err, " at 2026-03-01 03:15:00, in 15 min; Ctrl-C");
    // A line each minute, until the round.
    assert_eq!(ran.err.matches("Ctrl-C").count(), 15, "{}", ran.err);
    assert!(stack.clock.now() >= NOW.after(NOTICE));
    let shown = shown(&stack).await;
    assert_eq!(shown["state"], "drawn");
    let result = parse_json(&read("result.json"));
    for (winner, tier, place) in [(0, 0, 0), (1, 1, 0), (2, 1, 1)] {
        let winner = &shown["winners"][winner];
        assert_eq!(winner["row"], result["tiers"][tier]["order"][place]["row"]);
        assert_eq!(fields(winner, "region state.is"), "Mwanza drawn");
        assert_contains!(text_of(&winner["phone"]), "+2557•••••00");
    }
    assert_eq!(len_of(&shown["winners"]), 3);
    assert_eq!(shown["outcome"]["randomness"], result["randomness"]);
    let audit = stack.fine("audit list --campaign chai-bora-2026").await;
    assert_contains!(audit, "draw.freeze", "draw.run");
}

#[tokio::test]
async fn running_again_changes_nothing() {
    let stack = with_entries().await;
    frozen_as(&stack, "week-03", "--prize Kettle=2").await;
    let (first, second) = tokio::join!(stack.json(RUN), stack.json(RUN));
    assert_eq!(first["winners"], second["winners"]);
    stack.clock.advance(Duration::from_secs(3600));
    assert_eq!(stack.json(RUN).await, first);
    let reply = relay_reply(&stack, &first).await;
    for file in ["00", &reply] {
        let file = stack.file("reply.json", file);
        assert_eq!(stack.json(format!("{RUN} --beacon {file}")).await, first);
    }
}

#[tokio::test]
async fn entrant_who_has_a_prize_is_skipped_if_the_rule_says_so() {
    let stack = with_entries().await;
    frozen_as(
        &stack,
        "week-03",
        "--prize Kettle=1 --prize Tea=2 --one-prize-per-entrant",
    )
    .await;
    let drawn = stack.json(RUN).await;
    let winners = list_of(&drawn["winners"]);
    let won = |state: Value| {
        let found = winners
            .iter()
            .filter(move |winner| winner["state"] == state);
        found.map(|winner| winner["row"].as_u64().expect("a row"))
    };
    let rows = won(json!({ "is": "drawn" })).collect::<BTreeSet<_>>();
    assert_eq!(
        rows,
        BTreeSet::from([0, 1, 2]),
        "three prizes go to three entrants"
    );
    let kettle = &winners[0]["row"];
    let mut skipped = won(json!({ "is": "skipped", "reason": "has_prize" }));
    assert!(skipped.all(|row| *kettle == row), "{winners:?}");
}

#[tokio::test]
async fn entrant_gets_the_opening_of_their_row() {
    let stack = with_entries().await;
    let asking = entered(&stack, "0711000004", 5).await;
    let other = entered(&stack, "0711000004", 1).await;
    let draw = frozen(&stack).await;
    let reference = asking.reference().to_string();
    let told = stack.json(format!("draw opening {reference}")).await;
    let opening = &told["openings"][0];
    let text = text_of(&opening["opening"]);
    assert!(text.starts_with("svc-draw-entry-v1\n"), "{text}");
    assert_contains!(text, reference, other.reference().to_string());
    let entries = stack.read("week-03/entries.csv");
    let row = usize::try_from(opening["row"].as_u64().expect("a row")).expect("few");
    let line = entries.lines().nth(row).expect("a line");
    assert!(
        line.starts_with(text_of(&opening["hash"])) && line.ends_with(",6"),
        "{line}"
    );
    assert_eq!(draw["header"]["total"], 16);
    assert_contains!(stack.fine("audit list").await, "draw.opening");
    stack
        .refused("draw opening 2222-2222", "opening_unknown")
        .await;
}

#[tokio::test]
async fn draws_are_listed_and_those_of_tests_are_apart() {
    let stack = with_entries().await;
    let live = "draw show --campaign chai-bora-2026";
    let test = format!("{live} --environment test");
    assert_contains!(stack.fine(live).await, "has no draws");
    frozen(&stack).await;
    let listed = stack.fine(live).await;
    assert_contains!(listed, "week-03  frozen  3         10");
    assert_contains!(stack.fine(&test).await, "has no draws");
    let rehearsal = freeze(&stack, "rehearsal", "--prize Kettle=1 --environment test");
    stack.refused(rehearsal, "period_without_entries").await;
    stack
        .refused(
            "draw run --campaign chai-bora-2026 --draw week-04",
            "draw_unknown",
        )
        .await;
}
