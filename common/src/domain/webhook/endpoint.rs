use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as, skip_serializing_none};

use super::{EventType, SignatureKind, WebhookUrl};
use crate::domain::code::SYMBOLS;
use crate::domain::{Invalid, Scope, Timestamp};

/// `whe_` and 12 symbols of codes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EndpointId(String);

impl EndpointId {
    const PREFIX: &str = "whe_";
    const LENGTH: usize = 12;

    pub fn from_random(bytes: [u8; 16]) -> Self {
        let mut number = u128::from_be_bytes(bytes);
        let symbols: String = (0..Self::LENGTH)
            .filter_map(|_| {
                let digit = usize::try_from(number % 31).ok()?;
                number /= 31;
                SYMBOLS.get(digit).copied().map(char::from)
            })
            .collect();
        Self(format!("{}{symbols}", Self::PREFIX))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for EndpointId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let symbols = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        let is_id =
            symbols.len() == Self::LENGTH && symbols.bytes().all(|byte| SYMBOLS.contains(&byte));
        is_id
            .then(|| Self(text.to_owned()))
            .ok_or(Invalid("an endpoint's id, such as `whe_7KQ2M9XD4TBC`"))
    }
}

stored_as_text!(EndpointId, |id| id.0);

text_enum! {
    pub enum EndpointStatus {
        /// It has not answered a test yet, so it gets no events.
        Unproven = "unproven",
        Active = "active",
        /// It answered 410, or an operator stopped it.
        Stopped = "stopped",
    }
}

#[serde_as]
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    #[serde_as(as = "DisplayFromStr")]
    pub scope: Scope,
    pub endpoint: EndpointId,
    pub url: WebhookUrl,
    pub types: Vec<EventType>,
    pub signature: SignatureKind,
    pub status: EndpointStatus,
    /// Set by a failure, removed by the next success.
    pub failing_since: Option<Timestamp>,
    /// An hour old at most while events arrive.
    pub last_success_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub by: String,
    /// Operators' changes are conditional on it.
    pub revision: u32,
}

impl Endpoint {
    pub const MAX_PER_SCOPE: usize = 5;
    const SUSPENDED_AFTER: Duration = Duration::from_hours(5 * 24);
    /// Longer than a deployment or a restart takes.
    const FAILING_AFTER: Duration = Duration::from_mins(15);
    /// Bounds the writes that keep [`Self::last_success_at`].
    const SUCCESS_INTERVAL: Duration = Duration::from_hours(1);

    pub fn receives(&self, r#type: EventType) -> bool {
        self.status == EndpointStatus::Active && self.types.contains(&r#type)
    }

    /// True after days of failures alone. Its events wait; one of them keeps trying it.
    pub fn is_suspended(&self, now: Timestamp) -> bool {
        self.fails_for(Self::SUSPENDED_AFTER, now)
    }

    pub fn is_failing(&self, now: Timestamp) -> bool {
        self.fails_for(Self::FAILING_AFTER, now)
    }

    fn fails_for(&self, span: Duration, now: Timestamp) -> bool {
        self.status == EndpointStatus::Active
            && self
                .failing_since
                .is_some_and(|since| now.since(since) >= span)
    }

    /// True if a success turns the endpoint good, or the last one is old.
    pub fn is_success_news(&self, now: Timestamp) -> bool {
        let is_recent = |last: Timestamp| now.since(last) < Self::SUCCESS_INTERVAL;
        self.failing_since.is_some() || !self.last_success_at.is_some_and(is_recent)
    }
}

#[cfg(test)]
impl Endpoint {
    pub(crate) fn example() -> Self {
        Self {
            scope: "demo#live".parse().expect("a scope"),
            endpoint: EndpointId::from_random([7; 16]),
            url: "https://www.example.com/webhooks".parse().expect("a URL"),
            types: EventType::DEFAULT.to_vec(),
            signature: SignatureKind::V1,
            status: EndpointStatus::Active,
            failing_since: None,
            last_success_at: None,
            created_at: Timestamp::from_millis(0),
            by: "asha".to_owned(),
            revision: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_id_has_one_spelling() {
        let id = EndpointId::from_random([7; 16]);
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for bad in ["", "whe_", &id.as_str().to_lowercase(), &format!("{id}2")] {
            assert!(bad.parse::<EndpointId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn random_number_gives_its_digits_in_base_31() {
        let id = EndpointId::from_random((2 + 31_u128).to_be_bytes());
        assert_eq!(id.to_string(), "whe_432222222222");
    }

    #[test]
    fn scope_is_stored_as_text() {
        let endpoint = Endpoint::example();
        let stored = serde_json::to_value(&endpoint).expect("JSON");
        assert_eq!(stored["scope"], "demo#live");
        assert_eq!(
            serde_json::from_value::<Endpoint>(stored).expect("an endpoint"),
            endpoint
        );
    }

    #[test]
    fn only_an_active_endpoint_receives_its_types() {
        let active = Endpoint::example();
        assert!(active.receives(EventType::SubmissionAccepted));
        assert!(!active.receives(EventType::SubmissionCreated));
        for status in [EndpointStatus::Unproven, EndpointStatus::Stopped] {
            let other = Endpoint {
                status,
                ..active.clone()
            };
            assert!(!other.receives(EventType::SubmissionAccepted), "{status}");
        }
    }

    #[test]
    fn failures_alone_for_five_days_suspend() {
        let endpoint = Endpoint {
            failing_since: Some(Timestamp::from_millis(0)),
            ..Endpoint::example()
        };
        let after = |minutes| Timestamp::from_millis(0).after(Duration::from_mins(minutes));
        assert!(!endpoint.is_failing(after(14)) && endpoint.is_failing(after(15)));
        let days = 5 * 24 * 60;
        assert!(!endpoint.is_suspended(after(days - 1)) && endpoint.is_suspended(after(days)));
    }

    #[test]
    fn success_is_news_after_a_failure_or_an_hour() {
        let start = Timestamp::from_millis(0);
        let is_news = |failing_since, last_success_at, minutes| {
            let endpoint = Endpoint {
                failing_since,
                last_success_at,
                ..Endpoint::example()
            };
            endpoint.is_success_news(start.after(Duration::from_mins(minutes)))
        };
        assert!(is_news(None, None, 0));
        assert!(is_news(Some(start), Some(start), 0));
        assert!(!is_news(None, Some(start), 59) && is_news(None, Some(start), 60));
    }
}
