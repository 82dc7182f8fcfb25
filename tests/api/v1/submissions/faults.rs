//! `POST /api/v1/submissions` on a database that conflicts and loses answers.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use local::stack::Options;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::proxy::{Fault, Proxy};
use service_tests::service::Service;

/// A service whose database is behind a proxy that plays faults.
async fn service() -> (Service, Proxy) {
    let database = Service::shared().env.required("AWS_ENDPOINT_URL_DYNAMODB").expect("the stack sets it");
    let proxy = Proxy::start(database).await;
    let options = Options { dynamodb_url: Some(proxy.url.clone()), ..Options::default() };
    (Service::of_its_own(options), proxy)
}

#[tokio::test]
async fn conflicts_are_tried_again_until_they_pass() {
    let (service, proxy) = service().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    proxy.play([Fault::Conflict(1), Fault::Conflict(2), Fault::Conflict(0)]);
    assert_eq!(campaign.outcome(&phone(1), &campaign.code(0)).await, "entered");
    proxy.play([Fault::Conflict(0), Fault::Conflict(1)]);
    assert_eq!(campaign.outcome(&phone(1), "WRONG").await, "invalid");
    assert_eq!(proxy.faults_left(), 0, "every fault was played");
}

#[tokio::test]
async fn a_second_tap_that_meets_a_conflict_and_a_limit_at_once_is_a_replay_all_the_same() {
    let (service, proxy) = service().await;
    let mut config = plain();
    config.limits.phone_daily = Some(1);
    let campaign = TestCampaign::on(&service, config).await;
    let first = campaign.submit(&phone(1), &campaign.code(0)).await;
    // The entrant's limit is told; who has the code is not.
    proxy.play([Fault::ConditionAndConflict(1)]);
    let again = campaign.submit(&phone(1), &campaign.code(0)).await;
    assert_eq!(
        (again.field("id"), again.field("replayed")),
        (first.field("id"), json!(true)),
        "{}",
        again.text
    );
    assert_eq!(proxy.faults_left(), 0, "the fault was played");
}

#[tokio::test]
async fn a_batch_that_is_never_read_whole_is_answered_like_throttling() {
    let (service, proxy) = service().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    proxy.play([Fault::Unprocessed; 8]);
    let sending = campaign.submission(&phone(1), "WRONG");
    assert_eq!(sending.clone().send().await.refusal(), (503, "service_unavailable".to_owned(), None));
    assert_eq!(proxy.faults_left(), 0, "after eight tries");
    assert_eq!(sending.send().await.field("message_key"), "invalid");
}

#[tokio::test]
async fn a_lost_answer_does_not_enter_twice() {
    let (service, proxy) = service().await;
    let mut config = plain();
    config.limits.phone_total = Some(1);
    let campaign = TestCampaign::on(&service, config).await;
    proxy.play([Fault::AnswerLost]);
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().send().await;
    assert_eq!(first.field("message_key"), "entered");
    assert_eq!(proxy.faults_left(), 0, "the answer was lost");
    let again = sending.send().await;
    assert_eq!(again.field("id"), first.field("id"));
}

#[tokio::test]
async fn the_same_request_in_flight_elsewhere_is_told_to_wait() {
    let (service, proxy) = service().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    proxy.play([Fault::Conflict(0); 14]);
    let busy = sending.clone().send().await;
    assert_eq!(busy.refusal(), (409, "idempotency_in_progress".to_owned(), None));
    assert_eq!(busy.header("retry-after"), Some("1"));
    let later = sending.send().await;
    assert_eq!((later.field("message_key"), later.header("idempotent-replayed")), (json!("entered"), None));
}

#[tokio::test]
async fn throttling_that_ends_within_the_budget_is_not_seen() {
    let (service, proxy) = service().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    proxy.play([Fault::Throttled(0), Fault::Throttled(2), Fault::Conflict(1), Fault::Throttled(3)]);
    let entered = campaign.submit(&phone(1), &campaign.code(0)).await;
    assert_eq!(entered.field("message_key"), "entered", "{}", entered.text);
    assert_eq!(proxy.faults_left(), 0);
}

#[tokio::test]
async fn who_is_throttled_for_longer_is_told_when_to_retry() {
    let (service, proxy) = service().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    proxy.play([Fault::Throttled(1); 1_000]);
    let unavailable = sending.clone().send().await;
    assert_eq!(unavailable.refusal(), (503, "service_unavailable".to_owned(), None));
    assert_eq!(unavailable.header("retry-after"), Some("5"));
    proxy.play_no_more();
    let later = sending.send().await;
    assert_eq!((later.field("message_key"), later.header("idempotent-replayed")), (json!("entered"), None));
}

#[tokio::test]
async fn conflicts_amid_a_crowd_change_no_sum() {
    let (service, proxy) = service().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let code = campaign.code(0);
    proxy.play((0..60).map(|number| Fault::Conflict(number % 4)));
    let replies = join_all((0..40).map(|number| {
        let (campaign, code) = (campaign.clone(), code.clone());
        async move { campaign.submit(&phone(number), &code).await }
    }))
    .await;
    let winners: BTreeSet<String> = replies
        .iter()
        .filter(|reply| reply.field("message_key") == "entered")
        .map(|reply| reply.field("id").to_string())
        .collect();
    assert_eq!(winners.len(), 1);
    assert!(replies.iter().all(|reply| reply.status == 200));
    assert_eq!(proxy.faults_left(), 0, "every fault was played");
}
