//! The SQS actions that the service uses, over HTTP.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Response};
use serde_json::{Value, json};

use crate::loopback::stopped;
use crate::sqs::queues::{Changed, MAX_VISIBILITY, Message, NoSuchQueue, Receive};
use crate::sqs::refusal::{Kind, Refusal};
use crate::sqs::requests::{
    ChangeMessageVisibility, DeleteMessage, GetQueueAttributes, GetQueueUrl, ReceiveMessage,
    SendMessage, delay, message_body, out_of_range, parse, queue, receipt, seconds,
};
use crate::sqs::{Shared, attributes, batches};

const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
/// Maximum long poll.
const MAX_WAIT_SECONDS: u64 = 20;
/// Maximum messages of one receive.
const MAX_RECEIVED: u64 = 10;

pub(super) async fn serve(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok())
        .unwrap_or_default();
    let mut response = match act(&shared, target, &body).await {
        Ok(Value::Null) => Response::new(Body::empty()),
        Ok(reply) => Response::new(Body::from(reply.to_string())),
        Err(refusal) => refusal.into_http(),
    };
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

async fn act(shared: &Shared, target: &str, body: &[u8]) -> Result<Value, Refusal> {
    match target {
        "AmazonSQS.GetQueueUrl" => get_queue_url(shared, parse(body)?),
        "AmazonSQS.GetQueueAttributes" => get_queue_attributes(shared, parse(body)?),
        "AmazonSQS.SendMessage" => {
            let SendMessage {
                queue_url,
                message_body,
                delay_seconds,
            } = parse(body)?;
            send(shared, queue(&queue_url), message_body, delay_seconds)
        }
        "AmazonSQS.SendMessageBatch" => batches::send_all(shared, parse(body)?),
        "AmazonSQS.ReceiveMessage" => receive(shared, parse(body)?).await,
        "AmazonSQS.DeleteMessage" => {
            let DeleteMessage {
                queue_url,
                receipt_handle,
            } = parse(body)?;
            // SQS answers a delete with an empty body.
            delete(shared, queue(&queue_url), &receipt_handle).map(|_| Value::Null)
        }
        "AmazonSQS.DeleteMessageBatch" => batches::delete_all(shared, parse(body)?),
        "AmazonSQS.ChangeMessageVisibility" => change_visibility(shared, parse(body)?),
        other => Err(Refusal::new(
            Kind::UnsupportedOperation,
            format!("The local SQS does not know {other:?}."),
        )),
    }
}

fn get_queue_url(shared: &Shared, request: GetQueueUrl) -> Result<Value, Refusal> {
    match shared.with(|queues, _| queues.contains(&request.queue_name)) {
        true => Ok(json!({ "QueueUrl": shared.queue_url(&request.queue_name) })),
        false => Err(NoSuchQueue.into()),
    }
}

fn get_queue_attributes(shared: &Shared, request: GetQueueAttributes) -> Result<Value, Refusal> {
    let name = queue(&request.queue_url);
    let (counts, visibility) = shared.with(|queues, now| {
        Ok::<_, NoSuchQueue>((queues.counts(name, now)?, queues.visibility(name)?))
    })?;
    Ok(json!({ "Attributes": attributes::of_queue(&request.attribute_names, counts, visibility)? }))
}

/// Sends one message, alone or from a batch.
pub(super) fn send(
    shared: &Shared,
    name: &str,
    body: String,
    delay_seconds: Option<i64>,
) -> Result<Value, Refusal> {
    let (body, delay) = (message_body(body)?, delay(delay_seconds)?);
    let sent = (shared.now)();
    let message = shared.with_news(|queues, now| queues.send(name, body, sent, now + delay))?;
    Ok(json!({ "MessageId": message.id.to_string(), "MD5OfMessageBody": message.md5 }))
}

/// Waits until there are messages, the long poll ends, or the stack stops.
async fn receive(shared: &Shared, request: ReceiveMessage) -> Result<Value, Refusal> {
    let name = queue(&request.queue_url);
    let how = Receive {
        most: most_received(request.max_number_of_messages)?,
        visibility: request
            .visibility_timeout
            .map(|asked| seconds("VisibilityTimeout", asked, MAX_VISIBILITY.as_secs()))
            .transpose()?,
    };
    let wait = seconds(
        "WaitTimeSeconds",
        request.wait_time_seconds.unwrap_or(0),
        MAX_WAIT_SECONDS,
    )?;
    let until = shared.with(|_, now| now + wait);
    // Subscribe before looking at the queue, so that no change in between is missed.
    let mut changed = shared.changed.subscribe();
    loop {
        let received = (shared.now)();
        let (messages, next, now) = shared.with(|queues, now| {
            let messages = queues.receive(name, how, received, now)?;
            Ok::<_, NoSuchQueue>((messages, queues.next_visible(now), now))
        })?;
        let wake = next.map_or(until, |next| next.min(until));
        if !messages.is_empty() {
            // Receivers of the dead-letter queue must learn when these messages become visible again.
            shared.changed.send_replace(());
        }
        if !messages.is_empty() || now >= until {
            let asked = [
                request.message_system_attribute_names,
                request.attribute_names,
            ]
            .concat();
            return Ok(received_reply(&messages, &asked));
        }
        tokio::select! {
            // Never fails: the sender is part of `shared`.
            _ = changed.changed() => {}
            () = tokio::time::sleep(wake.saturating_duration_since(now)) => {}
            () = stopped(shared.stopping.clone()) => return Ok(received_reply(&[], &[])),
        }
    }
}

fn most_received(asked: Option<i64>) -> Result<usize, Refusal> {
    let asked = asked.unwrap_or(1);
    let refuse = || out_of_range("MaxNumberOfMessages", asked, 1, MAX_RECEIVED);
    let most = u64::try_from(asked)
        .ok()
        .filter(|most| (1..=MAX_RECEIVED).contains(most));
    most.and_then(|most| usize::try_from(most).ok())
        .ok_or_else(refuse)
}

fn received_reply(messages: &[Message], asked: &[String]) -> Value {
    let messages: Vec<Value> = messages
        .iter()
        .map(|message| {
            json!({
                "MessageId": message.id.to_string(),
                "ReceiptHandle": message.receipt,
                "MD5OfBody": message.md5,
                "Body": message.body,
                "Attributes": attributes::of_message(asked, message),
            })
        })
        .collect();
    json!({ "Messages": messages })
}

/// Deletes one message, alone or from a batch.
pub(super) fn delete(shared: &Shared, name: &str, handle: &str) -> Result<Value, Refusal> {
    shared.with(|queues, _| queues.contains(name).then_some(()).ok_or(NoSuchQueue))?;
    let handle = receipt(handle)?;
    shared.with(|queues, _| queues.delete(name, handle))?;
    Ok(json!({}))
}

fn change_visibility(shared: &Shared, request: ChangeMessageVisibility) -> Result<Value, Refusal> {
    let name = queue(&request.queue_url);
    let timeout = seconds(
        "VisibilityTimeout",
        request.visibility_timeout,
        MAX_VISIBILITY.as_secs(),
    )?;
    let handle = receipt(&request.receipt_handle)?;
    match shared
        .with_news(|queues, now| queues.change_visibility(name, handle, now + timeout, now))?
    {
        Changed::Done => Ok(Value::Null),
        Changed::NotInFlight => Err(Refusal::new(
            Kind::MessageNotInflight,
            "The specified message is not in flight or has been received again since.",
        )),
    }
}
