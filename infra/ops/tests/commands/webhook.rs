//! `ops webhook`.

use std::time::Duration;

use common::aws::event_queue::EventQueue;
use common::domain::scope::{Environment, Scope};
use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::webhook::{
    Delivery, DeliveryFailure, DeliveryStatus, Endpoint, Event, EventType, SignatureKind,
};
use serde_json::{Value, json};
use service_tests::text::{fields, list_of, parse_json, text_of};
use service_tests::webhooks::{Answer, Receiver};

use crate::submission::{submission, waiting, write};
use crate::support::{NOW, Stack, first_output, live};

const SCOPE: &str = "--campaign chai-bora-2026 --environment live";

/// A receiver that takes everything.
pub(crate) async fn receiver() -> Receiver {
    Receiver::serve(Answer::Status(204)).await
}

/// True if each of these secrets signed the last event, in this order.
pub(crate) fn is_signed_by(receiver: &Receiver, secrets: &[&str]) -> bool {
    let parsed = secrets.iter().map(|secret| secret.parse());
    let secrets: Vec<_> = parsed.collect::<Result<_, _>>().expect("secrets");
    let last = receiver.received().pop().expect("an event");
    last.is_signed_by(SignatureKind::V1, &secrets)
}

/// Adds an endpoint, and returns it as printed.
pub(crate) async fn added(stack: &Stack, receiver: &Receiver) -> Value {
    let url = &receiver.url;
    stack
        .json(format!("webhook add {SCOPE} --url '{url}'"))
        .await
}

async fn listed(stack: &Stack) -> Value {
    let listed = stack.json(format!("webhook list {SCOPE}")).await;
    listed["endpoints"][0].clone()
}

async fn stored(stack: &Stack, added: &Value) -> Endpoint {
    let id = text_of(&added["endpoint"]);
    let found = ops_core::webhooks::find(&stack.tables(), &live(), id).await;
    found.expect("it is there")
}

/// Keeps an event that failed at an added endpoint; returns its id.
pub(crate) async fn failed(stack: &Stack, added: &Value, status: DeliveryStatus) -> String {
    let endpoint = stored(stack, added).await;
    let changed = Submission {
        revision: 3,
        ..submission(SubmissionStatus::accepted(1, None), None)
    };
    let event = Event::new(&changed, EventType::SubmissionAccepted);
    let delivery = Delivery {
        scope: live(),
        endpoint: endpoint.endpoint.clone(),
        event: event.id.clone(),
        r#type: event.r#type,
        timestamp: event.timestamp,
        submission_id: changed.submission_id,
        revision: changed.revision,
        body: event.body,
        attempts: 2,
        last_failure: Some(DeliveryFailure {
            status: Some(503),
            reason: "status".to_owned(),
            retry_after: None,
        }),
        next_at: (status == DeliveryStatus::Due).then_some(NOW.after(Duration::from_mins(5))),
        status,
        created_at: NOW,
    };
    let tables = stack.tables();
    let deliveries = &tables.webhook_deliveries;
    deliveries.keep(&delivery).await.expect("it is kept");
    let failing = tables.webhook_endpoints.record_failure(&endpoint, NOW);
    failing.await.expect("it is recorded");
    event.id.to_string()
}

async fn waiting_in_queue(stack: &Stack) -> usize {
    let queue = EventQueue::from_env(&stack.env, &stack.aws()).expect("all variables");
    queue.count_waiting().await.expect("it is counted")
}

#[tokio::test]
async fn endpoint_is_active_once_it_took_a_test_event() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let ended = stack
        .run(format!("webhook add {SCOPE} --url '{}'", receiver.url))
        .await
        .fine();
    let secret = ended.out.trim_end();
    assert!(
        secret.starts_with("whsec_") && secret.len() == 50,
        "{secret}"
    );
    assert_contains!(
        ended.err,
        "127.0.0.1 took the test event. It gets changes from 2026-03-01 03:00:05 Africa/Dar_es_Salaam on."
    );
    let [ping] = &receiver.received()[..] else {
        panic!("one event");
    };
    assert_eq!(ping.event_type(), "test.ping");
    assert_eq!(
        ping.json()["data"],
        json!({ "campaign": "chai-bora-2026", "livemode": true })
    );
    assert!(is_signed_by(&receiver, &[secret]));
    let shown = stack.json("campaign show chai-bora-2026").await;
    assert_eq!(shown["webhooks_failing"], json!([]));

    let endpoint = listed(&stack).await;
    assert_eq!(
        fields(&endpoint, "host status signature"),
        "127.0.0.1 active v1"
    );
    assert_eq!(list_of(&endpoint["types"]).len(), 7);
    let everything = format!("{endpoint}{}{:?}", shown, stack.audit_rows().await);
    for hidden in [secret, "hush", "/hooks"] {
        assert_lacks!(everything, hidden);
    }
    let row = stack.last_audit_row().await;
    assert_eq!(fields(&row, "action by"), "webhook.add asha");
    let details = parse_json(text_of(&row["details"]));
    assert_eq!(details["host"], "127.0.0.1");
}

#[tokio::test]
async fn endpoint_that_does_not_answer_stays_unproven_until_a_test() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    receiver.answer(Answer::Status(401));
    let ended = stack
        .run(format!("webhook add {SCOPE} --url '{}'", receiver.url))
        .await
        .fine();
    assert_contains!(
        ended.err,
        "did not take the test event: status 401; often the secret is wrong"
    );
    let endpoint = listed(&stack).await;
    assert_eq!(endpoint["status"], "unproven");
    let test = format!("webhook test {SCOPE} {}", text_of(&endpoint["endpoint"]));
    assert_contains!(ended.err, &format!("`ops {test}`"));
    let refused = stack.refused(&test, "endpoint_failed").await;
    assert_contains!(refused.message, "status 401");

    receiver.answer(Answer::Status(204));
    stack.fine(&test).await;
    assert_eq!(listed(&stack).await["status"], "active");
    assert_eq!(receiver.received().len(), 3);
}

#[tokio::test]
async fn url_that_no_brand_can_have_is_refused_without_its_path() {
    let stack = Stack::with_chai().await;
    let public = stack.env_with(&[("OUTBOUND_ADDRESSES", "public")]);
    for (url, why) in [
        ("http://example.com/hush", "https://"),
        ("http://127.0.0.1/hush", "https://"),
        ("https://10.0.0.1/hush", "reachable from the internet"),
        ("https://me:hush@example.com/", "user or password"),
        ("https://example.com:6379/hush", "port must be 443 or 8443"),
        ("hush", "such as `https://www.example.com/webhooks`"),
    ] {
        let add = format!("webhook add {SCOPE} --url '{url}' --json");
        let ended = crate::support::run(&add, public.clone(), &stack.clock).await;
        let refused = ended.refused("url_invalid");
        assert_contains!(refused.message, why);
        assert_lacks!(refused.message, "hush");
    }
    assert_eq!(stack.audit_actions().await, ["campaign.apply"]);
}

#[tokio::test]
async fn secret_is_shown_before_the_test_is_over() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    receiver.answer(Answer::Late(Duration::from_secs(3_600)));
    let add = format!("webhook add {SCOPE} --url '{}'", receiver.url);
    let shown = first_output(&add, stack.env.clone(), &stack.clock).await;
    assert!(shown.starts_with("whsec_"), "{shown}");
    let endpoint = listed(&stack).await;
    assert_eq!(endpoint["status"], "unproven");
    receiver.answer(Answer::Status(204));
    let test = format!("webhook test {SCOPE} {}", text_of(&endpoint["endpoint"]));
    stack.fine(test).await;
    assert!(is_signed_by(&receiver, &[&shown]));
}

#[tokio::test]
async fn slow_test_event_proves_no_endpoint() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    receiver.answer(Answer::Late(Duration::from_secs(4)));
    let added = added(&stack, &receiver).await;
    assert_eq!(added["ping"]["reason"], "slow");
    assert_eq!(listed(&stack).await["status"], "unproven");
    let test = format!("webhook test {SCOPE} {}", text_of(&added["endpoint"]));
    let refused = stack.refused(&test, "endpoint_failed").await;
    assert_contains!(
        refused.message,
        "it must answer within 3 seconds, and work afterwards"
    );
}

#[tokio::test]
async fn types_and_signature_are_chosen_with_the_endpoint() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let url = &receiver.url;
    let types = "--types submission.created,prize.won --signature v1a";
    let added = stack
        .json(format!("webhook add {SCOPE} --url '{url}' {types}"))
        .await;
    assert!(text_of(&added["secret"]).starts_with("whpk_"));
    assert_eq!(added["types"], json!(["submission.created", "prize.won"]));
    let unknown = format!("webhook add {SCOPE} --url '{url}' --types won");
    let said = stack.run(unknown).await.misused();
    assert_contains!(said, "`submission.accepted`");
}

#[tokio::test]
async fn a_sixth_endpoint_is_refused() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    for _ in 0..5 {
        added(&stack, &receiver).await;
    }
    let add = format!("webhook add {SCOPE} --url '{}'", receiver.url);
    let refused = stack.refused(add, "too_many_endpoints").await;
    assert_contains!(refused.message, "`ops webhook remove`");
    assert_eq!(receiver.received().len(), 5);
}

#[tokio::test]
async fn both_secrets_sign_for_a_day_after_a_rotation() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let first = added(&stack, &receiver).await;
    let id = text_of(&first["endpoint"]);
    let old = text_of(&first["secret"]);
    let ended = stack
        .run(format!("webhook rotate {SCOPE} {id}"))
        .await
        .fine();
    let new = ended.out.trim_end();
    assert_ne!(new, old);
    let test = format!("webhook test {SCOPE} {id}");
    stack.fine(&test).await;
    assert!(is_signed_by(&receiver, &[new, old]));
    let again = format!("webhook rotate {SCOPE} {id}");
    stack.refused(again, "rotated_already").await;
    stack.clock.advance(Duration::from_hours(24));
    stack.fine(&test).await;
    assert!(is_signed_by(&receiver, &[new]));

    let rotated = stack.json("secret rotate").await;
    assert_eq!(rotated["webhooks"], 1);
    stack.fine(&test).await;
    assert!(is_signed_by(&receiver, &[new]), "it is what it was");
}

#[tokio::test]
async fn stopped_endpoint_starts_with_a_test_event() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let id = added(&stack, &receiver).await;
    let id = text_of(&id["endpoint"]);
    stack.fine(format!("webhook stop {SCOPE} {id}")).await;
    assert_eq!(listed(&stack).await["status"], "stopped");
    let said = stack.fine(format!("webhook test {SCOPE} {id}")).await;
    assert_contains!(said, "It is stopped");
    assert_eq!(listed(&stack).await["status"], "stopped");

    receiver.answer(Answer::Status(500));
    let start = format!("webhook start {SCOPE} {id}");
    let refused = stack.refused(&start, "endpoint_failed").await;
    assert_contains!(refused.message, "status 500");
    receiver.answer(Answer::Status(200));
    stack.fine(&start).await;
    assert_eq!(listed(&stack).await["status"], "active");
    let actions = stack.audit_actions().await;
    assert_eq!(
        actions[1..],
        [
            "webhook.add",
            "webhook.stop",
            "webhook.test",
            "webhook.start",
            "webhook.start"
        ]
    );
}

#[tokio::test]
async fn removal_asks_for_the_id_and_deletes_what_waits() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let added = added(&stack, &receiver).await;
    let id = text_of(&added["endpoint"]);
    failed(&stack, &added, DeliveryStatus::Due).await;
    let tables = stack.tables();
    let endpoint = stored(&stack, &added).await.endpoint;
    let count = async || tables.webhook_deliveries.count_waiting(&endpoint).await;
    assert_eq!(count().await.expect("it is counted"), 1);
    let remove = format!("webhook remove {SCOPE} {id}");
    stack.answering(&remove, "yes\n").await.failed();
    stack.answering(&remove, &format!("{id}\n")).await.fine();
    assert_eq!(count().await.expect("it is counted"), 0);
    assert_eq!(listed(&stack).await, Value::Null);
    let shown = stack.refused(format!("webhook test {SCOPE} {id}"), "endpoint_unknown");
    assert_contains!(shown.await.message, "`ops webhook list`");
}

#[tokio::test]
async fn failing_endpoint_is_named_where_a_campaign_is_looked_at() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let added = added(&stack, &receiver).await;
    let event = failed(&stack, &added, DeliveryStatus::Due).await;
    let endpoint = listed(&stack).await;
    assert_eq!(endpoint["status"], "failing");
    assert_eq!(endpoint["waiting"], 1);
    assert_lacks!(stack.fine("campaign show chai-bora-2026").await, "webhook ");
    stack.clock.advance(Duration::from_mins(15));
    assert_contains!(
        stack.fine("campaign show chai-bora-2026").await,
        "The webhook at 127.0.0.1 fails since 2026-03-01 03:00:00 Africa/Dar_es_Salaam. Events that wait: 1; they follow \
         when it is back."
    );
    let deliveries = stack.json(format!("webhook deliveries {SCOPE}")).await;
    let [delivery] = &list_of(&deliveries["deliveries"])[..] else {
        panic!("one delivery: {deliveries}");
    };
    assert_eq!(text_of(&delivery["event"]), event);
    assert_eq!(
        fields(delivery, "type status failure"),
        "submission.accepted due status 503"
    );
    stack.clock.advance(Duration::from_hours(5 * 24));
    assert_eq!(listed(&stack).await["status"], "suspended");
}

#[tokio::test]
async fn kept_event_is_sent_again_on_a_new_schedule() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let added = added(&stack, &receiver).await;
    let event = failed(&stack, &added, DeliveryStatus::GivenUp).await;
    let said = stack
        .fine(format!("webhook replay {SCOPE} --event {event}"))
        .await;
    assert_contains!(said, "is sent again to 127.0.0.1");
    assert_eq!(waiting_in_queue(&stack).await, 1);
    let deliveries = stack
        .json(format!("webhook deliveries {SCOPE} --failed"))
        .await;
    assert_eq!(
        fields(&deliveries["deliveries"][0], "status attempts"),
        "due 0"
    );
    let other = "evt_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let refused = stack.refused(
        format!("webhook replay {SCOPE} --event {other}"),
        "event_unknown",
    );
    assert_contains!(refused.await.message, "--from TIME");
}

#[tokio::test]
async fn submissions_of_a_period_are_sent_as_they_are_now() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    added(&stack, &receiver).await;
    let status = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
    let changed = |minutes, revision| Submission {
        revision,
        updated_at: NOW.after(Duration::from_mins(minutes)),
        ..submission(status.clone(), None)
    };
    let at_once = changed(60, 1);
    let from_partner = Submission {
        upstream: Some(serde_json::from_value(json!({ "code": "OK" })).expect("a message")),
        created_at: at_once.updated_at,
        ..at_once
    };
    for one in [
        changed(60, 2),
        changed(120, 2),
        changed(60, 0),
        from_partner,
    ] {
        write(&stack, &one, None).await;
    }
    write(&stack, &submission(waiting(), None), None).await;
    stack.clock.advance(Duration::from_hours(3));
    let replay = format!("webhook replay {SCOPE} --from 2026-03-01T03:30 --to 2026-03-01T04:30");
    stack.answering(&replay, "n\n").await.failed();
    assert_eq!(waiting_in_queue(&stack).await, 0);
    let sent = stack.json(format!("{replay} --yes")).await;
    assert_eq!(sent["count"], 2, "accepted and prize won");
    assert_eq!(waiting_in_queue(&stack).await, 2);
    let sent = stack
        .json(format!("{replay} --yes --types prize.won"))
        .await;
    assert_eq!(sent["count"], 3, "also what replies told");
    let neither = stack.run(format!("webhook replay {SCOPE}")).await.misused();
    assert_contains!(neither, "<--event <EVENT-ID>|--from <TIME>>");
    let empty = format!("webhook replay {SCOPE} --from 2026-03-02 --yes");
    stack.refused(empty, "period_empty").await;
}

/// A tester's time moves a submission's times by a year.
#[tokio::test]
async fn period_of_test_submissions_is_in_real_time() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let scope = SCOPE.replace("live", "test");
    let add = format!("webhook add {scope} --url '{}'", receiver.url);
    stack.fine(add).await;
    let year = 365 * 24 * 3_600_000;
    for shift in [year, -year] {
        let before = submission(SubmissionStatus::accepted(1, None), None);
        let made = NOW.shifted(shift);
        let settled = Submission {
            scope: Scope {
                environment: Environment::Test,
                ..live()
            },
            upstream: Some(serde_json::from_value(json!({ "code": "OK" })).expect("a message")),
            revision: 1,
            created_at: made,
            updated_at: made.after(Duration::from_mins(30)),
            test_shift: Some(shift),
            ..before
        };
        write(&stack, &settled, None).await;
    }
    stack.clock.advance(Duration::from_hours(3));
    let sent = stack
        .json(format!("webhook replay {scope} --from 2026-03-01 --yes"))
        .await;
    assert_eq!(sent["count"], 2);
}
