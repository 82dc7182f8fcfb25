//! The storage's clock counts for what is published, the campaign's for what is typed.

use common::clock::Clock;

use super::*;
use crate::support::run as run_with;

fn earlier(minutes: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - minutes * 60_000)
}

#[tokio::test]
async fn slow_clock_publishes_nothing_after_the_round() {
    let stack = with_entries().await;
    // The round seems 15 minutes ahead, but was given five minutes ago.
    let slow = Clock::manual(earlier(20));
    let (at, output) = (earlier(5).to_string(), stack.arg("week-03"));
    let own = format!(
        "draw freeze --draw week-03 --at {at} --output {output} --yes --json {PERIOD} {PRIZE}"
    );
    let ended = run_with(&in_campaign(&own), stack.env.clone(), &slow).await;
    assert!(
        ended.code == ops_core::EXIT_FAILURE && ended.err.contains("\"draw_late\""),
        "{}",
        ended.err
    );
    let shown = shown(&stack, "week-03").await;
    assert_eq!(shown["published_at"], Value::Null);
    for clock in [&slow, &stack.clock] {
        let ran = run_with(&run("week-03", &[]), stack.env.clone(), clock).await;
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (ops_core::EXIT_FAILURE, ""),
            "{}",
            ran.err
        );
    }
}

#[tokio::test]
async fn published_at_is_the_clock_of_the_storage() {
    let stack = with_entries().await;
    let slow = Clock::manual(earlier(4));
    let command = freeze(&stack, "week-03", "--prize Kettle=1 --json");
    let ended = run_with(&args(&command), stack.env.clone(), &slow).await;
    let frozen: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(
        (&frozen["frozen_at"], &frozen["published_at"]),
        (&json!(earlier(4).to_string()), &json!(NOW.to_string()))
    );
}

#[tokio::test]
async fn evidence_written_after_the_round_is_not_drawn_from() {
    let stack = with_entries().await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    stack.clock.advance(NOTICE);
    let commitment = draw["commitment"].as_str().expect("text");
    let key = key(&draw, "commitment.txt");
    stored::evidence(&stack).put(&key, commitment).await;
    assert_eq!(
        stack.refused(&run("week-03", &[])).await["code"],
        "draw_late"
    );
}

#[tokio::test]
async fn times_without_an_offset_are_the_campaigns() {
    let stack = with_entries().await;
    let output = stack.arg("week-03");
    let own = format!(
        "draw freeze --draw week-03 --output {output} --yes --at 03:20 --from 2026-02-28T08:00 {PRIZE}"
    );
    let to = ["--to", "2026-02-28 20:00:00"];
    let draw = stack.json(&[&in_campaign(&own)[..], &to].concat()).await;
    assert_eq!(draw["round_at"], "2026-03-01T00:20:00.000Z");
    let period = json!({ "from": "2026-02-28T08:00:00+03:00", "to": "2026-02-28T20:00:00+03:00" });
    assert_eq!(draw["header"]["period"], period);
}
