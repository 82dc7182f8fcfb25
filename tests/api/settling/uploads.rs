//! Storage events may be repeated and come in any order.

use common::aws::photos::object_key;
use common::domain::scope::Environment;
use common::runtime::event_handler::EventHandler;
use mark_receipt_uploaded::{MarkReceiptUploaded, StorageEvent};
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::receipts::{announced, hardly_a_photo, id_of, receipts_alone, upload};
use service_tests::service::Service;

use super::set_up;

fn marker(service: &Service) -> MarkReceiptUploaded {
    service.function("mark-receipt-uploaded")
}

/// An event for these photos, with malformed records between.
fn event(campaign: &TestCampaign, ids: &[&str]) -> StorageEvent {
    let record = |id: &&str| {
        let key = object_key(
            &campaign.scope(Environment::Test),
            id.parse().expect("an id"),
        );
        json!({ "s3": { "object": { "key": key } } })
    };
    let odd: [Value; 4] = [
        json!(7),
        json!({ "s3": {} }),
        json!({ "s3": { "object": { "key": 7 } } }),
        json!({ "s3": { "object": { "key": "x" } } }),
    ];
    let records = ids
        .iter()
        .flat_map(|id| odd.iter().cloned().chain([record(id)]))
        .collect();
    StorageEvent { records }
}

async fn state(campaign: &TestCampaign, id: &str) -> Value {
    campaign
        .test("GET", &format!("/api/v1/receipts/{id}"))
        .await
        .field("state")
}

#[tokio::test]
async fn events_may_come_twice_late_among_others_or_for_nothing() {
    let (campaign, _) = set_up(receipts_alone).await;
    let marker = marker(&campaign.service);
    let key = &campaign.test_key;
    let first = campaign
        .photo(key, &hardly_a_photo(), Some("TEST0REVIEW"))
        .await;
    let second = campaign
        .photo(key, &hardly_a_photo(), Some("TEST0REVIEW"))
        .await;
    let absent = id_of(&campaign.receipt(key, &announced(&[0; 9], None)).await);
    assert_eq!(
        state(&campaign, &first).await,
        "awaiting_upload",
        "no event has come yet"
    );
    let event = event(&campaign, &[&absent, &second, &first, &second]);
    marker.handle(event.clone()).await.expect("no record fails");
    marker
        .handle(event.clone())
        .await
        .expect("a second time neither");
    for (id, expected) in [
        (&first, "uploaded"),
        (&second, "uploaded"),
        (&absent, "awaiting_upload"),
    ] {
        assert_eq!(state(&campaign, id).await, expected);
    }
    assert_eq!(
        campaign
            .with_receipt(key, &phone(1), "", &first)
            .await
            .status,
        200
    );
    marker.handle(event).await.expect("a late one neither");
    assert_eq!(state(&campaign, &first).await, "attached");
}

#[tokio::test]
async fn an_event_whose_records_fail_comes_again() {
    let (campaign, _) = set_up(receipts_alone).await;
    let ids = [
        campaign
            .photo(&campaign.test_key, &hardly_a_photo(), None)
            .await,
        campaign
            .photo(&campaign.test_key, &hardly_a_photo(), None)
            .await,
    ];
    // With wrong credentials, reading either photo fails.
    let wrong = [("AWS_SECRET_ACCESS_KEY", "wrong")];
    let blind = marker(&campaign.service.with_variables(&wrong));
    let event = event(&campaign, &[&ids[0], &ids[1]]);
    blind
        .handle(event.clone())
        .await
        .expect_err("it has to come again");
    marker(&campaign.service)
        .handle(event)
        .await
        .expect("no record fails");
    for id in &ids {
        assert_eq!(state(&campaign, id).await, "uploaded");
    }
}

#[tokio::test]
async fn a_submission_before_the_event_looks_for_itself() {
    let (campaign, _) = set_up(receipts_alone).await;
    let made = campaign
        .receipt(
            &campaign.test_key,
            &announced(&hardly_a_photo(), Some("TEST0REVIEW")),
        )
        .await;
    assert_eq!(upload(&made, hardly_a_photo()).await.status, 200);
    let submitted = campaign
        .with_receipt(&campaign.test_key, &phone(1), "", &id_of(&made))
        .await;
    assert_eq!(submitted.field("message_key"), "receipt_received");
}
