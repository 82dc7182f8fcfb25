//! Campaigns take turns at the tax authority, and unreadable records do not block them.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::settle_queue::SettleMessage;
use common::domain::scope::Environment;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::http::Reply;
use service_tests::receipts::{TIME, hardly_a_photo, id_of, receipts_alone};

use super::{HASTEN, set_up, status, submit_typed};

fn message_about(campaign: &TestCampaign, submitted: &Reply) -> SettleMessage {
    let scope = campaign.scope(Environment::Live);
    SettleMessage { scope, submission_id: id_of(submitted).parse().expect("an id") }
}

#[tokio::test]
async fn a_hundred_receipts_of_one_campaign_do_not_hold_up_another() {
    let (junk, settler) = set_up(receipts_alone).await;
    let mut config = plain();
    receipts_alone(&mut config);
    let honest = TestCampaign::on(&junk.service, config).await;
    let mut messages = Vec::new();
    for number in 0..100 {
        let code = format!("NONE01{number:04}");
        messages.push(message_about(&junk, &submit_typed(&junk, &phone(number), "", &code, TIME).await));
    }
    // The queue has delivered one message before the other campaign's receipt arrives.
    settler.deliver(&messages[0]).await;
    let submitted = submit_typed(&honest, &phone(1), "", "GOOD010001", TIME).await;
    for message in &messages[1..3] {
        settler.deliver(message).await;
    }
    assert_eq!(status(&honest, &submitted).await, json!(["accepted", "verified", "entered", 1]));
    assert_eq!(settler.due().await.len(), 98, "the other turns were the first campaign's own");
}

#[tokio::test]
async fn photos_that_nobody_can_read_take_turns_with_those_of_another_campaign() {
    let (first, settler) = set_up(receipts_alone).await;
    let mut config = plain();
    receipts_alone(&mut config);
    let second = TestCampaign::on(&first.service, config).await;
    for campaign in [&first, &second] {
        for number in 0..4 {
            let photo = campaign.photo(&campaign.live_key, &hardly_a_photo(), None).await;
            let sending = campaign.with_receipt(&campaign.live_key, &phone(number), "", &photo);
            assert_eq!(sending.send().await.status, 200);
        }
    }
    let mut due = settler.due().await;
    for delivered in 1..=4 {
        // The photos need no look-up, so their steps take no slot.
        let next = due.pop().expect("something is due");
        settler.deliver(&SettleMessage::new(&next.scope, next.submission_id)).await;
        due = settler.due().await;
        let left = |campaign: &TestCampaign| {
            let scope = campaign.scope(Environment::Live);
            due.iter().filter(|due| due.scope == scope).count()
        };
        let (first, second) = (left(&first), left(&second));
        assert_eq!(first + second, 8 - delivered);
        assert!(first.abs_diff(second) <= 1, "{first} and {second} are left");
    }
}

#[tokio::test]
async fn submissions_that_cannot_be_read_are_put_off_with_growing_waits() {
    let (campaign, settler) = set_up(receipts_alone).await;
    for number in 0..8 {
        let odd = submit_typed(&campaign, &phone(number), "", &format!("GOOD0100{number:02}"), TIME).await;
        campaign.make_unreadable(&id_of(&odd)).await;
        // The message fails until it reaches the dead-letter queue, which has an alarm.
        assert_eq!(settler.deliver(&message_about(&campaign, &odd)).await.batch_item_failures.len(), 1);
        assert_eq!(settler.due().await, [], "it is not due any more");
    }
    let good = submit_typed(&campaign, &phone(9), "", "GOOD010099", TIME).await;
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(status(&campaign, &good).await, json!(["accepted", "verified", "entered", 1]));

    let waits = [15, 60, 180, 360, 360].map(|minutes| Duration::from_mins(minutes) / HASTEN);
    for wait in waits {
        campaign.service.clock.advance(wait - Duration::from_millis(1));
        assert_eq!(settler.due().await, [], "before {wait:?}");
        campaign.service.clock.advance(Duration::from_millis(1));
        let due = settler.due().await;
        assert_eq!(due.len(), 8, "after {wait:?}");
        for due in due {
            let message = SettleMessage { scope: due.scope, submission_id: due.submission_id };
            assert_eq!(settler.deliver(&message).await.batch_item_failures.len(), 1);
        }
    }
}

#[tokio::test]
async fn an_entry_of_the_index_that_is_not_understood_hides_no_other() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let good = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    let table = campaign.service.env.required("SUBMISSIONS_TABLE").expect("the stack sets it");
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for shard in 0..4 {
        let put = campaign.service.dynamodb().put_item().table_name(&table);
        let put = put.item("id", text(&format!("of a newer build {shard}")));
        let put = put.item("unsettled", text(&format!("tax#{shard}")));
        put.item("scope_and_next_step", text("!")).send().await.expect("the table");
    }
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(status(&campaign, &good).await, json!(["accepted", "verified", "entered", 1]));
}
