//! Batches, and requests that SQS refuses.

use aws_sdk_sqs::error::ProvideErrorMetadata;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, SendMessageBatchRequestEntry};
use axum::http::Request;

use crate::common::{queues, send};

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder()
        .id(id)
        .message_body(body)
        .build()
        .unwrap()
}

fn deletion(id: &str, handle: &str) -> DeleteMessageBatchRequestEntry {
    DeleteMessageBatchRequestEntry::builder()
        .id(id)
        .receipt_handle(handle)
        .build()
        .unwrap()
}

#[tokio::test]
async fn each_entry_of_a_batch_is_done_or_refused_on_its_own() {
    let (sqs, client) = queues().await;
    let url = sqs.queue_url("work");
    let entries = vec![
        entry("good", "one"),
        entry("bad", "\u{1}"),
        entry("worse", "\u{FFFE}"),
        entry("fine", "two"),
    ];
    let sent = client
        .send_message_batch()
        .queue_url(&url)
        .set_entries(Some(entries))
        .send()
        .await
        .unwrap();
    let done: Vec<_> = sent.successful().iter().map(|entry| entry.id()).collect();
    assert_eq!(done, ["good", "fine"]);
    let failed: Vec<_> = sent
        .failed()
        .iter()
        .map(|entry| (entry.id(), entry.code()))
        .collect();
    assert_eq!(
        failed,
        [
            ("bad", "InvalidMessageContents"),
            ("worse", "InvalidMessageContents")
        ]
    );

    let received = client
        .receive_message()
        .queue_url(&url)
        .max_number_of_messages(10)
        .send()
        .await
        .unwrap();
    let handles: Vec<_> = received
        .messages()
        .iter()
        .map(|message| message.receipt_handle().unwrap())
        .collect();
    let entries = vec![
        deletion("1", handles[0]),
        deletion("2", "nonsense"),
        deletion("3", handles[1]),
    ];
    let deleted = client
        .delete_message_batch()
        .queue_url(&url)
        .set_entries(Some(entries))
        .send()
        .await;
    let deleted = deleted.unwrap();
    let done: Vec<_> = deleted
        .successful()
        .iter()
        .map(|entry| entry.id())
        .collect();
    assert_eq!(done, ["1", "3"]);
    assert_eq!(deleted.failed()[0].code(), "ReceiptHandleIsInvalid");
}

#[tokio::test]
async fn a_receiver_gets_as_many_as_it_asks_for() {
    let (sqs, client) = queues().await;
    let url = sqs.queue_url("work");
    let entries = ["1", "2", "3"].map(|id| entry(id, id)).to_vec();
    client
        .send_message_batch()
        .queue_url(&url)
        .set_entries(Some(entries))
        .send()
        .await
        .unwrap();
    let receive = || client.receive_message().queue_url(&url);
    assert_eq!(receive().send().await.unwrap().messages().len(), 1);
    assert_eq!(
        receive()
            .max_number_of_messages(10)
            .send()
            .await
            .unwrap()
            .messages()
            .len(),
        2
    );
}

#[tokio::test]
async fn a_batch_that_no_entry_of_can_be_done_is_refused() {
    let (sqs, client) = queues().await;
    let half = "x".repeat(600_000);
    let eleven = (0..11).map(|id| entry(&id.to_string(), "body")).collect();
    let batches = [
        (vec![], "AWS.SimpleQueueService.EmptyBatchRequest"),
        (
            eleven,
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
        ),
        (
            vec![entry("1", "a"), entry("1", "b")],
            "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
        ),
        (
            vec![entry("a b", "a")],
            "AWS.SimpleQueueService.InvalidBatchEntryId",
        ),
        (
            vec![entry("1", &half), entry("2", &half)],
            "AWS.SimpleQueueService.BatchRequestTooLong",
        ),
    ];
    for (entries, code) in batches {
        let batch = client
            .send_message_batch()
            .queue_url(sqs.queue_url("work"))
            .set_entries(Some(entries));
        assert_eq!(batch.send().await.unwrap_err().code(), Some(code));
    }
}

#[tokio::test]
async fn a_queue_that_does_not_exist_is_named_so() {
    let (sqs, client) = queues().await;
    let url = sqs.queue_url("other");
    let sent = client
        .send_message()
        .queue_url(&url)
        .message_body("one")
        .send()
        .await
        .unwrap_err();
    assert_eq!(sent.code(), Some("AWS.SimpleQueueService.NonExistentQueue"));
    assert!(
        sent.as_service_error().unwrap().is_queue_does_not_exist(),
        "{sent:?}"
    );
    let asked = client
        .get_queue_url()
        .queue_name("other")
        .send()
        .await
        .unwrap_err();
    assert!(
        asked.as_service_error().unwrap().is_queue_does_not_exist(),
        "{asked:?}"
    );
    let received = client
        .receive_message()
        .queue_url(&url)
        .wait_time_seconds(20)
        .send()
        .await
        .unwrap_err();
    assert!(
        received
            .as_service_error()
            .unwrap()
            .is_queue_does_not_exist(),
        "{received:?}"
    );
}

#[tokio::test]
async fn numbers_out_of_range_are_refused() {
    let (sqs, client) = queues().await;
    let url = sqs.queue_url("work");
    let message = || client.send_message().queue_url(&url).message_body("one");
    let receive = || client.receive_message().queue_url(&url);
    let codes = [
        message()
            .delay_seconds(901)
            .send()
            .await
            .unwrap_err()
            .code()
            .map(str::to_owned),
        message()
            .delay_seconds(-1)
            .send()
            .await
            .unwrap_err()
            .code()
            .map(str::to_owned),
        receive()
            .max_number_of_messages(11)
            .send()
            .await
            .unwrap_err()
            .code()
            .map(str::to_owned),
        receive()
            .max_number_of_messages(0)
            .send()
            .await
            .unwrap_err()
            .code()
            .map(str::to_owned),
        receive()
            .wait_time_seconds(21)
            .send()
            .await
            .unwrap_err()
            .code()
            .map(str::to_owned),
        receive()
            .visibility_timeout(43_201)
            .send()
            .await
            .unwrap_err()
            .code()
            .map(str::to_owned),
    ];
    for code in codes {
        assert_eq!(code.as_deref(), Some("InvalidParameterValue"));
    }
}

#[tokio::test]
async fn the_longest_message_is_taken_and_a_longer_one_is_refused() {
    let (sqs, client) = queues().await;
    let message = |bytes: usize| {
        // The longest possible request: every byte is escaped.
        client
            .send_message()
            .queue_url(sqs.queue_url("work"))
            .message_body("\"".repeat(bytes))
            .send()
    };
    message(1024 * 1024).await.unwrap();
    let longer = message(1024 * 1024 + 1).await.unwrap_err();
    assert_eq!(longer.code(), Some("InvalidParameterValue"));
}

#[tokio::test]
async fn what_is_not_there_is_refused_and_not_ignored() {
    let (sqs, client) = queues().await;
    let purge = client
        .purge_queue()
        .queue_url(sqs.queue_url("work"))
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        purge.code(),
        Some("AWS.SimpleQueueService.UnsupportedOperation")
    );
    let fifo = client
        .send_message()
        .queue_url(sqs.queue_url("work"))
        .message_body("one");
    let fifo = fifo.message_deduplication_id("1").send().await.unwrap_err();
    assert_eq!(fifo.code(), Some("InvalidParameterValue"));
    assert!(
        fifo.message().unwrap().contains("MessageDeduplicationId"),
        "{fifo:?}"
    );
}

#[tokio::test]
async fn a_request_that_is_no_json_is_refused() {
    let (sqs, _client) = queues().await;
    for body in ["", "{", "[]", "{\"QueueUrl\": 1}"] {
        let request = Request::post(sqs.endpoint()).header("x-amz-target", "AmazonSQS.SendMessage");
        let response = send(request.body(body).unwrap()).await;
        assert_eq!(response.status(), 400, "{body}");
        assert!(
            response.body().contains("InvalidParameterValue"),
            "{}",
            response.body()
        );
        assert_eq!(
            response.headers()["content-type"],
            "application/x-amz-json-1.0"
        );
    }
}
