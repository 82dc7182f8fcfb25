//! Wake-ups of long polls. The paused clock moves only while a test waits.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Shared, Sqs, SqsOptions, actions};

/// Messages of `work` move to the dead letters 15 seconds after their first receive.
async fn queues() -> Sqs {
    let sqs = Sqs::serve(SqsOptions {
        queues: &["work"],
        visibility: Duration::from_secs(15),
        max_receives: 1,
    });
    sqs.await.unwrap()
}

async fn ask(shared: Arc<Shared>, action: &str, request: Value) -> Value {
    let target = format!("AmazonSQS.{action}").parse().unwrap();
    let headers = HeaderMap::from_iter([("x-amz-target".parse().unwrap(), target)]);
    let response = actions::serve(State(shared), headers, Bytes::from(request.to_string())).await;
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

const DEAD: &str = "work-dead-letters";

async fn send(sqs: &Sqs, delay_seconds: u64) {
    let request =
        json!({ "QueueUrl": "work", "MessageBody": "one", "DelaySeconds": delay_seconds });
    ask(Arc::clone(&sqs.clock.0), "SendMessage", request).await;
}

/// Receives for up to 20 seconds; returns handle and time.
fn receive(sqs: &Sqs, queue: &'static str) -> JoinHandle<(Option<String>, Duration)> {
    let shared = Arc::clone(&sqs.clock.0);
    tokio::spawn(async move {
        let start = Instant::now();
        let reply = ask(
            shared,
            "ReceiveMessage",
            json!({ "QueueUrl": queue, "WaitTimeSeconds": 20 }),
        )
        .await;
        let handle = reply["Messages"][0]["ReceiptHandle"]
            .as_str()
            .map(str::to_owned);
        (handle, start.elapsed())
    })
}

/// Waits for this many receivers.
async fn waiting(sqs: &Sqs, receivers: usize) {
    while sqs.clock.0.changed.receiver_count() < receivers {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn sent_message_wakes_one_of_two_receivers() {
    let sqs = queues().await;
    let receivers = (receive(&sqs, "work"), receive(&sqs, "work"));
    waiting(&sqs, 2).await;
    send(&sqs, 0).await;
    let (first, second) = (receivers.0.await.unwrap(), receivers.1.await.unwrap());
    let (got, missed) = if first.0.is_some() {
        (first, second)
    } else {
        (second, first)
    };
    assert!(got.0.is_some());
    assert_eq!(got.1, Duration::ZERO);
    assert_eq!(missed.0, None);
    assert_eq!(missed.1.as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn delayed_message_comes_amid_a_wait() {
    let sqs = queues().await;
    send(&sqs, 5).await;
    let (handle, after) = receive(&sqs, "work").await.unwrap();
    assert!(handle.is_some());
    assert_eq!(after.as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn message_that_was_given_up_comes_amid_a_wait() {
    let sqs = queues().await;
    send(&sqs, 0).await;
    let handle = receive(&sqs, "work").await.unwrap().0.unwrap();
    let receiver = receive(&sqs, DEAD);
    waiting(&sqs, 1).await;
    let request = json!({ "QueueUrl": "work", "ReceiptHandle": handle, "VisibilityTimeout": 0 });
    assert_eq!(
        ask(Arc::clone(&sqs.clock.0), "ChangeMessageVisibility", request).await,
        json!({})
    );
    let (handle, after) = receiver.await.unwrap();
    assert!(
        handle.is_some(),
        "it was received as often as it may be, so it is dead"
    );
    assert_eq!(after, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn message_that_dies_amid_a_wait_reaches_the_dead_letters() {
    let sqs = queues().await;
    send(&sqs, 0).await;
    assert!(receive(&sqs, "work").await.unwrap().0.is_some());
    tokio::time::advance(Duration::from_secs(10)).await;
    let (handle, after) = receive(&sqs, DEAD).await.unwrap();
    assert!(handle.is_some());
    assert_eq!(after.as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn wait_ends_when_the_clock_is_moved_to_its_end() {
    let sqs = queues().await;
    let receiver = receive(&sqs, "work");
    waiting(&sqs, 1).await;
    sqs.clock.advance(Duration::from_secs(20));
    assert_eq!(receiver.await.unwrap(), (None, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn wait_ends_when_the_queues_stop() {
    let sqs = queues().await;
    let receiver = receive(&sqs, "work");
    waiting(&sqs, 1).await;
    sqs.server.stop().await;
    assert_eq!(receiver.await.unwrap(), (None, Duration::ZERO));
}
