//! Attributes of queues and messages: text by name, and only those that were requested.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::sqs::queues::{Counts, Message};
use crate::sqs::refusal::{Kind, Refusal};

pub(super) type Attributes = BTreeMap<&'static str, String>;

/// Requests all attributes.
const ALL: &str = "All";

pub(super) fn of_queue(
    asked: &[String],
    counts: Counts,
    visibility: Duration,
) -> Result<Attributes, Refusal> {
    let mut attributes = Attributes::from([
        ("ApproximateNumberOfMessages", counts.visible.to_string()),
        (
            "ApproximateNumberOfMessagesDelayed",
            counts.delayed.to_string(),
        ),
        (
            "ApproximateNumberOfMessagesNotVisible",
            counts.in_flight.to_string(),
        ),
        ("VisibilityTimeout", visibility.as_secs().to_string()),
    ]);
    let known = |name: &String| name == ALL || attributes.contains_key(name.as_str());
    if let Some(unknown) = asked.iter().find(|name| !known(name)) {
        return Err(Refusal::new(
            Kind::InvalidAttributeName,
            format!("Unknown Attribute {unknown}."),
        ));
    }
    keep(&mut attributes, asked);
    Ok(attributes)
}

/// Attributes of a received message. Unknown names are ignored, as SQS ignores names that a message lacks.
pub(super) fn of_message(asked: &[String], message: &Message) -> Attributes {
    let first_received = message.first_received.unwrap_or(message.sent);
    let mut attributes = Attributes::from([
        (
            "ApproximateFirstReceiveTimestamp",
            first_received.timestamp_millis().to_string(),
        ),
        ("ApproximateReceiveCount", message.receives.to_string()),
        ("SenderId", "local".to_owned()),
        ("SentTimestamp", message.sent.timestamp_millis().to_string()),
    ]);
    keep(&mut attributes, asked);
    attributes
}

fn keep(attributes: &mut Attributes, asked: &[String]) {
    if !asked.iter().any(|name| name == ALL) {
        attributes.retain(|name, _| asked.iter().any(|asked| asked == name));
    }
}
