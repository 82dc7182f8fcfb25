//! `POST /api/v1/submissions` while the database has conflicts and loses answers.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use common::domain::scope::Environment;
use common::store::code_books;
use futures_util::future::join_all;
use local::partner::SimulatedPartner;
use local::stack::{PARTNER_SECRET, PARTNER_SECRET_HEADER};
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::database_faults::Fault;
use service_tests::partners::judged_by;
use service_tests::receipts::id_of;
use service_tests::service::Service;
use tokio::time::Instant;

#[tokio::test]
async fn conflicts_are_tried_again_until_they_pass() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    proxy.play([Fault::Conflict(1), Fault::Conflict(2), Fault::Conflict(0)]);
    campaign.enter(1, 0).await;
    proxy.play([Fault::Conflict(0), Fault::Conflict(1)]);
    assert_eq!(campaign.outcome(&phone(1), "WRONG").await, "invalid");
    assert_eq!(proxy.faults_left(), 0, "every fault was played");
}

#[tokio::test]
async fn taken_reference_leads_to_another_id() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    for (code, expected) in [
        (campaign.code(0), "entered"),
        ("WRONG".to_owned(), "invalid"),
    ] {
        proxy.play([Fault::ReferenceTaken, Fault::ReferenceTaken]);
        let reply = campaign.submit(&phone(1), &code).await;
        assert_eq!(reply.field("message_key"), expected, "{}", reply.text);
        assert_eq!(proxy.faults_left(), 0, "every fault was played");
        let id = id_of(&reply);
        let read = campaign
            .test("GET", &format!("/api/v1/submissions/{id}"))
            .await;
        assert_eq!(
            (read.field("ref"), read.field("message_key")),
            (reply.field("ref"), json!(expected))
        );
    }
    let listed = campaign.lookup(&phone(1)).await;
    // Each taken reference has its own record, besides the two answers'.
    let refs: BTreeSet<_> = listed
        .field("submissions")
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["ref"].to_string())
        .collect();
    assert_eq!((refs.len(), listed.field("total_entries")), (6, json!(1)));
}

#[tokio::test]
async fn published_code_is_used_even_while_others_write() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    campaign.enter(1, 0).await;
    // More conflicts than tries; the database cancels before it checks conditions.
    proxy.play([Fault::Conflict(1); 14]);
    assert_eq!(
        campaign.outcome(&phone(2), &campaign.code(0)).await,
        "already_used"
    );
    assert_eq!(proxy.faults_left(), 0, "every fault was played");
}

#[tokio::test]
async fn second_tap_replays_despite_a_conflict_and_a_limit() {
    let (service, proxy) = Service::intercepted().await;
    let mut config = plain();
    config.limits.phone_daily = Some(1);
    let campaign = TestCampaign::on(&service, config).await;
    let first = campaign.submit(&phone(1), &campaign.code(0)).await;
    // It reports the failed limit, but not the code's holder.
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

async fn batch_never_read_whole_is_answered_like_throttling() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    proxy.play([Fault::Unprocessed; 1_000]);
    let sending = campaign.submission(&phone(1), "WRONG");
    assert_eq!(sending.clone().await.refusal(), "503 service_unavailable");
    proxy.play_no_more();
    assert_eq!(sending.await.field("message_key"), "invalid");
}

#[tokio::test]
async fn a_lost_answer_does_not_enter_twice() {
    let (service, proxy) = Service::intercepted().await;
    let mut config = plain();
    config.limits.phone_total = Some(1);
    let campaign = TestCampaign::on(&service, config).await;
    proxy.play([Fault::AnswerLost]);
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().await;
    assert_eq!(first.field("message_key"), "entered");
    assert_eq!(proxy.faults_left(), 0, "the answer was lost");
    let again = sending.await;
    assert_eq!(again.field("id"), first.field("id"));
}

async fn same_request_in_flight_elsewhere_is_told_to_wait() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    proxy.play([Fault::Conflict(0); 1_000]);
    let busy = sending.clone().await;
    proxy.play_no_more();
    assert_eq!(busy.refusal(), "409 idempotency_in_progress");
    assert_eq!(busy.header("retry-after"), Some("1"));
    let later = sending.await;
    assert_eq!(later.field("message_key"), "entered");
    assert_eq!(later.header("idempotent-replayed"), None);
}

#[tokio::test]
async fn throttling_that_ends_within_the_budget_is_not_seen() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    proxy.play([
        Fault::Throttled(0),
        Fault::Throttled(2),
        Fault::Conflict(1),
        Fault::Throttled(3),
    ]);
    let entered = campaign.submit(&phone(1), &campaign.code(0)).await;
    assert_eq!(entered.field("message_key"), "entered", "{}", entered.text);
    assert_eq!(proxy.faults_left(), 0);
}

async fn longer_throttling_is_told_with_a_time_to_retry() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    proxy.play([Fault::Throttled(1); 1_000]);
    let unavailable = sending.clone().await;
    assert_eq!(unavailable.refusal(), "503 service_unavailable");
    assert_eq!(unavailable.header("retry-after"), Some("5"));
    proxy.play_no_more();
    let later = sending.await;
    assert_eq!(later.field("message_key"), "entered");
    assert_eq!(later.header("idempotent-replayed"), None);
}

async fn two_throttled_writes_are_answered_like_one() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    campaign.enter(1, 0).await;
    // The first write fails because of phone 1; the second would record the used code.
    proxy.play([
        Fault::Throttled(0),
        Fault::Throttled(0),
        Fault::ConditionAndConflict(2),
    ]);
    proxy.play([Fault::Throttled(0); 1_000]);
    proxy.slow_down(Duration::from_millis(1_500));
    let unavailable = campaign.submission(&phone(2), &campaign.code(0)).await;
    assert_eq!(unavailable.refusal(), "503 service_unavailable");
    assert_eq!(unavailable.header("retry-after"), Some("5"));
}

async fn check_of_the_key_counts_towards_the_budget() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    // Two tries for the key, one read of the rest, the write: 10.8 seconds.
    proxy.play([Fault::Unprocessed]);
    proxy.slow_down(Duration::from_millis(2_700));
    let unavailable = sending.clone().await;
    assert_eq!(unavailable.refusal(), "503 service_unavailable");
    assert_eq!(unavailable.header("retry-after"), Some("5"));
    proxy.slow_down(Duration::ZERO);
    assert_eq!(sending.await.field("message_key"), "entered");
    let listed = campaign.lookup(&phone(1)).await;
    assert_eq!(listed.field("total_entries"), 1);
}

async fn unwritten_late_answer_delays_the_reply_ten_seconds_at_most() {
    let (service, proxy) = Service::intercepted().await;
    let secret = Some((
        PARTNER_SECRET_HEADER.to_owned(),
        PARTNER_SECRET.1.to_owned(),
    ));
    let slow = Duration::from_secs(6);
    let options = local::partner::PartnerOptions {
        secret,
        slow_for: slow,
    };
    let partner = SimulatedPartner::serve(options).await.expect("it serves");
    let mut config = plain();
    judged_by(partner.url())(&mut config);
    let campaign = TestCampaign::on(&service, config).await;
    let started = Instant::now();
    let sent = tokio::spawn(campaign.entry(&phone(1), "SLOW-1").send());
    while partner.redemptions().is_empty() {
        tokio::task::yield_now().await;
    }
    proxy.play([Fault::Throttled(0); 1_000]);
    let reply = sent.await.expect("it ends");
    assert_eq!(reply.field("state"), "pending");
    assert_eq!(reply.field("message_key"), "checking");
    let took = started.elapsed();
    assert!(took < Duration::from_millis(11_000), "{took:?}");
}

/// Concurrent: each takes most of its ten seconds.
#[tokio::test]
async fn requests_end_within_their_budget() {
    tokio::join!(
        batch_never_read_whole_is_answered_like_throttling(),
        same_request_in_flight_elsewhere_is_told_to_wait(),
        longer_throttling_is_told_with_a_time_to_retry(),
        two_throttled_writes_are_answered_like_one(),
        check_of_the_key_counts_towards_the_budget(),
        unwritten_late_answer_delays_the_reply_ten_seconds_at_most(),
    );
}

async fn lose_book(campaign: &TestCampaign, environment: Environment) {
    let table = campaign
        .service
        .env
        .required(code_books::VARIABLE)
        .expect("the stack sets it");
    let scope = AttributeValue::S(campaign.scope(environment).to_string());
    let delete = campaign.service.dynamodb().delete_item().table_name(table);
    delete
        .key(code_books::KEY, scope)
        .send()
        .await
        .expect("the table");
}

#[tokio::test]
async fn a_code_book_that_is_missing_makes_no_code_a_wrong_one() {
    let campaign = TestCampaign::plain().await;
    lose_book(&campaign, Environment::Test).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let unavailable = "503 service_unavailable";
    assert_eq!(sending.await.refusal(), unavailable);
    assert_eq!(
        campaign.check(&campaign.code(0)).await.refusal(),
        unavailable
    );
    let recorded = campaign.lookup(&phone(1)).await;
    assert_eq!(recorded.field("submissions"), json!([]));
    assert_eq!(
        campaign.outcome(&phone(1), "TEST-0-VALID").await,
        "entered",
        "it needs no book"
    );
}

#[tokio::test]
async fn a_partners_code_without_a_code_book_is_no_wrong_one_either() {
    let campaign = TestCampaign::with(judged_by("http://127.0.0.1:1/redeem".to_owned())).await;
    lose_book(&campaign, Environment::Live).await;
    let reply = campaign.entry(&phone(1), "OKAY-1").await;
    assert_eq!(reply.refusal(), "503 service_unavailable");
}

#[tokio::test]
async fn conflicts_amid_a_crowd_change_no_sum() {
    let (service, proxy) = Service::intercepted().await;
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
