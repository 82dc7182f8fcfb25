//! Codes that a partner decides, in the request or later.

mod circuit_breaker;
mod deployment_secret;
mod wrong_codes;

use std::time::Duration;

use common::aws::settle_queue::{PARTNER_VARIABLE, SettleMessage, TAX_VARIABLE};
use common::clock::Clock;
use common::domain::code::CodeForm;
use common::domain::settling::{Assignee, Dependency, STEP_LEASE};
use common::domain::submission::Submission;
use common::store::submission_writes::{SettleResult, SubmissionStore};
use common::store::submissions::Submissions;
use futures_util::future::join_all;
use local::partner::SimulatedPartner;
use local::stack;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::partners::{judged_by, simulated};
use service_tests::queue::Queue;
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};
use service_tests::service::{NOON, Service};

use super::{SPEEDUP, set_up, status, submit_typed};

async fn judged() -> (SimulatedPartner, TestCampaign, Settler) {
    let partner = simulated(|_| {}).await;
    let (campaign, settler) = set_up(judged_by(partner.url())).await;
    (partner, campaign, settler)
}

async fn submit(campaign: &TestCampaign, number: u32, code: &str) -> Reply {
    let reply = campaign.entry(&phone(number), code).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply
}

fn asked(partner: &SimulatedPartner, open: &[Reply]) -> u32 {
    open.iter().map(|reply| partner.asked(&id_of(reply))).sum()
}

#[tokio::test]
async fn an_answer_in_time_decides_in_the_same_request() {
    let (partner, campaign, _) = judged().await;
    let cases = [
        ("OKAY-1", json!(["accepted", "entered", 2, null])),
        ("WINS-1", json!(["accepted", "instant_win", 2, "won"])),
        ("BADC-1", json!(["rejected", "invalid", 0, null])),
        ("USED-1", json!(["rejected", "already_used", 0, null])),
        ("LIMT-1", json!(["rejected", "daily_limit", 0, null])),
        ("BLOK-1", json!(["rejected", "blocked", 0, null])),
    ];
    for (number, (code, expected)) in (1..).zip(cases) {
        let reply = submit(&campaign, number, code).await;
        let prize = if reply.field("instant_win").is_string() {
            json!("won")
        } else {
            Value::Null
        };
        let shown = json!([
            reply.field("state"),
            reply.field("message_key"),
            reply.field("entries"),
            prize
        ]);
        assert_eq!(shown, expected, "{code}");
        assert!(
            reply.field("upstream")["code"].is_number(),
            "{}",
            reply.text
        );
        assert!(
            reply.field("upstream")["message"].is_string(),
            "{}",
            reply.text
        );
        let redeemed = partner.redeemed(&id_of(&reply));
        assert_eq!(redeemed, u32::from(expected[0] == "accepted"), "{code}");
        let read = campaign.shown(&reply).await;
        assert_eq!(read.field("upstream"), reply.field("upstream"), "{code}");
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
        assert_eq!(
            reply.fields(["state", "message_key", "terminal"]),
            json!(["unknown", "checking", false]),
            "{code}"
        );
        open.push(reply);
    }
    assert!(
        !open[0].field("upstream")["code"].is_null(),
        "the partner's own code is shown: {}",
        open[0].text
    );
    // An operator takes over after a day without an answer.
    for _ in 0..60 {
        settler.settle_after(Duration::from_secs(60)).await;
    }
    assert_eq!(
        settler.settle_after(Duration::from_secs(1_000_000)).await,
        0,
        "nothing more is asked"
    );
    for reply in &open {
        assert_eq!(
            status(&campaign, reply).await,
            json!(["unknown", null, "checking", 0])
        );
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
        again.fields(["id", "replayed"]),
        json!([reply.field("id"), true])
    );
    let held = submit(&campaign, 2, "DOWN-1").await;
    assert_eq!(held.field("message_key"), "code_held");
    for _ in 0..10 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
    let settled = status(&campaign, &reply).await;
    assert_eq!(settled[0], "accepted");
    assert_eq!(settled[2], "entered");
    assert_eq!(partner.redeemed(&id_of(&reply)), 1);
    let used = submit(&campaign, 2, "DOWN-1").await;
    assert_eq!(used.field("message_key"), "already_used");
    assert_eq!(
        partner.asked(&id_of(&used)),
        0,
        "what is known here is not asked there"
    );
}

#[tokio::test]
async fn step_sends_a_message_if_the_next_is_due_before_the_sweep() {
    let (_partner, campaign, settler) = judged().await;
    let env = &campaign.service.env;
    submit(&campaign, 1, "DOWN-1").await;
    let queue = Queue::from_env(env, PARTNER_VARIABLE);
    let before = queue.messages().await;
    assert_eq!(settler.settle_after(Duration::from_secs(1)).await, 1);
    assert_eq!(
        queue.messages().await,
        before + 1,
        "the next step follows within seconds"
    );

    let (campaign, settler) = set_up(receipts_alone).await;
    submit_typed(&campaign, &phone(2), "", "LATE010001", TIME).await;
    let queue = Queue::from_env(&campaign.service.env, TAX_VARIABLE);
    let before = queue.messages().await;
    assert_eq!(settler.settle_due().await, 1);
    assert_eq!(
        queue.messages().await,
        before,
        "the next step follows in a quarter of an hour"
    );
}

#[tokio::test]
async fn an_answer_that_was_lost_redeems_once() {
    let (partner, campaign, settler) = judged().await;
    let reply = submit(&campaign, 1, "GONE-1").await;
    assert_eq!(reply.field("state"), "unknown");
    for _ in 0..10 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
    assert_eq!(status(&campaign, &reply).await[0], "accepted");
    assert_eq!(
        (
            partner.redeemed(&id_of(&reply)),
            partner.asked(&id_of(&reply))
        ),
        (1, 2)
    );
}

#[tokio::test]
async fn acceptance_needs_success_and_refusal_a_status_of_the_code() {
    let (_partner, campaign, _) = judged().await;
    let cases = [
        ("CONF-1", json!(["rejected", null, "already_used", 0])),
        ("MISS-1", json!(["rejected", null, "invalid", 0])),
        ("ODDS-1", json!(["unknown", null, "checking", 0])),
    ];
    for (number, (code, expected)) in (1..).zip(cases) {
        let reply = submit(&campaign, number, code).await;
        assert_eq!(status(&campaign, &reply).await, expected, "{code}");
    }
}

#[tokio::test]
async fn times_after_a_silent_partner_count_from_its_giving_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!(
        "http://{}/redeem",
        listener.local_addr().expect("an address")
    );
    // Without a speedup: the next step is due after the test.
    let options = stack::Options {
        clock: Clock::manual(NOON),
        background: false,
        ..stack::Options::default()
    };
    let service = Service::with_options(options);
    let campaign = TestCampaign::changed(&service, judged_by(url)).await;
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
    assert_eq!(
        reply.field("poll_after_seconds"),
        read.field("poll_after_seconds")
    );
    assert_eq!(reply.field("updated_at"), read.field("updated_at"));

    let submissions = Submissions::from_env(&service.env, &service.dynamodb()).expect("the table");
    let id = id_of(&reply).parse().expect("an id");
    let open = submissions
        .get(&campaign.live_scope(), id)
        .await
        .expect("it answers");
    let next_step_at = open
        .and_then(|open| open.settling)
        .expect("it is open")
        .next_step_at;
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
    let scope = campaign.live_scope();
    let submission_id = id_of(&reply).parse().expect("an id");
    let message = SettleMessage {
        scope,
        submission_id,
    };
    // Nothing listens there.
    let nowhere = (
        "AWS_ENDPOINT_URL_SECRETS_MANAGER".to_owned(),
        "http://127.0.0.1:1".to_owned(),
    );
    let broken = [nowhere].into_iter().collect();
    let env = campaign.service.env.clone().overridden_by(broken);
    let broken = Settler::new(&campaign.service.with_env(env));
    // Longer than any wait; all rounds are shorter than the day until an operator takes over.
    let round = Duration::from_mins(45) / SPEEDUP;
    for _ in 0..20 {
        campaign.service.clock.advance(round);
        assert_eq!(
            broken
                .deliver_to(Dependency::Partner, &message)
                .await
                .batch_item_failures
                .len(),
            1,
            "the message comes again"
        );
    }
    assert_eq!(partner.asked(&id_of(&reply)), 1);
    for _ in 0..10 {
        settler.settle_after(round).await;
    }
    assert_eq!(status(&campaign, &reply).await[0], "accepted");
}

#[tokio::test]
async fn code_found_used_when_asked_again_goes_to_a_person() {
    // The partner redeems; its first answer is lost.
    let partner = simulated(|_| {}).await;
    let fault_injection = Interceptor::at(0, FaultKind::AnswerLost);
    let url = format!(
        "{}/redeem",
        fault_injection.in_front_of(&partner.base_url).await
    );
    let (campaign, settler) = set_up(judged_by(url)).await;
    let reply = submit(&campaign, 1, "FLIP-1").await;
    assert_eq!(
        (reply.field("state"), partner.redeemed(&id_of(&reply))),
        (json!("unknown"), 1)
    );
    for _ in 0..10 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
    let now = campaign.shown(&reply).await;
    assert_eq!(
        now.fields(["state", "reasons"]),
        json!(["unknown", ["partner_used_when_asked_again"]])
    );
    assert_eq!(partner.asked(&id_of(&reply)), 2, "and no more");
}

#[tokio::test]
async fn what_may_be_redeemed_stays_so_when_the_service_tries_again() {
    // The asking process dies before the answer.
    let partner = simulated(|_| {}).await;
    let fault_injection = Interceptor::at(0, FaultKind::DiesAfter);
    let url = format!(
        "{}/redeem",
        fault_injection.in_front_of(&partner.base_url).await
    );
    let (campaign, settler) = set_up(judged_by(url)).await;
    let first = tokio::spawn(campaign.entry(&phone(1), "FLIP-1").send());
    fault_injection.death().await;
    first.abort();
    let scope = campaign.live_scope();
    let submissions = Submissions::from_env(&campaign.service.env, &campaign.service.dynamodb())
        .expect("the table");
    let id = submissions
        .list_unsettled(&scope)
        .await
        .expect("it answers")
        .0[0]
        .submission_id;
    for _ in 0..2 {
        settler.settle_after(STEP_LEASE).await;
        let left = submissions
            .get(&scope, id)
            .await
            .expect("it answers")
            .expect("it is there");
        assert_eq!(left.reasons, ["partner_used_when_asked_again"]);
        let settling = left.settling.clone().expect("it is open");
        assert_eq!(settling.assignee, Assignee::Operator);
        let resumed = settling.resumed(campaign.service.clock.now());
        let resumed = Submission {
            settling: Some(resumed),
            ..left.changed(left.updated_at)
        };
        let client = campaign.service.dynamodb();
        let store = SubmissionStore::from_env(&campaign.service.env, &client).expect("the tables");
        assert_eq!(
            store
                .settle(&left, &resumed, None)
                .await
                .expect("it answers"),
            SettleResult::Committed
        );
    }
    assert_eq!(partner.redeemed(&id.to_string()), 1);
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
    let real = campaign.submit(&phone(1), "OKAY-1").await;
    assert_eq!(real.field("message_key"), "invalid");
    let sentinel = campaign.submit(&phone(1), "TEST-0-VALID").await;
    assert_eq!(sentinel.field("message_key"), "entered");
    assert!(partner.redemptions().is_empty());
    let check = campaign.check("OKAY-1").send().await;
    assert_eq!(
        (check.field("precheck"), check.field("message_key")),
        (json!("unsupported"), Value::Null)
    );
}

#[tokio::test]
async fn of_many_phones_with_one_code_one_is_asked_about_and_redeems() {
    let (partner, campaign, _) = judged().await;
    let replies = join_all((1..=30).map(|number| {
        let campaign = campaign.clone();
        async move { submit(&campaign, number, "OKAY-7").await }
    }))
    .await;
    let entered: Vec<_> = replies
        .iter()
        .filter(|reply| reply.field("message_key") == "entered")
        .collect();
    assert_eq!(entered.len(), 1);
    assert_eq!(partner.redemptions().len(), 1);
    for reply in &replies {
        let key = reply.field("message_key");
        assert!(
            ["entered", "code_held", "already_used"]
                .iter()
                .any(|known| key == *known),
            "{key}"
        );
    }
}

#[tokio::test]
async fn a_partner_is_asked_about_the_code_that_is_compared() {
    let (partner, campaign, _) = judged().await;
    let first = submit(&campaign, 1, " okay\u{2013}e\u{301} 1\n").await;
    assert_eq!(first.field("message_key"), "entered");
    let (again, another) = (
        submit(&campaign, 1, "OKAYÉ1").await,
        submit(&campaign, 2, "Ｏkay-É-1").await,
    );
    assert_eq!(again.field("replayed"), true, "{}", again.text);
    assert_eq!(another.field("message_key"), "already_used");
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
        again.fields(["id", "replayed"]),
        json!([first.field("id"), true])
    );
    let other = submit(&campaign, 2, "OKAY-é_1").await;
    assert_eq!(
        (other.field("message_key"), partner.asked(&id_of(&other))),
        (json!("already_used"), 1)
    );
    let later = submit(&campaign, 3, "Down-x").await;
    assert_eq!(later.field("state"), "unknown");
    for _ in 0..10 {
        settler.settle_after(Duration::from_secs(1)).await;
    }
    assert_eq!(status(&campaign, &later).await[0], "accepted");
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
    let busy = sending.clone().send().await;
    assert_eq!(busy.error_code(), "idempotency_in_progress");
    assert_eq!(busy.header("retry-after"), Some("10"));
    campaign.service.clock.advance(Duration::from_secs(4));
    assert_eq!(
        sending.clone().send().await.header("retry-after"),
        Some("6")
    );
    campaign.service.clock.advance(Duration::from_secs(6));
    let stored = sending.clone().send().await;
    assert_eq!(
        (stored.field("state"), stored.header("idempotent-replayed")),
        (json!("pending"), Some("true"))
    );
    let answered = first.await.expect("it ends");
    assert_eq!(answered.field("id"), stored.field("id"));
    assert_eq!(answered.field("state"), "accepted");
}
