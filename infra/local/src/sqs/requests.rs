//! Request bodies. An unsupported field is refused instead of ignored: this SQS has no message attributes and no FIFO
//! queues.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::sqs::refusal::{Kind, Refusal};

/// Limit of a message, and of all messages in a batch together: 1 MiB.
pub(super) const MAX_MESSAGE_BYTES: usize = 1024 * 1024;
/// Maximum delay of a message.
const MAX_DELAY_SECONDS: u64 = 900;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct GetQueueUrl {
    pub(super) queue_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct SendMessage {
    pub(super) queue_url: String,
    pub(super) message_body: String,
    pub(super) delay_seconds: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct ReceiveMessage {
    pub(super) queue_url: String,
    pub(super) max_number_of_messages: Option<i64>,
    pub(super) wait_time_seconds: Option<i64>,
    pub(super) visibility_timeout: Option<i64>,
    #[serde(default)]
    pub(super) message_system_attribute_names: Vec<String>,
    /// The older name of `message_system_attribute_names`.
    #[serde(default)]
    pub(super) attribute_names: Vec<String>,
    /// Accepted, but there are none to return.
    #[serde(default, rename = "MessageAttributeNames")]
    pub(super) _message_attribute_names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct DeleteMessage {
    pub(super) queue_url: String,
    pub(super) receipt_handle: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct ChangeMessageVisibility {
    pub(super) queue_url: String,
    pub(super) receipt_handle: String,
    pub(super) visibility_timeout: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct GetQueueAttributes {
    pub(super) queue_url: String,
    #[serde(default)]
    pub(super) attribute_names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct Batch<E> {
    pub(super) queue_url: String,
    pub(super) entries: Vec<E>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct SendEntry {
    pub(super) id: String,
    pub(super) message_body: String,
    pub(super) delay_seconds: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct DeleteEntry {
    pub(super) id: String,
    pub(super) receipt_handle: String,
}

pub(super) fn parse<R: DeserializeOwned>(body: &[u8]) -> Result<R, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        Refusal::new(
            Kind::InvalidParameterValue,
            format!("The request is not understood: {error}"),
        )
    })
}

/// The name at the end of a queue's URL. The host is ignored, since callers use several names for it.
pub(super) fn queue(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

/// A number of seconds within limits.
pub(super) fn seconds(parameter: &str, value: i64, most: u64) -> Result<Duration, Refusal> {
    match u64::try_from(value) {
        Ok(seconds) if seconds <= most => Ok(Duration::from_secs(seconds)),
        Ok(_) | Err(_) => Err(out_of_range(parameter, value, 0, most)),
    }
}

/// The delay of a message; zero if unset.
pub(super) fn delay(seconds_asked: Option<i64>) -> Result<Duration, Refusal> {
    seconds(
        "DelaySeconds",
        seconds_asked.unwrap_or(0),
        MAX_DELAY_SECONDS,
    )
}

pub(super) fn out_of_range(parameter: &str, value: i64, least: u64, most: u64) -> Refusal {
    let message = format!(
        "Value {value} for parameter {parameter} is invalid. Reason: Must be between {least} and {most}."
    );
    Refusal::new(Kind::InvalidParameterValue, message)
}

/// Checks a message body like SQS: not empty, not too long, and only characters that XML allows.
pub(super) fn message_body(body: String) -> Result<String, Refusal> {
    if body.is_empty() {
        return Err(Refusal::new(
            Kind::InvalidParameterValue,
            "The parameter MessageBody is empty.",
        ));
    }
    if body.len() > MAX_MESSAGE_BYTES {
        let message = format!("Message must be at most {MAX_MESSAGE_BYTES} bytes.");
        return Err(Refusal::new(Kind::InvalidParameterValue, message));
    }
    let taken = |c: char| match c {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        c => c >= ' ',
    };
    if !body.chars().all(taken) {
        let message = "The message contains characters outside the allowed set.";
        return Err(Refusal::new(Kind::InvalidMessageContents, message));
    }
    Ok(body)
}

/// Checks that a receipt handle has the form that this SQS issues.
pub(super) fn receipt(handle: &str) -> Result<&str, Refusal> {
    let ours = handle.split_once('#').is_some_and(|(id, number)| {
        id.parse::<uuid::Uuid>().is_ok() && number.parse::<u64>().is_ok()
    });
    match ours {
        true => Ok(handle),
        false => Err(Refusal::new(
            Kind::ReceiptHandleIsInvalid,
            "The input receipt handle is invalid.",
        )),
    }
}
