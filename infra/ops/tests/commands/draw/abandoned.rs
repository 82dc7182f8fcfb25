//! Abandoned draws: by two people, for good, in public.

use aws_sdk_dynamodb::types::AttributeValue;
use common::clock::Clock;

use super::erasure::{ERASE, PHONE};
use super::*;
use crate::console::SignedIn;

const ABANDON: &str = "draw abandon --campaign chai-bora-2026 --draw week-03 --why mistaken --yes";

#[tokio::test]
async fn two_people_give_up_a_draw_for_all_to_see() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    let asked = stack.json_by("asha", ABANDON).await;
    assert_eq!(asked["abandonment"]["confirmed_by"], Value::Null);
    assert_eq!(shown(&stack).await["state"], "frozen");
    let alone = stack.run_by("asha", ABANDON).await;
    alone.refused("second_person_needed");
    stack.run_by("juma", ABANDON).await;
    // Publishing can be run again.
    stack.run_by("asha", ABANDON).await;
    let after = shown(&stack).await;
    let names = "state abandonment.at abandonment.why abandonment.by abandonment.confirmed_by";
    assert_eq!(
        fields(&after, names),
        format!("abandoned {} mistaken asha juma", stack.clock.now())
    );
    let published = stored::evidence(&stack).keys().await;
    let file = key(&draw, "abandoned-");
    assert!(
        published.iter().any(|key| key.starts_with(&file)),
        "{published:?}"
    );
    let operator = SignedIn::to(&stack).await;
    let list = operator.page("/campaigns/chai-bora-2026/live/draws").await;
    assert_contains!(list, ">abandoned</span>");
    stack
        .refused(freeze(&stack, "week-03", PRIZE), "draw_frozen")
        .await;
    let other = frozen_as(&stack, "week-03b", PRIZE).await;
    assert_eq!(other["header"]["overlapping"][0]["draw"], "week-03");
}

#[tokio::test]
async fn proposal_from_before_the_round_is_none_after_it() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.run_by("asha", ABANDON).await;
    stack.clock.advance(NOTICE);
    stack.run_by("juma", ABANDON).await;
    assert_eq!(shown(&stack).await["state"], "frozen");
    stack.run_by("asha", ABANDON).await;
    assert_eq!(shown(&stack).await["state"], "abandoned");
}

#[tokio::test]
async fn abandoned_draw_is_not_run_whatever_its_record_says() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.by_two(ABANDON).await;
    stack.clock.advance(NOTICE);
    stack.refused(RUN, "draw_abandoned").await;
    stored::remove_from_draw(&stack, "abandonment").await;
    stack.refused(RUN, "draw_abandoned").await;
    assert_eq!(shown(&stack).await["winners"], json!([]));
}

#[tokio::test]
async fn abandoned_draw_is_not_revived_by_its_record() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.fine(RUN).await;
    let records = stored::records(&stack, "draws").await.into_iter();
    let mut drawn = records.filter(|record| record.contains_key("outcome"));
    let drawn = drawn.next().expect("a draw");
    stored::remove_from_draw(&stack, "outcome").await;
    stack.by_two(ABANDON).await;
    stored::put(&stack, "draws", drawn).await;
    for command in [&after_round::certificate(&stack), RUN] {
        stack.refused(command, "draw_abandoned").await;
    }
}

#[tokio::test]
async fn slow_clock_confirms_nothing_after_the_round() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.run_by("asha", ABANDON).await;
    stack.clock.advance(NOTICE);
    let slow = Clock::manual(NOW);
    let late = stack
        .run_at(&slow, format!("{ABANDON} --by juma --json"))
        .await;
    late.refused("request_changed");
    assert_eq!(shown(&stack).await["state"], "frozen");
}

/// Writes a request without the audit log.
async fn forge_request(stack: &Stack, by: &str) {
    let identity = format!("arn:aws:iam::000000000000:user/{by}");
    let request = [
        ("by", stored::text(by)),
        ("identity", stored::text(&identity)),
        ("at", stored::number(stack.clock.now().as_millis())),
    ];
    let request = request.map(|(name, value)| (name.to_owned(), value));
    let request = AttributeValue::M(request.into());
    after_round::change_record(stack, "abandonment", request).await;
}

#[tokio::test]
async fn logged_request_supports_no_forged_later_one() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.run_by("asha", ABANDON).await;
    stack.clock.advance(NOTICE);
    forge_request(&stack, "asha").await;
    stack.json_by("juma", ABANDON).await;
    let after = fields(&shown(&stack).await, "state abandonment.by");
    assert_eq!(after, "frozen juma");
}

#[tokio::test]
async fn request_that_the_log_does_not_have_is_none() {
    let stack = with_entries().await;
    frozen(&stack).await;
    forge_request(&stack, "juma").await;
    assert_eq!(shown(&stack).await["abandonment"]["by"], "juma");
    stack.run_by("asha", ABANDON).await;
    let after = fields(&shown(&stack).await, "state abandonment.by");
    assert_eq!(after, "frozen asha");
}

#[tokio::test]
async fn person_in_an_abandoned_draw_is_erased() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 1).await;
    frozen(&stack).await;
    stack.clock.advance(NOTICE);
    stack.refused(ERASE, "draw_not_run").await;
    stack.by_two(ABANDON).await;
    stack.fine(ERASE).await;
}

#[tokio::test]
async fn file_alone_abandons_no_draw() {
    let stack = with_entries().await;
    let draw = frozen(&stack).await;
    let file = key(&draw, "abandoned-1.json");
    stored::evidence(&stack).put(&file, "{}").await;
    stack.fine(RUN).await;
}

#[tokio::test]
async fn run_that_was_not_finished_is_given_up_with_its_places() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 1000).await;
    let draw = frozen_as(&stack, "week-03", "--prize Kettle=3").await;
    stack.fine(RUN).await;
    stored::remove_from_draw(&stack, "outcome").await;
    stack.refused(ERASE, "prize_claimed").await;
    stack.by_two(ABANDON).await;
    let published = stored::evidence(&stack).keys().await.into_iter();
    let mut files = published.filter(|file| file.starts_with(&key(&draw, "abandoned-")));
    let file = files.next().expect("a file");
    let file = stored::evidence(&stack).get(&file).await;
    let file = parse_json(&file);
    assert_eq!(len_of(&file["places"]), 3, "{file}");
    assert_eq!(file["confirmed_why"], "mistaken");
    let contact = &shown(&stack).await["winners"][0];
    assert_eq!(
        contact["state"],
        json!({ "is": "skipped", "reason": "abandoned" })
    );
    stack.fine(ERASE).await;
}

#[tokio::test]
async fn draw_with_winners_is_not_abandoned() {
    let stack = with_entries().await;
    frozen(&stack).await;
    stack.run_by("asha", ABANDON).await;
    stack.json(RUN).await;
    let late = stack.run_by("juma", ABANDON).await;
    late.refused("draw_drawn");
    assert_eq!(shown(&stack).await["state"], "drawn");
}
