//! Webhooks. An event is thin: it names the submission and its state, and no person, phone or code.

mod delivery;
mod endpoint;
mod event;
mod secret;
mod url;

pub use self::delivery::{Delivery, DeliveryFailure, DeliveryStatus, NextAttempt, next_attempt};
pub use self::endpoint::{Endpoint, EndpointId, EndpointStatus};
pub use self::event::{
    Event, EventId, EventType, current_events, events_between, is_known_from_reply,
};
pub use self::secret::{SignatureKind, WebhookSecret, signature_header};
pub use self::url::{WebhookUrl, WebhookUrlError};
