//! Codes that a partner decides, in the request or later.

mod circuit_breaker;
mod deployment_secret;
mod wrong_codes;

use std::time::Duration;

use common::aws::settle_queue::{PARTNER_VARIABLE, TAX_VARIABLE};
use common::domain::code::CodeForm;
use common::domain::settling::{Assignee, Dependency, STEP_LEASE};
use common::domain::submission::Submission;
use common::store::submission_writes::SettleResult;
use futures_util::future::join_all;
use local::partner::SimulatedPartner;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::queue::Queue;
use service_tests::receipts::{Settler, id_of, receipts_alone};
use service_tests::service::Service;
use service_tests::serving::listen;

use super::{SPEEDUP, UNKNOWN, enter, set_up, status};

async fn judged() -> (SimulatedPartner, TestCampaign, Settler) {
    let partner = simulated(|_| {}).await;
    let (campaign, settler) = set_up(judged_by(partner.url())).await;
    (partner, campaign, settler)
}

async fn submit(campaign: &TestCampaign, number: u32, code: &str) -> Reply {
    let reply = campaign.entry(&phone(number), code).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply
}

/// The message key of a phone's reply.
async fn key_of(campaign: &TestCampaign, number: u32, code: &str) -> String {
    submit(campaign, number, code).await.fields("message_key")
}

/// Settles every second, ten times.
async fn settle_for_ten_seconds(settler: &Settler) {
    for _ in 0..10 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
}

fn asked(partner: &SimulatedPartner, open: &[Reply]) -> u32 {
    open.iter().map(|reply| partner.asked(&id_of(reply))).sum()
}

#[tokio::test]
async fn an_answer_in_time_decides_in_the_same_request() {
    let (partner, campaign, _) = judged().await;
    let cases = [
        ("OKAY-1", "accepted entered 2"),
        ("WINS-1", "accepted instant_win 2"),
        ("BADC-1", "rejected invalid 0"),
        ("USED-1", "rejected already_used 0"),
        ("LIMT-1", "rejected daily_limit 0"),
        ("BLOK-1", "rejected blocked 0"),
    ];
    for (number, (code, expected)) in (1..).zip(cases) {
        let reply = submit(&campaign, number, code).await;
        assert_eq!(
            reply.fields("state message_key entries"),
            expected,
            "{code}"
        );
        let has_prize = reply.field("instant_win").is_string();
        assert_eq!(has_prize, code == "WINS-1", "{code}");
        let upstream = reply.field("upstream");
        assert!(
            upstream["code"].is_number() && upstream["message"].is_string(),
            "{upstream}"
        );
        let redeemed = partner.redeemed(&id_of(&reply));
        assert_eq!(
            redeemed,
            u32::from(expected.starts_with("accepted")),
            "{code}"
        );
        let read = campaign.shown(&reply).await;
        assert_eq!(read.field("upstream"), upstream, "{code}");
    }
}

#[tokio::test]
async fn no_answer_is_unknown_and_settled_later() {
    let (_partner, campaign, settler) = judged().await;
    // One campaign, so one circuit breaker.
    let codes = ["NEWC-1", "STRG-1", "HTML-1", "HUGE-1"];
    let mut open = Vec::new();
    for (number, code) in (1..).zip(codes) {
        let reply = submit(&campaign, number, code).await;
        let unknown = "unknown checking false";
        assert_eq!(
            reply.fields("state message_key terminal"),
            unknown,
            "{code}"
        );
        open.push(reply);
    }
    let upstream = open[0].field("upstream");
    assert!(
        !upstream["code"].is_null(),
        "the partner's own code is shown: {upstream}"
    );
    // An operator takes over after a day without an answer.
    for _ in 0..60 {
        settler.settle_after(Duration::from_secs(60)).await;
    }
    let later = settler.settle_after(Duration::from_secs(1_000_000)).await;
    assert_eq!(later, 0, "nothing more is asked");
    for reply in &open {
        assert_eq!(status(&campaign, reply).await, UNKNOWN);
        let now = campaign.shown(reply).await;
        assert_eq!(now.field("reasons"), json!(["partner_unanswered"]));
    }
}

#[tokio::test]
async fn a_partner_that_was_down_is_asked_again_until_it_answers() {
    let (partner, campaign, settler) = judged().await;
    let reply = submit(&campaign, 1, "DOWN-1").await;
    assert_eq!(reply.field("state"), "unknown");
    let again = submit(&campaign, 1, "DOWN-1").await;
    assert_eq!(
        again.fields("id replayed"),
        format!("{} true", id_of(&reply))
    );
    assert_eq!(key_of(&campaign, 2, "DOWN-1").await, "code_held");
    settle_for_ten_seconds(&settler).await;
    let settled = campaign.shown(&reply).await;
    assert_eq!(settled.fields("state message_key"), "accepted entered");
    assert_eq!(partner.redeemed(&id_of(&reply)), 1);
    let used = submit(&campaign, 2, "DOWN-1").await;
    assert_eq!(used.field("message_key"), "already_used");
    let asked = partner.asked(&id_of(&used));
    assert_eq!(asked, 0, "what is known here is not asked there");
}

#[tokio::test]
async fn step_sends_a_message_if_the_next_is_due_before_the_sweep() {
    let (_partner, campaign, settler) = judged().await;
    submit(&campaign, 1, "DOWN-1").await;
    let queue = Queue::from_env(&campaign.service.env, PARTNER_VARIABLE);
    let before = queue.messages().await;
    assert_eq!(settler.settle_after(Duration::from_secs(1)).await, 1);
    let after = queue.messages().await;
    assert_eq!(after, before + 1, "the next step follows within seconds");

    let (campaign, settler) = set_up(receipts_alone).await;
    enter(&campaign, 2, "LATE010001").await;
    let queue = Queue::from_env(&campaign.service.env, TAX_VARIABLE);
    let before = queue.messages().await;
    assert_eq!(settler.settle_due().await, 1);
    let after = queue.messages().await;
    assert_eq!(
        after, before,
        "the next step follows in a quarter of an hour"
    );
}

#[tokio::test]
async fn an_answer_that_was_lost_redeems_once() {
    let (partner, campaign, settler) = judged().await;
    let reply = submit(&campaign, 1, "GONE-1").await;
    assert_eq!(reply.field("state"), "unknown");
    settle_for_ten_seconds(&settler).await;
    assert_eq!(campaign.shown(&reply).await.field("state"), "accepted");
    let id = id_of(&reply);
    assert_eq!((partner.redeemed(&id), partner.asked(&id)), (1, 2));
}

#[tokio::test]
async fn acceptance_needs_success_and_refusal_a_status_of_the_code() {
    let (_partner, campaign, _) = judged().await;
    let cases = [
        ("CONF-1", "rejected null already_used 0"),
        ("MISS-1", "rejected null invalid 0"),
        ("ODDS-1", UNKNOWN),
    ];
    for (number, (code, expected)) in (1..).zip(cases) {
        let reply = submit(&campaign, number, code).await;
        assert_eq!(status(&campaign, &reply).await, expected, "{code}");
    }
}

#[tokio::test]
async fn times_after_a_silent_partner_count_from_its_giving_up() {
    let (listener, url) = listen().await;
    // Without a speedup: the next step is due after the test.
    let service = Service::still();
    let campaign = TestCampaign::changed(&service, judged_by(url + "/redeem")).await;
    let queue = Queue::from_env(&service.env, PARTNER_VARIABLE);
    let clock = service.clock.clone();
    let silence = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        clock.advance(Duration::from_secs(8));
        drop(stream);
    });
    let reply = submit(&campaign, 1, "OKAY-1").await;
    assert_eq!(
        (queue.messages().await, queue.waiting().await),
        (1, Some(0)),
        "not before the next step"
    );
    silence.await.expect("a connection");
    assert_eq!(reply.field("state"), "unknown");
    let read = campaign.shown(&reply).await;
    let times = "poll_after_seconds updated_at";
    assert_eq!(reply.fields(times), read.fields(times));
    let open = campaign.record(&id_of(&reply)).await.settling;
    let next_step_at = open.expect("it is open").next_step_at;
    // Queues delay by whole seconds.
    let delay = next_step_at
        .since(service.clock.now())
        .as_millis()
        .div_ceil(1_000);
    service
        .queue_clock
        .advance(Duration::from_secs(delay.try_into().expect("some seconds")));
    assert_eq!(queue.waiting().await, Some(1), "and not after it");
}

#[tokio::test]
async fn long_failure_of_the_service_leaves_nothing_to_a_person() {
    let (partner, campaign, settler) = judged().await;
    let reply = submit(&campaign, 1, "DOWN-1").await;
    let message = campaign.message(&id_of(&reply));
    // Nothing listens there.
    let nowhere = [("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:1")];
    let broken = Settler::new(&campaign.service.with_variables(&nowhere));
    // Longer than any wait, and more often than a step may be begun.
    let round = Duration::from_mins(45) / SPEEDUP;
    for _ in 0..8 {
        campaign.advance(round);
        let failed = broken.deliver_to(Dependency::Partner, &message).await;
        let failures = failed.batch_item_failures.len();
        assert_eq!(failures, 1, "the message comes again");
    }
    assert_eq!(partner.asked(&id_of(&reply)), 1);
    for _ in 0..10 {
        settler.settle_after(round).await;
    }
    assert_eq!(campaign.shown(&reply).await.field("state"), "accepted");
}

#[tokio::test]
async fn code_found_used_when_asked_again_goes_to_a_person() {
    // The partner redeems; its first answer is lost.
    let partner = simulated(|_| {}).await;
    let faults = Interceptor::at(0, FaultKind::AnswerLost);
    let url = faults.in_front_of(&partner.base_url).await + "/redeem";
    let (campaign, settler) = set_up(judged_by(url)).await;
    let reply = submit(&campaign, 1, "FLIP-1").await;
    assert_eq!(reply.field("state"), "unknown");
    assert_eq!(partner.redeemed(&id_of(&reply)), 1);
    settle_for_ten_seconds(&settler).await;
    let now = campaign.shown(&reply).await;
    assert_eq!(
        now.fields("state reasons"),
        r#"unknown ["partner_used_when_asked_again"]"#
    );
    assert_eq!(partner.asked(&id_of(&reply)), 2, "and no more");
}

#[tokio::test]
async fn what_may_be_redeemed_stays_so_when_the_service_tries_again() {
    // The asking process dies before the answer.
    let partner = simulated(|_| {}).await;
    let faults = Interceptor::at(0, FaultKind::DiesAfter);
    let url = faults.in_front_of(&partner.base_url).await + "/redeem";
    let (campaign, settler) = set_up(judged_by(url)).await;
    let first = tokio::spawn(campaign.entry(&phone(1), "FLIP-1").send());
    faults.death().await;
    first.abort();
    let store = &campaign.service.tables.store;
    let scope = campaign.live_scope();
    let unsettled = store.submissions().list_unsettled(&scope);
    let id = unsettled.await.expect("it answers").0[0]
        .submission_id
        .to_string();
    for _ in 0..2 {
        settler.settle_after(STEP_LEASE).await;
        let left = campaign.record(&id).await;
        assert_eq!(left.reasons, ["partner_used_when_asked_again"]);
        let settling = left.settling.clone().expect("it is open");
        assert_eq!(settling.assignee, Assignee::Operator);
        let resumed = settling.resumed(campaign.service.clock.now());
        let resumed = Submission {
            settling: Some(resumed),
            ..left.changed(left.updated_at)
        };
        let written = store.settle(&left, &resumed, None).await;
        assert_eq!(written.expect("it answers"), SettleResult::Committed);
    }
    assert_eq!(partner.redeemed(&id), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (partner, campaign, _) = judged().await;
    let reply = submit(&campaign, 1, "MOVE-1").await;
    assert_eq!(reply.field("state"), "unknown");
    assert_eq!(partner.asked(&id_of(&reply)), 1);
}

#[tokio::test]
async fn tests_never_reach_the_partner() {
    let (partner, campaign, _) = judged().await;
    for (code, key) in [("OKAY-1", "invalid"), ("TEST-0-VALID", "entered")] {
        assert_eq!(campaign.outcome(&phone(1), code).await, key);
    }
    assert!(partner.redemptions().is_empty());
    let check = campaign.check("OKAY-1").await;
    assert_eq!(check.fields("precheck message_key"), "unsupported null");
}

#[tokio::test]
async fn of_many_phones_with_one_code_one_is_asked_about_and_redeems() {
    let (partner, campaign, _) = judged().await;
    let keys = (1..=30).map(async |number| key_of(&campaign, number, "OKAY-7").await);
    let mut keys = join_all(keys).await;
    keys.retain(|key| !["code_held", "already_used"].contains(&key.as_str()));
    assert_eq!(keys, ["entered"]);
    assert_eq!(partner.redemptions().len(), 1);
}

#[tokio::test]
async fn a_partner_is_asked_about_the_code_that_is_compared() {
    let (partner, campaign, _) = judged().await;
    let first = key_of(&campaign, 1, " okay\u{2013}e\u{301} 1\n").await;
    assert_eq!(first, "entered");
    let again = submit(&campaign, 1, "OKAYÉ1").await;
    assert_eq!(again.field("replayed"), true, "{}", again.text);
    assert_eq!(key_of(&campaign, 2, "Ｏkay-É-1").await, "already_used");
    assert_eq!(partner.codes(), ["OKAYÉ1"]);
}

#[tokio::test]
async fn partner_of_exact_codes_is_asked_about_what_was_typed() {
    let partner = simulated(|_| {}).await;
    let (campaign, settler) = set_up(|campaign| {
        judged_by(partner.url())(campaign);
        campaign.partner.as_mut().expect("rules").code = CodeForm::Exact;
    })
    .await;
    let first = submit(&campaign, 1, "\u{feff} Okay-e\u{301}_1\n").await;
    assert_eq!(first.field("message_key"), "entered");
    let again = submit(&campaign, 1, "Okay-é_1").await;
    assert_eq!(
        again.fields("id replayed"),
        format!("{} true", id_of(&first))
    );
    let other = submit(&campaign, 2, "OKAY-é_1").await;
    assert_eq!(other.field("message_key"), "already_used");
    assert_eq!(partner.asked(&id_of(&other)), 1);
    let later = submit(&campaign, 3, "Down-x").await;
    assert_eq!(later.field("state"), "unknown");
    settle_for_ten_seconds(&settler).await;
    assert_eq!(campaign.shown(&later).await.field("state"), "accepted");
    assert_eq!(
        partner.codes(),
        ["Okay-é_1", "OKAY-é_1", "Down-x", "Down-x", "Down-x"]
    );
}

#[tokio::test]
async fn same_request_in_flight_is_told_to_wait() {
    let partner = simulated(|options| options.slow_for = Duration::from_secs(3)).await;
    let (campaign, _) = set_up(judged_by(partner.url())).await;
    let sending = campaign.entry(&phone(1), "SLOW-1");
    let first = tokio::spawn(sending.clone().send());
    // The partner has the request and is slow.
    while partner.redemptions().is_empty() {
        assert!(!first.is_finished());
        tokio::task::yield_now().await;
    }
    for (retry_after, seconds) in [("10", 4), ("6", 6)] {
        let busy = sending.clone().await;
        assert_eq!(busy.error_code(), "idempotency_in_progress");
        assert_eq!(busy.header("retry-after"), Some(retry_after));
        campaign.advance(Duration::from_secs(seconds));
    }
    let stored = sending.await;
    assert_eq!(stored.field("state"), "pending");
    assert_eq!(stored.header("idempotent-replayed"), Some("true"));
    let answered = first.await.expect("it ends");
    assert_eq!(answered.fields("id state"), id_of(&stored) + " accepted");
}
