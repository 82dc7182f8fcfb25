//! Abandoned draws: by two people, for good, in public.

use aws_sdk_dynamodb::types::AttributeValue;

use super::erasure::{PHONE, erase};
use super::*;
use crate::console::Served;
use crate::correction::by;

fn abandon() -> Vec<&'static str> {
    in_campaign("draw abandon --draw week-03 --why mistaken --yes")
}

async fn abandoned_by_two(stack: &Stack) {
    for operator in ["asha", "juma"] {
        let ended = by(stack, operator, abandon()).await;
        assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    }
}

#[tokio::test]
async fn two_people_give_up_a_draw_for_all_to_see() {
    let stack = with_entries().await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    let first = by(&stack, "asha", abandon()).await;
    let asked: Value = serde_json::from_str(&first.out).expect("JSON");
    assert_eq!(asked["abandonment"]["confirmed_by"], Value::Null);
    assert_eq!(shown(&stack, "week-03").await["state"], "frozen");
    let alone = by(&stack, "asha", abandon()).await;
    assert!(alone.err.contains("second_person_needed"), "{}", alone.err);
    by(&stack, "juma", abandon()).await;
    // Publishing can be run again.
    by(&stack, "asha", abandon()).await;
    let after = shown(&stack, "week-03").await;
    let decided = json!({
        "at": stack.clock.now().to_string(), "why": "mistaken", "by": "asha", "confirmed_by": "juma",
    });
    assert_eq!(
        (&after["state"], &after["abandonment"]),
        (&json!("abandoned"), &decided)
    );
    let published = stored::evidence(&stack).keys().await;
    let file = key(&draw, "abandoned-");
    assert!(
        published.iter().any(|key| key.starts_with(&file)),
        "{published:?}"
    );
    let console = Served::start(&stack).await;
    let operator = console.sign_in().await;
    let list = operator.page("/campaigns/chai-bora-2026/live/draws").await;
    assert!(list.contains(">abandoned</span>"), "{list}");
    let again = freeze(&stack, "week-03", PRIZE);
    let again = args(&again);
    assert_eq!(stack.refused(&again).await["code"], "draw_frozen");
    let other = frozen(&stack, "week-03b", PRIZE).await;
    assert_eq!(other["header"]["overlapping"][0]["draw"], "week-03");
}

#[tokio::test]
async fn proposal_from_before_the_round_is_none_after_it() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
    by(&stack, "asha", abandon()).await;
    stack.clock.advance(NOTICE);
    by(&stack, "juma", abandon()).await;
    assert_eq!(shown(&stack, "week-03").await["state"], "frozen");
    by(&stack, "asha", abandon()).await;
    assert_eq!(shown(&stack, "week-03").await["state"], "abandoned");
}

#[tokio::test]
async fn abandoned_draw_is_not_run_whatever_its_record_says() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
    abandoned_by_two(&stack).await;
    stack.clock.advance(NOTICE);
    assert_eq!(
        stack.refused(&run("week-03", &[])).await["code"],
        "draw_abandoned"
    );
    stored::remove_from_draw(&stack, "abandonment").await;
    assert_eq!(
        stack.refused(&run("week-03", &[])).await["code"],
        "draw_abandoned"
    );
    assert_eq!(shown(&stack, "week-03").await["winners"], json!([]));
}

#[tokio::test]
async fn abandoned_draw_is_not_revived_by_its_record() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
    stack.fine(&run("week-03", &[])).await;
    let records = stored::records(&stack, "draws").await.into_iter();
    let mut drawn = records.filter(|record| record.contains_key("outcome"));
    let drawn = drawn.next().expect("a draw");
    stored::remove_from_draw(&stack, "outcome").await;
    abandoned_by_two(&stack).await;
    stored::put(&stack, "draws", drawn).await;
    let certificate = after_round::certificate(&stack);
    for command in [in_campaign(&certificate), run("week-03", &[])] {
        assert_eq!(stack.refused(&command).await["code"], "draw_abandoned");
    }
}

#[tokio::test]
async fn request_that_the_log_does_not_have_is_none() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let request = [
        ("by", text("juma")),
        ("identity", text("arn:aws:iam::000000000000:user/juma")),
        (
            "at",
            AttributeValue::N(stack.clock.now().as_millis().to_string()),
        ),
    ];
    let request = request.map(|(name, value)| (name.to_owned(), value));
    let request = AttributeValue::M(request.into());
    after_round::change_record(&stack, "abandonment", request).await;
    assert!(shown(&stack, "week-03").await["abandonment"]["by"] == "juma");
    by(&stack, "asha", abandon()).await;
    let after = shown(&stack, "week-03").await;
    assert_eq!(
        (&after["state"], &after["abandonment"]["by"]),
        (&json!("frozen"), &json!("asha"))
    );
}

#[tokio::test]
async fn person_in_an_abandoned_draw_is_erased() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 1).await;
    frozen(&stack, "week-03", PRIZE).await;
    stack.clock.advance(NOTICE);
    assert_eq!(stack.refused(&erase()).await["code"], "draw_not_run");
    abandoned_by_two(&stack).await;
    stack.fine(&erase()).await;
}

#[tokio::test]
async fn file_alone_abandons_no_draw() {
    let stack = with_entries().await;
    let draw = frozen(&stack, "week-03", PRIZE).await;
    let file = key(&draw, "abandoned-1.json");
    stored::evidence(&stack).put(&file, "{}").await;
    stack.fine(&run("week-03", &[])).await;
}

#[tokio::test]
async fn run_that_was_not_finished_is_given_up_with_its_places() {
    let stack = with_entries().await;
    entered(&stack, PHONE, 1000).await;
    let draw = frozen(&stack, "week-03", "--prize Kettle=3").await;
    stack.fine(&run("week-03", &[])).await;
    stored::remove_from_draw(&stack, "outcome").await;
    assert_eq!(stack.refused(&erase()).await["code"], "prize_claimed");
    abandoned_by_two(&stack).await;
    let published = stored::evidence(&stack).keys().await.into_iter();
    let mut files = published.filter(|file| file.starts_with(&key(&draw, "abandoned-")));
    let file = files.next().expect("a file");
    let file = stored::evidence(&stack).get(&file).await;
    let file: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!(file["places"].as_array().map(Vec::len), Some(3), "{file}");
    assert_eq!(file["confirmed_why"], "mistaken");
    let contact = &shown(&stack, "week-03").await["winners"][0];
    assert_eq!(
        contact["state"],
        json!({ "is": "skipped", "reason": "abandoned" })
    );
    stack.fine(&erase()).await;
}

#[tokio::test]
async fn draw_with_winners_is_not_abandoned() {
    let stack = with_entries().await;
    frozen(&stack, "week-03", PRIZE).await;
    by(&stack, "asha", abandon()).await;
    stack.json(&run("week-03", &[])).await;
    let late = by(&stack, "juma", abandon()).await;
    assert!(late.err.contains("draw_drawn"), "{}", late.err);
    assert_eq!(shown(&stack, "week-03").await["state"], "drawn");
}
