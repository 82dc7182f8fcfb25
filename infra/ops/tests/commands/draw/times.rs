//! The storage's clock counts for what is published, the campaign's for what is typed.

use common::clock::Clock;

use super::*;

fn earlier(minutes: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - minutes * 60_000)
}

#[tokio::test]
async fn slow_clock_publishes_nothing_after_the_round() {
    let stack = with_entries().await;
    // The round seems 15 minutes ahead, but was given five minutes ago.
    let slow = Clock::manual(earlier(20));
    let freezing = freeze_at(&stack, "week-03", earlier(5), "--prize Kettle=1 --json");
    stack.run_at(&slow, freezing).await.refused("draw_late");
    let shown = shown(&stack).await;
    assert_eq!(shown["published_at"], Value::Null);
    for clock in [&slow, &stack.clock] {
        stack.run_at(clock, RUN).await.failed();
    }
}

#[tokio::test]
async fn published_at_is_the_clock_of_the_storage() {
    let stack = with_entries().await;
    let slow = Clock::manual(earlier(4));
    let command = freeze(&stack, "week-03", "--prize Kettle=1 --json");
    let frozen = stack.run_at(&slow, command).await.json();
    assert_eq!(frozen["frozen_at"], json!(earlier(4).to_string()));
    assert_eq!(frozen["published_at"], json!(NOW.to_string()));
}

#[tokio::test]
async fn evidence_written_after_the_round_is_not_drawn_from() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    stack.clock.advance(NOTICE);
    let commitment = text_of(&draw["commitment"]);
    let key = key(&draw, "commitment.txt");
    stored::evidence(&stack).put(&key, commitment).await;
    stack.refused(RUN, "draw_late").await;
}

#[tokio::test]
async fn times_without_an_offset_are_the_campaigns() {
    let stack = with_entries().await;
    let output = stack.arg("week-03");
    let times = "--at 03:20 --from 2026-02-28T08:00 --to '2026-02-28 20:00:00'";
    let freeze = format!("draw freeze {DRAW} --output {output} --yes {times} {PRIZE}");
    let draw = stack.json(freeze).await;
    assert_eq!(draw["round_at"], "2026-03-01T00:20:00.000Z");
    let period = json!({ "from": "2026-02-28T08:00:00+03:00", "to": "2026-02-28T20:00:00+03:00" });
    assert_eq!(draw["header"]["period"], period);
}

#[tokio::test]
async fn fast_clock_freezes_no_period_before_its_end() {
    let stack = with_entries().await;
    let fast = Clock::manual(NOW.after(Duration::from_secs(12 * 60)));
    let freezing = freeze_at(&stack, "week-03", fast.now().after(NOTICE), PRIZE);
    let freezing = freezing.replace(PERIOD, &format!("--from 2026-02-22 --to {NOW} --json"));
    let early = stack.run_at(&fast, &freezing).await;
    early.refused("period_open");
    assert_no_draws(&stack).await;
    stack.clock.advance(Duration::from_secs(5 * 60));
    stack.run_at(&fast, &freezing).await.fine();
}

#[tokio::test]
async fn draw_published_before_its_periods_end_is_not_run() {
    let stack = with_entries().await;
    let mut header = frozen(&stack).await["header"].clone();
    header["period"]["to"] = json!("2026-03-01T03:10:00+03:00");
    let header = stored::text(&header.to_string());
    after_round::change_record(&stack, "header", header).await;
    stack.clock.advance(NOTICE);
    stack.refused(RUN, "draw_early").await;
}
