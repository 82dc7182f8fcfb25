//! The event of a webhook, as the description has it. [`Event`](crate::domain::webhook::Event)
//! writes its body.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::submission::ReviewStatus;
use crate::domain::webhook::EventType;
use crate::domain::{DisplayStatus, MessageKey, State};
use crate::http::schema::{Reference, Slug, Time, Uuid};

/// A change that the service tells your server.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "WebhookEvent")]
pub struct EventObject {
    /// Type of the event.
    r#type: EventType,
    /// Time of the change.
    #[schemars(with = "Time")]
    timestamp: String,
    /// The submission after the change, without person, code, prize or words. `test.ping` has `campaign` and `livemode`
    /// alone.
    data: EventData,
}

#[derive(Serialize, JsonSchema)]
#[schemars(
    inline,
    extend("x-order" = ["id", "ref", "campaign", "livemode", "revision", "state", "review_status", "display_status", "message_key", "entries"]),
)]
struct EventData {
    /// Id of the submission. Read it for `message` and prize.
    #[schemars(with = "Uuid")]
    #[serde(skip_serializing_if = "is_ping")]
    id: String,
    /// Reference of the submission.
    #[schemars(with = "Reference")]
    #[serde(skip_serializing_if = "is_ping")]
    r#ref: String,
    /// Campaign slug.
    #[schemars(with = "Slug")]
    campaign: String,
    /// `false` for submissions of test keys.
    livemode: bool,
    /// Grows with each change of the submission. Ignore the state in an event whose revision is below the one that you have.
    #[serde(skip_serializing_if = "is_ping")]
    revision: u32,
    /// State after the change.
    #[serde(skip_serializing_if = "is_ping")]
    state: State,
    /// Result of looking at the receipt, or null.
    #[serde(skip_serializing_if = "is_ping")]
    review_status: Option<ReviewStatus>,
    /// The one status to show to the consumer.
    #[serde(skip_serializing_if = "is_ping")]
    display_status: DisplayStatus,
    /// Key of the message.
    #[serde(skip_serializing_if = "is_ping")]
    message_key: MessageKey,
    /// Entries earned; 0 unless accepted.
    #[serde(skip_serializing_if = "is_ping")]
    entries: u32,
}

fn is_ping<T>(_field: &T) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use schemars::generate::SchemaSettings;
    use serde_json::Value;

    use super::*;
    use crate::domain::webhook::{Event, EventId};
    use crate::domain::{Submission, Timestamp};

    #[test]
    fn described_fields_are_those_of_events() {
        let generator = SchemaSettings::draft2020_12().for_serialize();
        let schema = generator
            .into_generator()
            .into_root_schema_for::<EventObject>();
        let data = schema.as_value().pointer("/properties/data").expect("data");
        let names = |value: &Value| -> BTreeSet<String> {
            let fields = value.as_object().into_iter().flatten();
            fields.map(|(name, _)| name.clone()).collect()
        };
        let body = |event: Event| serde_json::from_str::<Value>(&event.body).expect("JSON");
        let submission = Submission::example();
        let event = body(Event::new(&submission, EventType::SubmissionAccepted));
        assert_eq!(names(&data["properties"]), names(&event["data"]));
        let id = EventId::from_random([0; 16]);
        let ping = body(Event::ping(
            &submission.scope,
            id,
            Timestamp::from_millis(0),
        ));
        let required: BTreeSet<String> =
            serde_json::from_value(data["required"].clone()).expect("names");
        assert_eq!(required, names(&ping["data"]));
    }
}
