//! Batches, and requests that SQS refuses.

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use axum::http::Request;

use crate::common::{queues, send};

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder().id(id);
    entry.message_body(body).build().unwrap()
}

#[tokio::test]
async fn each_entry_of_a_batch_is_sent_or_refused_on_its_own() {
    let (sqs, client) = queues().await;
    let url = sqs.queue_url("work");
    let batch = client.send_message_batch().queue_url(&url);
    let batch = batch
        .entries(entry("good", "one"))
        .entries(entry("bad", ""))
        .entries(entry("fine", "two"));
    let sent = batch.send().await.unwrap();
    let done: Vec<_> = sent.successful().iter().map(|entry| entry.id()).collect();
    assert_eq!(done, ["good", "fine"]);
    let failed = sent.failed().iter().map(|entry| (entry.id(), entry.code()));
    assert_eq!(
        failed.collect::<Vec<_>>(),
        [("bad", "InvalidParameterValue")]
    );

    // A receiver gets as many as it asks for.
    let receive = || client.receive_message().queue_url(&url);
    let first = receive().send().await.unwrap();
    let rest = receive().max_number_of_messages(10).send().await.unwrap();
    let bodies = [first.messages(), rest.messages()].map(|messages| {
        let bodies = messages.iter().map(|message| message.body().unwrap());
        bodies.collect::<Vec<_>>()
    });
    assert_eq!(bodies, [["one"], ["two"]]);
}

#[tokio::test]
async fn what_sqs_does_not_take_is_refused() {
    let (sqs, client) = queues().await;
    let (work, other) = (sqs.queue_url("work"), sqs.queue_url("other"));
    let message = || client.send_message().queue_url(&work).message_body("one");
    let receive = || client.receive_message().queue_url(&work);
    let half = "x".repeat(600_000);
    let eleven = (0..11).map(|id| entry(&id.to_string(), "body")).collect();
    let batch = |entries| {
        let batch = client.send_message_batch().queue_url(&work);
        batch.set_entries(Some(entries)).send()
    };
    macro_rules! refused {
        ($call:expr) => {
            $call.await.unwrap_err().code().unwrap().to_owned()
        };
    }
    let invalid = "InvalidParameterValue";
    for (what, code, expected) in [
        ("empty batch", refused!(batch(vec![])), invalid),
        ("eleven entries", refused!(batch(eleven)), invalid),
        (
            "batch over 1 MiB",
            refused!(batch(vec![entry("1", &half), entry("2", &half)])),
            invalid,
        ),
        (
            "delay",
            refused!(message().delay_seconds(901).send()),
            invalid,
        ),
        (
            "negative delay",
            refused!(message().delay_seconds(-1).send()),
            invalid,
        ),
        (
            "eleven messages",
            refused!(receive().max_number_of_messages(11).send()),
            invalid,
        ),
        (
            "no message",
            refused!(receive().max_number_of_messages(0).send()),
            invalid,
        ),
        (
            "wait",
            refused!(receive().wait_time_seconds(21).send()),
            invalid,
        ),
        (
            "field of FIFO queues",
            refused!(message().message_deduplication_id("1").send()),
            invalid,
        ),
        (
            "operation",
            refused!(client.purge_queue().queue_url(&work).send()),
            "UnsupportedOperation",
        ),
        (
            "queue to send to",
            refused!(message().queue_url(&other).send()),
            "QueueDoesNotExist",
        ),
        (
            "queue to receive from",
            refused!(receive().queue_url(&other).wait_time_seconds(20).send()),
            "QueueDoesNotExist",
        ),
    ] {
        assert_eq!(code, expected, "{what}");
    }
}

#[tokio::test]
async fn longest_message_is_taken_and_a_longer_one_refused() {
    let (sqs, client) = queues().await;
    let message = |bytes: usize| {
        // The longest request: every byte is escaped.
        let message = client.send_message().queue_url(sqs.queue_url("work"));
        message.message_body("\"".repeat(bytes)).send()
    };
    message(1024 * 1024).await.unwrap();
    let longer = message(1024 * 1024 + 1).await.unwrap_err();
    assert_eq!(longer.code(), Some("InvalidParameterValue"));
}

#[tokio::test]
async fn request_that_is_no_json_is_refused() {
    let (sqs, _client) = queues().await;
    for body in ["", "{", "[]", "{\"QueueUrl\": 1}"] {
        let request = Request::post(&sqs.server.url);
        let request = request.header("x-amz-target", "AmazonSQS.SendMessage");
        let reply = send(request.body(body).unwrap()).await;
        assert_eq!(reply.status(), 400, "{body}");
        let says = reply.body();
        assert!(says.contains("InvalidParameterValue"), "{body}: {says}");
    }
}
