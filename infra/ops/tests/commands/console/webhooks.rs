//! Webhooks of a campaign.

use std::time::Duration;

use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::webhook::DeliveryStatus;
use service_tests::text::{fields, text_of};
use service_tests::webhooks::Answer;

use super::SignedIn;
use super::keys::mark_in;
use crate::submission::{submission, write};
use crate::support::{NOW, Stack};
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
    let add = format!("{}&{add}", mark_in(&console.page(PAGE).await));
    let page = console.post_for(200, PAGE, &add).await.text;
    let reloaded = console.post_for(422, PAGE, &add).await.text;
    assert_contains!(reloaded, "This form was sent before");
    let secret = secret_in(&page);
    let endpoint = form(&[("endpoint", id_in(&page))]);
    let test = format!("{PAGE}/test");
    let tested = console.post_for(200, &test, &endpoint).await.text;
    assert_contains!(
        tested,
        "127.0.0.1 took the test event. It gets changes from 2026-03-01 03:00:05 Africa/Dar_es_Salaam on."
    );
    assert!(is_signed_by(&receiver, &[secret]));
    let page = console.page(PAGE).await;
    let refused_mark = mark_in(&page);
    assert_contains!(page, "submission.accepted, prize.won");
    for hidden in [secret, "hush"] {
        assert_lacks!(page, hidden);
    }
    let untyped = form(&[("url", "https://10.0.0.1/hush")]);
    let page = console.post_for(422, PAGE, &untyped).await.text;
    assert_contains!(page, "at least one type of event");
    let refused = form(&[("url", "https://10.0.0.1/hush"), ("prize.won", "on")]);
    let refused = format!("{refused_mark}&{refused}");
    let page = console.post_for(422, PAGE, &refused).await.text;
    assert_contains!(page, "reachable from the internet");
    assert_lacks!(page, "hush");
}

fn secret_in(page: &str) -> &str {
    let start = page.find("whsec_").expect("a secret");
    page[start..].split('<').next().expect("its end")
}

fn id_in(page: &str) -> &str {
    let start = page.find("whe_").expect("an endpoint");
    &page[start..start + 16]
}

#[tokio::test]
async fn new_secret_is_shown_once_beside_the_old_one() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let added = added(&stack, &receiver).await;
    let endpoint = form(&[("endpoint", text_of(&added["endpoint"]))]);
    let console = SignedIn::to(&stack).await;
    let rotate = format!("{PAGE}/rotate");
    let page = console.post_for(200, &rotate, &endpoint).await.text;
    let new = secret_in(&page);
    console
        .post_for(200, &format!("{PAGE}/test"), &endpoint)
        .await;
    assert!(is_signed_by(&receiver, &[new, text_of(&added["secret"])]));
    assert_lacks!(console.page(PAGE).await, new);
    let page = console.post_for(422, &rotate, &endpoint).await.text;
    assert_contains!(page, "within the last 24 hours");
}

#[tokio::test]
async fn an_endpoint_is_removed_once_its_id_is_typed() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let added = added(&stack, &receiver).await;
    let id = text_of(&added["endpoint"]);
    let console = SignedIn::to(&stack).await;
    let remove = format!("{PAGE}/remove");
    let asked = console.page(&format!("{remove}?endpoint={id}")).await;
    assert_contains!(asked, "Remove the endpoint");
    let other = form(&[("endpoint", id), ("typed", "whe_")]);
    console.post_for(422, &remove, &other).await;
    let typed = form(&[("endpoint", id), ("typed", id)]);
    console.post_for(303, &remove, &typed).await;
    assert_contains!(console.page(PAGE).await, "No events are sent.");
    assert_eq!(stack.last_audit_row().await["action"], "webhook.remove");
}

#[tokio::test]
async fn submissions_of_a_period_are_sent_again() {
    let (stack, receiver) = (Stack::with_chai().await, receiver().await);
    let added = added(&stack, &receiver).await;
    let changed = Submission {
        revision: 2,
        updated_at: NOW.after(Duration::from_hours(1)),
        ..submission(SubmissionStatus::accepted(1, None), None)
    };
    write(&stack, &changed, None).await;
    stack.clock.advance(Duration::from_hours(3));
    let console = SignedIn::to(&stack).await;
    let replay = format!("{PAGE}/replay");
    let id = text_of(&added["endpoint"]);
    let period = |from, to| form(&[("endpoint", id), ("event", ""), ("from", from), ("to", to)]);
    let whole = format!(
        "{}&{}",
        mark_in(&console.page(PAGE).await),
        period("2026-03-01", "")
    );
    let sent = console.post_for(200, &replay, &whole).await.text;
    assert_contains!(sent, "Events that are sent again: 1.");
    let reloaded = console.post_for(422, &replay, &whole).await.text;
    assert_contains!(reloaded, "This form was sent before");
    let mark = mark_in(&sent);
    let early = format!("{mark}&{}", period("2026-03-01", "2026-03-01T03:30"));
    let sent = console.post_for(200, &replay, &early).await.text;
    assert_contains!(sent, "Events that are sent again: 0.");
    for (from, to) in [("", ""), ("soon", ""), ("2026-03-02", "2026-03-01")] {
        let mark = mark_in(&console.page(PAGE).await);
        let wrong = format!("{mark}&{}", period(from, to));
        console.post_for(422, &replay, &wrong).await;
    }
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
    assert_contains!(
        page,
        "did not take the test event: status 500; the receiver's log says why."
    );
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
    let replay = format!("{}&{replay}", mark_in(&console.page(PAGE).await));
    let page = console.post_for(200, &path, &replay).await.text;
    assert_contains!(page, "The event is sent again.");
    let unknown = form(&[("endpoint", id), ("event", "evt_")]);
    let unknown = format!("{}&{unknown}", mark_in(&page));
    console.post_for(422, &path, &unknown).await;
    let nowhere = form(&[("endpoint", "whe_"), ("event", &event)]);
    console.post_for(404, &path, &nowhere).await;
}
