//! `ops draw` from freeze to winners, and attempts to change them.

mod abandoned;
mod after_round;
mod at_stake;
mod bad_input;
mod erasure;
mod interrupted;
mod left_out;
mod races;
mod stored;
mod swapped;
mod tampering;
mod times;

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

use crate::submission::{submission, write};
use crate::support::{CHAI, NOW, Stack, chai, files_in};

/// A time within the period.
const ENTERED: Timestamp = Timestamp::from_millis(NOW.as_millis() - 12 * 60 * 60 * 1000);
/// Days of the campaign; it ended three hours ago.
const PERIOD: &str = "--from 2026-02-22 --to 2026-02-28";
const PRIZE: &str = "--prize Kettle=1";
/// Freeze to round.
const NOTICE: Duration = Duration::from_secs(15 * 60);
const CAMPAIGN: [&str; 2] = ["--campaign", "chai-bora-2026"];

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
    let (scope, phone): (_, Phone) = (chai(environment), phone.parse().expect("a phone"));
    let made = submission(random::submission_id(), status, None);
    let secret = DeploymentSecret::new(DEPLOYMENT_SECRET).expect("long enough");
    let made = Submission {
        entrant_id: entrant_id(&scope, &phone),
        phone: secret.encrypt_phone(&scope, made.submission_id, &phone, random::bytes()),
        scope,
        created_at: at,
        updated_at: at,
        day: at.day_in(chrono_tz()),
        ..made
    };
    write(stack, &made, None).await;
    made
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

/// A command about the campaign.
pub(crate) fn in_campaign(words: &str) -> Vec<&str> {
    words.split(' ').chain(CAMPAIGN).collect()
}

/// Freezes into a folder of the draw's name.
pub(crate) fn freeze(stack: &Stack, name: &str, more: &str) -> Vec<String> {
    let (output, at) = (stack.arg(name), stack.clock.now().after(NOTICE));
    let own =
        format!("draw freeze --draw {name} --at {at} --output {output} --yes {PERIOD} {more}");
    in_campaign(&own).into_iter().map(str::to_owned).collect()
}

pub(crate) fn args(owned: &[String]) -> Vec<&str> {
    owned.iter().map(String::as_str).collect()
}

/// Freezes; returns the JSON.
async fn frozen(stack: &Stack, name: &str, more: &str) -> Value {
    stack.json(&args(&freeze(stack, name, more))).await
}

pub(crate) async fn shown(stack: &Stack, name: &str) -> Value {
    let show = format!("draw show --draw {name}");
    stack.json(&in_campaign(&show)).await
}

fn run<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["draw", "run", "--draw", name], &CAMPAIGN[..], more].concat()
}

fn key(draw: &Value, file: &str) -> String {
    let text = |name: &str| draw[name].as_str().expect("text");
    format!(
        "chai-bora-2026/live/{}/{}/{file}",
        text("draw"),
        text("commitment")
    )
}

/// The relay's reply for a draw's round.
async fn relay_reply(stack: &Stack, draw: &Value) -> String {
    let url = stack.env.required("BEACON_URL").expect("the stack sets it");
    let url = format!(
        "{url}/{}/public/{}",
        draw["chain"].as_str().expect("a chain"),
        draw["round"]
    );
    service_tests::http::request_to_storage("GET", url)
        .send()
        .await
        .text
}

#[tokio::test]
async fn draw_is_frozen_run_and_shown() {
    let stack = with_entries().await;
    let frozen = frozen(&stack, "week-03", "--prize Kettle=1 --prize Tea=2").await;
    assert_eq!(
        (&frozen["header"]["rows"], &frozen["header"]["total"]),
        (&json!(3), &json!(10))
    );
    assert_eq!(
        frozen["days"],
        json!({ "2026-02-28": { "submissions": 4, "entries": 10 } })
    );
    assert_eq!(
        frozen["header"]["days"],
        json!({ "2026-02-28": 10 }),
        "the commitment covers them"
    );
    assert_eq!(frozen["state"], "frozen");

    let folder = stack.path("week-03");
    assert_eq!(
        files_in(&folder),
        [
            "commitment.txt",
            "entries.csv",
            "header.json",
            "openings.csv"
        ]
    );
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
    assert_eq!(json!(read("commitment.txt")), frozen["commitment"]);
    assert_eq!(
        serde_json::from_str::<Value>(&read("header.json")).expect("JSON"),
        frozen["header"]
    );
    let counts: Vec<u64> = read("entries.csv")
        .lines()
        .map(|line| {
            line.rsplit(',')
                .next()
                .expect("a count")
                .parse()
                .expect("one")
        })
        .collect();
    assert_eq!(counts.iter().sum::<u64>(), 10);
    let mode = |name: &str| {
        let found = fs::metadata(stack.path(name)).expect("it is there");
        std::os::unix::fs::PermissionsExt::mode(&found.permissions())
    };
    assert_eq!(
        (
            mode("week-03") & 0o777,
            mode("week-03/openings.csv") & 0o777
        ),
        (0o700, 0o600),
        "openings are secret"
    );
    assert!(
        !read("openings.csv").contains("711000"),
        "no file has a phone"
    );

    let ran = stack
        .run(&run("week-03", &["--output", &stack.arg("week-03")]))
        .await;
    assert_eq!(ran.code, ops_core::EXIT_OK, "{}", ran.err);
    assert!(
        ran.err.starts_with("round ")
            && ran
                .err
                .contains(" at 2026-03-01 03:15:00, in 15 min; Ctrl-C"),
        "{}",
        ran.err
    );
    assert_eq!(
        ran.err.matches("Ctrl-C").count(),
        15,
        "a line each minute: {}",
        ran.err
    );
    assert!(
        stack.clock.now() >= NOW.after(NOTICE),
        "it waited for the round"
    );
    let shown = shown(&stack, "week-03").await;
    assert_eq!(shown["state"], "drawn");
    let result: Value = serde_json::from_str(&read("result.json")).expect("JSON");
    for (winner, tier, place) in [(0, 0, 0), (1, 1, 0), (2, 1, 1)] {
        let winner = &shown["winners"][winner];
        assert_eq!(winner["row"], result["tiers"][tier]["order"][place]["row"]);
        assert_eq!(
            (&winner["region"], &winner["state"]),
            (&json!("Mwanza"), &json!({ "is": "drawn" }))
        );
        assert!(
            winner["phone"]
                .as_str()
                .is_some_and(|phone| phone.starts_with("+2557•••••00")),
            "{winner}"
        );
    }
    assert_eq!(shown["winners"].as_array().map(Vec::len), Some(3));
    assert_eq!(shown["outcome"]["randomness"], result["randomness"]);
    let audit = stack
        .fine(&["audit", "list", "--campaign", "chai-bora-2026"])
        .await;
    assert!(
        audit.contains("draw.freeze") && audit.contains("draw.run"),
        "{audit}"
    );
}

#[tokio::test]
async fn running_again_changes_nothing() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", "--prize Kettle=2").await;
    let both = futures_util::future::join(
        stack.json(&run("week-03", &[])),
        stack.json(&run("week-03", &[])),
    )
    .await;
    let (first, second) = both;
    assert_eq!(first["winners"], second["winners"]);
    stack.clock.advance(Duration::from_secs(3600));
    assert_eq!(stack.json(&run("week-03", &[])).await, first);
    let reply = relay_reply(&stack, &first).await;
    for file in ["00", &reply] {
        let file = stack.file("reply.json", file);
        assert_eq!(
            stack.json(&run("week-03", &["--beacon", &file])).await,
            first
        );
    }
}

#[tokio::test]
async fn entrant_who_has_a_prize_is_skipped_if_the_rule_says_so() {
    let stack = with_entries().await;
    frozen(
        &stack,
        "rule",
        "--prize Kettle=1 --prize Tea=2 --one-prize-per-entrant",
    )
    .await;
    let drawn = stack.json(&run("rule", &[])).await;
    let winners = drawn["winners"].as_array().expect("winners");
    let won = |state: Value| {
        let found = winners.iter().filter(|winner| winner["state"] == state);
        found
            .map(|winner| winner["row"].as_u64().expect("a row"))
            .collect::<Vec<_>>()
    };
    let mut rows = won(json!({ "is": "drawn" }));
    rows.sort_unstable();
    assert_eq!(rows, [0, 1, 2], "three prizes go to three entrants");
    let kettle = &winners[0]["row"];
    assert!(
        won(json!({ "is": "skipped", "reason": "has_prize" }))
            .iter()
            .all(|row| kettle == row),
        "{winners:?}"
    );
}

#[tokio::test]
async fn entrant_gets_the_opening_of_their_row() {
    let stack = with_entries().await;
    let asking = entered(&stack, "0711000004", 5).await;
    let other = entered(&stack, "0711000004", 1).await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    let reference = asking.reference().to_string();
    let told = stack.json(&["draw", "opening", &reference]).await;
    let opening = &told["openings"][0];
    let text = opening["opening"].as_str().expect("text");
    assert!(text.starts_with("svc-draw-entry-v1\n"), "{text}");
    assert!(
        text.contains(&reference) && text.contains(&other.reference().to_string()),
        "{text}"
    );
    let entries = fs::read_to_string(stack.path("week-03").join("entries.csv")).expect("a file");
    let row = usize::try_from(opening["row"].as_u64().expect("a row")).expect("few");
    let line = entries.lines().nth(row).expect("a line");
    assert!(
        line.starts_with(opening["hash"].as_str().expect("a hash")) && line.ends_with(",6"),
        "{line}"
    );
    assert_eq!(draw["header"]["total"], 16);
    let audit = stack
        .fine(&["audit", "list", "--campaign", "chai-bora-2026"])
        .await;
    assert!(audit.contains("draw.opening"), "{audit}");
    let unknown = stack.refused(&["draw", "opening", "2222-2222"]).await;
    assert_eq!(unknown["code"], "opening_unknown");
}

#[tokio::test]
async fn draws_are_listed_and_those_of_tests_are_apart() {
    let stack = with_entries().await;
    let [live, test] = ["draw show", "draw show --environment test"].map(in_campaign);
    assert!(stack.fine(&live).await.contains("has no draws"));
    frozen(&stack, "week-03", PRIZE).await;
    let listed = stack.fine(&live).await;
    assert!(listed.contains("week-03  frozen  3         10"), "{listed}");
    assert!(stack.fine(&test).await.contains("has no draws"));
    let rehearsal = args(&freeze(
        &stack,
        "rehearsal",
        "--prize Kettle=1 --environment test",
    ))
    .join(" ");
    let rehearsal: Vec<_> = rehearsal.split(' ').collect();
    assert_eq!(
        stack.refused(&rehearsal).await["code"],
        "period_without_entries"
    );
    let unknown = stack.refused(&run("week-04", &[])).await;
    assert_eq!(unknown["code"], "draw_unknown");
}
