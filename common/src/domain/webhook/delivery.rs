//! The first try leaves no record if it succeeds.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as, skip_serializing_none};

use super::{Endpoint, EndpointId, Event, EventId, EventType};
use crate::domain::retry::jittered;
use crate::domain::settling::STEP_LEASE;
use crate::domain::{RetryContext, Scope, SubmissionId, Timestamp};

text_enum! {
    pub enum DeliveryStatus {
        /// It was tried and failed; the next try is planned.
        Due = "due",
        /// It waits for its endpoint to work again.
        Parked = "parked",
        Delivered = "delivered",
        /// All tries failed, although the endpoint took other events; or it waited to its end.
        GivenUp = "given_up",
    }
}

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryFailure {
    /// `None` without a reply.
    pub status: Option<u16>,
    /// One word, such as `timeout`.
    pub reason: String,
    /// Seconds, as the reply asked.
    pub retry_after: Option<u64>,
}

impl DeliveryFailure {
    pub fn without_reply(reason: &str) -> Self {
        Self {
            status: None,
            reason: reason.to_owned(),
            retry_after: None,
        }
    }

    /// True if the receiver wants no more events.
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }

    fn is_overloaded(&self) -> bool {
        matches!(self.status, Some(429 | 502 | 504))
    }
}

#[serde_as]
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    #[serde_as(as = "DisplayFromStr")]
    pub scope: Scope,
    pub endpoint: EndpointId,
    pub event: EventId,
    pub r#type: EventType,
    /// The change's time.
    pub timestamp: Timestamp,
    pub submission_id: SubmissionId,
    pub revision: u32,
    pub body: String,
    /// Includes one under way.
    pub attempts: u32,
    pub last_failure: Option<DeliveryFailure>,
    /// `None` once it is delivered or given up. The end of the lease during a try.
    pub next_at: Option<Timestamp>,
    pub status: DeliveryStatus,
    pub created_at: Timestamp,
}

impl Delivery {
    /// Some time after the last try of the schedule.
    pub const RETENTION: Duration = Duration::from_hours(30 * 24);
    /// Leaves a sweep the time to see the end.
    const MARGIN: Duration = Duration::from_hours(24);
    /// Longer than a worker lives, even by a fast clock.
    pub const LEASE: Duration = STEP_LEASE;

    /// `whe_7KQ2M9XD4TBC#evt_s4fkv7yfdfyhgxhnecjfwc67km`.
    pub fn key(&self) -> String {
        format!("{}#{}", self.endpoint, self.event)
    }

    pub fn event(&self) -> Event {
        Event {
            id: self.event.clone(),
            r#type: self.r#type,
            timestamp: self.timestamp,
            body: self.body.clone(),
        }
    }

    pub fn is_due(&self, now: Timestamp) -> bool {
        self.next_at.is_some_and(|next| next <= now)
    }

    /// Due, but too old to be sent.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.is_due(now) && self.created_at.after(Self::RETENTION) <= now
    }

    pub fn expires_at(&self) -> Timestamp {
        self.created_at.after(Self::RETENTION + Self::MARGIN)
    }

    #[must_use]
    pub fn given_up(self) -> Self {
        Self {
            status: DeliveryStatus::GivenUp,
            next_at: None,
            ..self
        }
    }

    #[must_use]
    pub fn delivered(self) -> Self {
        Self {
            status: DeliveryStatus::Delivered,
            next_at: None,
            ..self
        }
    }

    #[must_use]
    pub fn replayed(self, now: Timestamp) -> Self {
        Self {
            attempts: 0,
            status: DeliveryStatus::Due,
            next_at: Some(now),
            created_at: now,
            ..self
        }
    }

    /// `attempts` counts the failed try.
    #[must_use]
    pub fn failed(
        self,
        endpoint: &Endpoint,
        failure: DeliveryFailure,
        retry: RetryContext,
    ) -> Self {
        let (status, next_at) = match next_attempt(self.attempts, &failure, retry) {
            _ if failure.is_gone() => (DeliveryStatus::GivenUp, None),
            NextAttempt::At(next) => (DeliveryStatus::Due, Some(next)),
            // No event arrived since this one failed first, so it is not at fault.
            NextAttempt::None
                if endpoint
                    .last_success_at
                    .is_none_or(|last| last <= self.created_at) =>
            {
                (DeliveryStatus::Parked, Some(retry.after(PARKED_WAIT)))
            }
            NextAttempt::None => (DeliveryStatus::GivenUp, None),
        };
        Self {
            status,
            next_at,
            last_failure: Some(failure),
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAttempt {
    At(Timestamp),
    /// The schedule is over.
    None,
}

/// Seconds before the second try and each later one: some three days in all.
const WAITS: [u64; 9] = [
    5,
    5 * 60,
    30 * 60,
    2 * 3_600,
    5 * 3_600,
    10 * 3_600,
    14 * 3_600,
    20 * 3_600,
    24 * 3_600,
];
/// Limit of what a receiver can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(1);
/// An overloaded receiver gets no second try within seconds.
const OVERLOADED_WAIT: Duration = Duration::from_mins(1);
/// Tries of an event whose endpoint has failed throughout its schedule.
const PARKED_WAIT: Duration = Duration::from_hours(1);

/// `attempts` failed so far.
pub fn next_attempt(attempts: u32, failure: &DeliveryFailure, retry: RetryContext) -> NextAttempt {
    let planned = usize::try_from(attempts)
        .ok()
        .and_then(|attempts| WAITS.get(attempts.saturating_sub(1)));
    let Some(seconds) = planned else {
        return NextAttempt::None;
    };
    let planned = jittered(Duration::from_secs(*seconds), retry.jitter);
    let asked = failure
        .retry_after
        .map_or(Duration::ZERO, Duration::from_secs);
    let least = if failure.is_overloaded() {
        OVERLOADED_WAIT
    } else {
        Duration::ZERO
    };
    NextAttempt::At(retry.after(planned.max(least).max(asked.min(MAX_RETRY_AFTER))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RetrySpeedup;

    const START: Timestamp = Timestamp::from_millis(0);

    fn failure(status: u16, retry_after: Option<u64>) -> DeliveryFailure {
        DeliveryFailure {
            status: Some(status),
            reason: "status".to_owned(),
            retry_after,
        }
    }

    fn retry(now: Timestamp, jitter: f64) -> RetryContext {
        RetryContext {
            now,
            speedup: RetrySpeedup::default(),
            jitter,
        }
    }

    fn wait(attempts: u32, failure: &DeliveryFailure, jitter: f64) -> Option<u64> {
        match next_attempt(attempts, failure, retry(START, jitter)) {
            NextAttempt::At(at) => Some(at.since(START).as_secs()),
            NextAttempt::None => None,
        }
    }

    fn delivery() -> Delivery {
        let endpoint = Endpoint::example();
        let submission = crate::domain::Submission::example();
        let event = Event::new(&submission, EventType::SubmissionAccepted);
        Delivery {
            scope: endpoint.scope,
            endpoint: endpoint.endpoint,
            event: event.id,
            r#type: event.r#type,
            timestamp: event.timestamp,
            submission_id: submission.submission_id,
            revision: submission.revision,
            body: event.body,
            attempts: 10,
            last_failure: None,
            next_at: Some(START),
            status: DeliveryStatus::Due,
            created_at: START,
        }
    }

    #[test]
    fn ten_tries_take_three_days() {
        let waits: Vec<_> = (1..20)
            .map_while(|tries| wait(tries, &failure(500, None), 0.5))
            .collect();
        let expected = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
        assert_eq!(waits, expected);
        assert_eq!(wait(1, &failure(500, None), 0.0), Some(4));
        assert_eq!(wait(1, &failure(500, None), 1.0), Some(6));
    }

    #[test]
    fn receiver_can_ask_for_an_hour_at_most() {
        assert_eq!(wait(1, &failure(503, Some(90)), 0.5), Some(90));
        assert_eq!(wait(1, &failure(503, Some(86_400)), 0.5), Some(3_600));
        assert_eq!(wait(4, &failure(503, Some(90)), 0.5), Some(7_200));
        for status in [429, 502, 504] {
            assert_eq!(wait(1, &failure(status, None), 0.5), Some(60), "{status}");
        }
    }

    #[test]
    fn event_is_given_up_only_if_others_arrived() {
        let after = |last_success_at| {
            let endpoint = Endpoint {
                last_success_at,
                ..Endpoint::example()
            };
            delivery()
                .failed(&endpoint, failure(500, None), retry(START, 0.5))
                .status
        };
        assert_eq!(after(None), DeliveryStatus::Parked);
        assert_eq!(after(Some(START)), DeliveryStatus::Parked);
        let later = START.after(Duration::from_millis(1));
        assert_eq!(after(Some(later)), DeliveryStatus::GivenUp);
    }

    #[test]
    fn gone_receiver_gets_no_second_try() {
        let first = Delivery {
            attempts: 1,
            ..delivery()
        };
        let failed = first.failed(&Endpoint::example(), failure(410, None), retry(START, 0.5));
        assert_eq!(
            (failed.status, failed.next_at),
            (DeliveryStatus::GivenUp, None)
        );
        assert_eq!(failed.last_failure, Some(failure(410, None)));
    }

    #[test]
    fn delivery_is_sent_for_thirty_days() {
        let state = |now| (delivery().is_due(now), delivery().is_over(now));
        let days = |days: u64| START.after(Duration::from_hours(days * 24));
        assert_eq!(state(Timestamp::from_millis(-1)), (false, false));
        assert_eq!(state(START), (true, false));
        assert_eq!(state(days(29)), (true, false));
        assert_eq!(state(days(30)), (true, true));
        assert_eq!(delivery().expires_at(), days(31));
    }

    #[test]
    fn ended_delivery_begins_anew_when_it_is_replayed() {
        let now = START.after(Duration::from_hours(1));
        for (ended, status) in [
            (delivery().given_up(), DeliveryStatus::GivenUp),
            (delivery().delivered(), DeliveryStatus::Delivered),
        ] {
            assert_eq!((ended.status, ended.next_at), (status, None));
            let expected = Delivery {
                attempts: 0,
                next_at: Some(now),
                created_at: now,
                ..delivery()
            };
            assert_eq!(ended.replayed(now), expected);
        }
    }

    #[test]
    fn key_is_endpoint_and_event() {
        let delivery = Delivery {
            endpoint: "whe_7KQ2M9XD4TBC".parse().expect("an id"),
            event: EventId::from_random([0; 16]),
            ..delivery()
        };
        let expected = "whe_7KQ2M9XD4TBC#evt_aaaaaaaaaaaaaaaaaaaaaaaaaa";
        assert_eq!(delivery.key(), expected);
    }
}
