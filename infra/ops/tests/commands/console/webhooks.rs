//! Webhooks of a campaign.

use std::time::Duration;

use common::domain::webhook::DeliveryStatus;
use service_tests::text::{fields, text_of};
use service_tests::webhooks::Answer;

use super::SignedIn;
use crate::support::Stack;
use crate::webhook::{added, failed, is_signed_by, receiver};

const PAGE: &str = "/campaigns/chai-bora-2026/live/webhooks";

fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

#[tokio::test]
async fn an_added_endpoint_shows_its_secret_once() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let console = SignedIn::to(&stack).await;
    assert_contains!(console.page(PAGE).await, "No events are sent.");
    let add = form(&[
        ("url", &receiver.url),
        ("submission.accepted", "on"),
        ("prize.won", "on"),
    ]);
    let page = console.post_for(200, PAGE, &add).await.text;
    assert_contains!(
        page,
        "127.0.0.1 took the test event. It gets events; functions follow within 5 seconds."
    );
    let (_, secret) = page.split_once("whsec_").expect("a secret");
    let (secret, _) = secret.split_once('<').expect("its end");
    assert!(is_signed_by(&receiver, &[&format!("whsec_{secret}")]));
    let page = console.page(PAGE).await;
    assert_contains!(page, "submission.accepted, prize.won");
    for hidden in [secret, "hush"] {
        assert_lacks!(page, hidden);
    }
    let untyped = form(&[("url", "https://10.0.0.1/hush")]);
    let page = console.post_for(422, PAGE, &untyped).await.text;
    assert_contains!(page, "at least one type of event");
    let refused = form(&[("url", "https://10.0.0.1/hush"), ("prize.won", "on")]);
    let page = console.post_for(422, PAGE, &refused).await.text;
    assert_contains!(page, "reachable from the internet");
    assert_lacks!(page, "hush");
}

#[tokio::test]
async fn an_endpoint_is_tested_stopped_and_started() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let endpoint = added(&stack, &receiver).await;
    let endpoint = form(&[("endpoint", text_of(&endpoint["endpoint"]))]);
    let console = SignedIn::to(&stack).await;
    receiver.answer(Answer::Status(500));
    let test = format!("{PAGE}/test");
    let page = console.post_for(200, &test, &endpoint).await.text;
    assert_contains!(page, "did not take the test event: status 500.");
    console
        .post_for(303, &format!("{PAGE}/stop"), &endpoint)
        .await;
    assert_contains!(console.page(PAGE).await, "stopped");
    let start = format!("{PAGE}/start");
    let page = console.post_for(422, &start, &endpoint).await.text;
    assert_contains!(page, "so it is not started: status 500");
    receiver.answer(Answer::Status(204));
    console.post_for(303, &start, &endpoint).await;
    assert_lacks!(console.page(PAGE).await, "stopped");
    let row = stack.last_audit_row().await;
    assert_eq!(
        fields(&row, "action details"),
        r#"webhook.start {"host":"127.0.0.1"}"#
    );
}

#[tokio::test]
async fn a_failing_endpoint_is_a_banner_and_its_event_is_sent_again() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let endpoint = added(&stack, &receiver).await;
    let event = failed(&stack, &endpoint, DeliveryStatus::GivenUp).await;
    stack.clock.advance(Duration::from_mins(15));
    let console = SignedIn::to(&stack).await;
    for page in [PAGE, "/campaigns/chai-bora-2026/live"] {
        assert_contains!(
            console.page(page).await,
            "The webhook at 127.0.0.1 fails since"
        );
    }
    let id = text_of(&endpoint["endpoint"]);
    let replay = form(&[("endpoint", id), ("event", &event)]);
    let path = format!("{PAGE}/replay");
    let page = console.post_for(200, &path, &replay).await.text;
    assert_contains!(page, "The event is sent again.");
    let unknown = form(&[("endpoint", id), ("event", "evt_")]);
    console.post_for(422, &path, &unknown).await;
    let nowhere = form(&[("endpoint", "whe_"), ("event", &event)]);
    console.post_for(404, &path, &nowhere).await;
}
