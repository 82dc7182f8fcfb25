use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Value, json};

use super::Shared;
use super::queues::Message;
use crate::aws_json::{Refusal, operation, parse, reply, requests, unknown};
use crate::loopback::stopped;

/// Limit of a message, and of a whole batch: 1 MiB.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
const MAX_BATCH: usize = 10;
const MAX_RECEIVED: usize = 10;
const MAX_DELAY_SECONDS: u64 = 900;
const MAX_WAIT_SECONDS: u64 = 20;
const MAX_VISIBILITY_SECONDS: u64 = 12 * 60 * 60;

requests! {
    SendMessage {
        queue_url: String,
        message_body: String,
        message_group_id: Option<String>,
        delay_seconds: Option<u64>,
    }
    SendMessageBatch {
        queue_url: String,
        entries: Vec<Entry>,
    }
    Entry {
        id: String,
        message_body: String,
        message_group_id: Option<String>,
        delay_seconds: Option<u64>,
    }
    ReceiveMessage {
        queue_url: String,
        max_number_of_messages: Option<usize>,
        wait_time_seconds: Option<u64>,
    }
    DeleteMessage {
        queue_url: String,
        receipt_handle: String,
    }
    ChangeMessageVisibility {
        queue_url: String,
        receipt_handle: String,
        visibility_timeout: u64,
    }
    GetQueueAttributes {
        queue_url: String,
        attribute_names: Vec<String>,
    }
}

pub(super) async fn serve(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    reply(act(&shared, operation(&headers), &body).await)
}

async fn act(shared: &Shared, operation: &str, body: &[u8]) -> Result<Value, Refusal> {
    match operation {
        "SendMessage" => {
            let request: SendMessage = parse(body)?;
            send(
                shared,
                &request.queue_url,
                request.message_body,
                request.message_group_id,
                request.delay_seconds,
            )
        }
        "SendMessageBatch" => send_batch(shared, parse(body)?),
        "ReceiveMessage" => receive(shared, parse(body)?).await,
        "DeleteMessage" => {
            let request: DeleteMessage = parse(body)?;
            shared.with(|queues, _| queues.delete(&request.queue_url, &request.receipt_handle))?;
            Ok(json!({}))
        }
        "ChangeMessageVisibility" => change_visibility(shared, &parse(body)?),
        "GetQueueAttributes" => {
            let request: GetQueueAttributes = parse(body)?;
            let counts = shared.with(|queues, now| queues.counts(&request.queue_url, now))?;
            let mut attributes = BTreeMap::from([
                ("ApproximateNumberOfMessages", counts.visible),
                ("ApproximateNumberOfMessagesDelayed", counts.delayed),
                ("ApproximateNumberOfMessagesNotVisible", counts.in_flight),
            ]);
            let asked = request.attribute_names;
            attributes.retain(|name, _| asked.iter().any(|asked| asked == name));
            let texts = attributes.into_iter();
            let texts: BTreeMap<_, _> = texts
                .map(|(name, count)| (name, count.to_string()))
                .collect();
            Ok(json!({ "Attributes": texts }))
        }
        other => Err(unknown(other)),
    }
}

fn send(
    shared: &Shared,
    url: &str,
    body: String,
    group: Option<String>,
    delay_seconds: Option<u64>,
) -> Result<Value, Refusal> {
    within(
        "the length of MessageBody",
        body.len(),
        1..=MAX_MESSAGE_BYTES,
    )?;
    let delay = delay_seconds.unwrap_or(0);
    let delay = Duration::from_secs(within("DelaySeconds", delay, 0..=MAX_DELAY_SECONDS)?);
    let id = shared.with_news(|queues, now| queues.send(url, body, group, now + delay))?;
    Ok(json!({ "MessageId": id }))
}

fn send_batch(shared: &Shared, request: SendMessageBatch) -> Result<Value, Refusal> {
    let url = &request.queue_url;
    let bytes = request.entries.iter().map(|entry| entry.message_body.len());
    within(
        "the length of all bodies",
        bytes.sum(),
        0..=MAX_MESSAGE_BYTES,
    )?;
    within(
        "the number of entries",
        request.entries.len(),
        1..=MAX_BATCH,
    )?;
    shared.with(|queues, _| queues.queue(url).map(drop))?;
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in request.entries {
        let (body, group) = (entry.message_body, entry.message_group_id);
        match send(shared, url, body, group, entry.delay_seconds) {
            Ok(sent) => {
                successful.push(json!({ "Id": entry.id, "MessageId": sent.get("MessageId") }))
            }
            Err(Refusal { kind, message }) => failed.push(json!({
                "Id": entry.id,
                "SenderFault": true,
                "Code": kind,
                "Message": message,
            })),
        }
    }
    Ok(json!({ "Successful": successful, "Failed": failed }))
}

async fn receive(shared: &Shared, request: ReceiveMessage) -> Result<Value, Refusal> {
    let limit = request.max_number_of_messages.unwrap_or(1);
    let limit = within("MaxNumberOfMessages", limit, 1..=MAX_RECEIVED)?;
    let wait = request.wait_time_seconds.unwrap_or(0);
    let wait = Duration::from_secs(within("WaitTimeSeconds", wait, 0..=MAX_WAIT_SECONDS)?);
    let until = shared.with(|_, now| now + wait);
    // Subscribe before looking, so that no change in between is missed.
    let mut changed = shared.changed.subscribe();
    loop {
        let (messages, next, now) = shared.with(|queues, now| {
            let messages = queues.receive(&request.queue_url, limit, now)?;
            Ok::<_, Refusal>((messages, queues.next_visible(now), now))
        })?;
        if !messages.is_empty() {
            // Receivers of the dead letters must learn when these become visible again.
            shared.changed.send_replace(());
        }
        if !messages.is_empty() || now >= until {
            return Ok(received(&messages));
        }
        let wake = next.map_or(until, |next| next.min(until));
        tokio::select! {
            // Never fails: the sender is part of `shared`.
            _ = changed.changed() => {}
            () = tokio::time::sleep(wake.saturating_duration_since(now)) => {}
            () = stopped(shared.stopping.clone()) => return Ok(received(&[])),
        }
    }
}

fn received(messages: &[Message]) -> Value {
    let messages = messages.iter().map(|message| {
        json!({
            "MessageId": message.id,
            "ReceiptHandle": message.receipt,
            "Body": message.body,
        })
    });
    json!({ "Messages": messages.collect::<Vec<_>>() })
}

fn change_visibility(shared: &Shared, request: &ChangeMessageVisibility) -> Result<Value, Refusal> {
    let seconds = request.visibility_timeout;
    let seconds = within("VisibilityTimeout", seconds, 0..=MAX_VISIBILITY_SECONDS)?;
    shared.with_news(|queues, now| {
        let visible_at = now + Duration::from_secs(seconds);
        queues.change_visibility(&request.queue_url, &request.receipt_handle, visible_at, now)
    })?;
    Ok(json!({}))
}

fn within<N: PartialOrd + Display>(
    parameter: &str,
    value: N,
    range: RangeInclusive<N>,
) -> Result<N, Refusal> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (start, end) = range.into_inner();
    let message = format!("Value {value} for {parameter} is invalid: it must be {start} to {end}.");
    Err(Refusal::new("InvalidParameterValue", message))
}
