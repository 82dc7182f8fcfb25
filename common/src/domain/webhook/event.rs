use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::submission::ReviewStatus;
use crate::domain::{
    DisplayStatus, Invalid, MessageKey, Scope, State, Submission, SubmissionId, SubmissionStatus,
    Timestamp,
};

text_enum! {
    /// Change that an event reports. New values may be added.
    #[derive(schemars::JsonSchema)]
    pub enum EventType {
        /// A submission was created. Only sent on request: the reply to the call says the same.
        SubmissionCreated = "submission.created",
        /// The entry counts.
        SubmissionAccepted = "submission.accepted",
        /// The entry does not count.
        SubmissionRejected = "submission.rejected",
        /// Your operator is reviewing the receipt.
        SubmissionUnderReview = "submission.under_review",
        /// The partner or the tax authority has not answered; the service keeps asking.
        SubmissionUnknown = "submission.unknown",
        /// Your operator found that an accepted entry must not count.
        SubmissionRevoked = "submission.revoked",
        /// Your operator checks a decided entry again.
        SubmissionReopened = "submission.reopened",
        /// The entry was accepted and won an instant prize.
        PrizeWon = "prize.won",
        /// A test of the endpoint, sent when your operator adds or tests it.
        TestPing = "test.ping",
    }
}

impl EventType {
    /// Changes that no reply to the caller tells.
    pub const DEFAULT: [Self; 7] = [
        Self::SubmissionAccepted,
        Self::SubmissionRejected,
        Self::SubmissionUnderReview,
        Self::SubmissionUnknown,
        Self::SubmissionRevoked,
        Self::SubmissionReopened,
        Self::PrizeWon,
    ];
}

/// Events of one change; `before` is `None` for a new submission.
pub fn events_between(
    before: Option<&SubmissionStatus>,
    after: &SubmissionStatus,
) -> Vec<EventType> {
    use State::{Accepted, Pending, Rejected, Unknown};
    let Some(before) = before else {
        return vec![EventType::SubmissionCreated];
    };
    let under_review = |status: &SubmissionStatus| {
        status.state() == Pending && status.review_status() == Some(ReviewStatus::UnderReview)
    };
    match (before.state(), after.state()) {
        (Pending | Unknown | Rejected, Accepted) => acceptance(after),
        (Pending | Unknown, Rejected) => vec![EventType::SubmissionRejected],
        (Accepted, Rejected) => vec![EventType::SubmissionRevoked],
        (Accepted | Rejected, Pending | Unknown) => vec![EventType::SubmissionReopened],
        (Pending | Unknown, Pending) if under_review(after) && !under_review(before) => {
            vec![EventType::SubmissionUnderReview]
        }
        (Pending, Unknown) => vec![EventType::SubmissionUnknown],
        (Pending | Unknown, Pending)
        | (Unknown, Unknown)
        | (Accepted, Accepted)
        | (Rejected, Rejected) => Vec::new(),
    }
}

const REQUEST_TIME: Duration = Duration::from_secs(10);

/// A partner's decision within the request is a change that is not published.
pub fn is_known_from_reply(submission: &Submission) -> bool {
    let is_from_partner = submission.revision == 1 && submission.upstream.is_some();
    let took = submission.updated_at.since(submission.created_at);
    submission.revision == 0 || (is_from_partner && !submission.notify && took < REQUEST_TIME)
}

/// Events that bring a receiver to the present state; none while the submission is first checked.
pub fn current_events(submission: &Submission) -> Vec<EventType> {
    let status = &submission.status;
    match status.state() {
        State::Accepted => acceptance(status),
        State::Rejected if submission.is_revoked() => vec![EventType::SubmissionRevoked],
        State::Rejected => vec![EventType::SubmissionRejected],
        State::Unknown => vec![EventType::SubmissionUnknown],
        State::Pending if status.review_status() == Some(ReviewStatus::UnderReview) => {
            vec![EventType::SubmissionUnderReview]
        }
        State::Pending => Vec::new(),
    }
}

fn acceptance(status: &SubmissionStatus) -> Vec<EventType> {
    let prize = status.instant_win().map(|_| EventType::PrizeWon);
    [EventType::SubmissionAccepted]
        .into_iter()
        .chain(prize)
        .collect()
}

/// `evt_` and 26 symbols of base32. The same change makes the same id, so receivers recognise a
/// repeated event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventId(String);

impl EventId {
    const PREFIX: &str = "evt_";
    const BYTES: usize = 16;
    const SYMBOLS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

    pub fn new(scope: &Scope, id: SubmissionId, revision: u32, r#type: EventType) -> Self {
        Self::from_text(&scope_text(scope), &id.to_string(), revision, r#type)
    }

    fn from_text(scope: &str, id: &str, revision: u32, r#type: EventType) -> Self {
        let text = format!("svc-event-v1\n{scope}\n{id}\n{revision}\n{type}");
        let digest = Sha256::digest(text);
        let mut first = [0; Self::BYTES];
        first
            .iter_mut()
            .zip(digest)
            .for_each(|(byte, of)| *byte = of);
        Self::from_random(first)
    }

    pub fn from_random(bytes: [u8; Self::BYTES]) -> Self {
        // 128 bits and two zeros are 26 groups of five.
        let number = u128::from_be_bytes(bytes);
        let symbol = |place: u32| {
            let group = match place {
                25 => (number & 0b111) << 2,
                _ => (number >> (123 - 5 * place)) & 0b1_1111,
            };
            let symbol = usize::try_from(group)
                .ok()
                .and_then(|group| Self::SYMBOLS.get(group));
            symbol.copied().map(char::from)
        };
        let symbols: String = (0..26).filter_map(symbol).collect();
        Self(format!("{}{symbols}", Self::PREFIX))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `live:chai-bora-2026`.
fn scope_text(scope: &Scope) -> String {
    format!("{}:{}", scope.environment, scope.campaign)
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for EventId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let symbols = text.strip_prefix(Self::PREFIX).unwrap_or_default();
        let is_id =
            symbols.len() == 26 && symbols.bytes().all(|byte| Self::SYMBOLS.contains(&byte));
        is_id.then(|| Self(text.to_owned())).ok_or(Invalid(
            "an event's id, such as `evt_s4fkv7yfdfyhgxhnecjfwc67km`",
        ))
    }
}

stored_as_text!(EventId, |id| id.0);

/// Its body never changes, however often it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub r#type: EventType,
    pub timestamp: Timestamp,
    pub body: String,
}

#[derive(Serialize)]
struct Body<T> {
    r#type: EventType,
    timestamp: String,
    data: T,
}

#[derive(Serialize)]
struct SubmissionData<'a> {
    id: String,
    r#ref: String,
    campaign: &'a str,
    livemode: bool,
    revision: u32,
    state: State,
    review_status: Option<ReviewStatus>,
    display_status: DisplayStatus,
    message_key: MessageKey,
    entries: u32,
}

#[derive(Serialize)]
struct PingData<'a> {
    campaign: &'a str,
    livemode: bool,
}

impl Event {
    /// The submission's present state. Receivers that have seen a higher revision drop it.
    pub fn new(submission: &Submission, r#type: EventType) -> Self {
        let Submission {
            submission_id,
            scope,
            status,
            revision,
            updated_at,
            ..
        } = submission;
        let data = SubmissionData {
            id: submission_id.to_string(),
            r#ref: submission.reference().to_string(),
            campaign: scope.campaign.as_str(),
            livemode: scope.environment.is_live(),
            revision: *revision,
            state: status.state(),
            review_status: status.review_status(),
            display_status: status.display_status(),
            message_key: status.message_key(),
            entries: status.entries(),
        };
        let id = EventId::new(scope, *submission_id, *revision, r#type);
        Self::with_data(id, r#type, *updated_at, data)
    }

    pub fn ping(scope: &Scope, id: EventId, now: Timestamp) -> Self {
        let data = PingData {
            campaign: scope.campaign.as_str(),
            livemode: scope.environment.is_live(),
        };
        Self::with_data(id, EventType::TestPing, now, data)
    }

    fn with_data(
        id: EventId,
        r#type: EventType,
        timestamp: Timestamp,
        data: impl Serialize,
    ) -> Self {
        let body = Body {
            r#type,
            timestamp: timestamp.to_string(),
            data,
        };
        Self {
            id,
            r#type,
            timestamp,
            // Texts and numbers always serialize.
            body: serde_json::to_string(&body).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::PartnerMessage;
    use crate::domain::partner::reply::UpstreamCode;

    const ID: &str = "0198c9a2-7b1e-7c3a-9d55-1f2e3a4b5c6d";

    #[test]
    fn event_id_is_that_of_the_vector() {
        let id = EventId::from_text("live:chai-bora-2026", ID, 3, EventType::SubmissionAccepted);
        assert_eq!(id.as_str(), "evt_s4fkv7yfdfyhgxhnecjfwc67km");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in [
            "",
            "evt_",
            "s4fkv7yfdfyhgxhnecjfwc67km",
            "evt_S4fkv7yfdfyhgxhnecjfwc67km",
        ] {
            assert!(bad.parse::<EventId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn scope_of_an_id_is_environment_and_campaign() {
        let scope: Scope = "chai-bora-2026#live".parse().expect("a scope");
        assert_eq!(scope_text(&scope), "live:chai-bora-2026");
    }

    #[test]
    fn body_is_that_of_the_vector() {
        let timestamp: Timestamp = "2026-12-24T09:15:30.123Z".parse().expect("a time");
        let data = SubmissionData {
            id: ID.to_owned(),
            r#ref: "K7M2-Q9XD".to_owned(),
            campaign: "chai-bora-2026",
            livemode: true,
            revision: 3,
            state: State::Accepted,
            review_status: Some(ReviewStatus::Verified),
            display_status: DisplayStatus::Entered,
            message_key: MessageKey::InstantWin,
            entries: 2,
        };
        let r#type = EventType::SubmissionAccepted;
        let event = Event::with_data(EventId::from_random([0; 16]), r#type, timestamp, data);
        let digest = hex::encode(Sha256::digest(event.body));
        assert_eq!(
            digest,
            "e7e9fcb8df402fece11773d36adb403efb8c93d3b748bdb18cc9f640ddb09fd2"
        );
    }

    #[test]
    fn each_change_has_its_event() {
        use EventType::{
            PrizeWon, SubmissionAccepted, SubmissionCreated, SubmissionRejected,
            SubmissionReopened, SubmissionRevoked, SubmissionUnderReview, SubmissionUnknown,
        };
        let accepted = SubmissionStatus::accepted(1, None);
        let winner = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
        let rejected = SubmissionStatus::rejected(MessageKey::Invalid);
        let (pending, unknown) = (SubmissionStatus::checking(), SubmissionStatus::unknown());
        let review = SubmissionStatus::under_review();
        for (before, after, expected) in [
            (None, &accepted, &[SubmissionCreated][..]),
            (None, &winner, &[SubmissionCreated]),
            (Some(&pending), &accepted, &[SubmissionAccepted]),
            (Some(&unknown), &winner, &[SubmissionAccepted, PrizeWon]),
            (Some(&pending), &rejected, &[SubmissionRejected]),
            (Some(&review), &rejected, &[SubmissionRejected]),
            (Some(&pending), &review, &[SubmissionUnderReview]),
            (Some(&unknown), &review, &[SubmissionUnderReview]),
            (Some(&pending), &unknown, &[SubmissionUnknown]),
            (Some(&accepted), &rejected, &[SubmissionRevoked]),
            (Some(&rejected), &review, &[SubmissionReopened]),
            (Some(&rejected), &unknown, &[SubmissionReopened]),
            (Some(&pending), &pending, &[]),
            (Some(&review), &review, &[]),
            (Some(&unknown), &unknown, &[]),
            (Some(&unknown), &pending, &[]),
            (Some(&accepted), &accepted, &[]),
            (Some(&rejected), &rejected, &[]),
        ] {
            assert_eq!(
                events_between(before, after),
                expected,
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn body_has_no_person() {
        let submission = Submission::example();
        let event = Event::new(&submission, EventType::SubmissionAccepted);
        let body: serde_json::Value = serde_json::from_str(&event.body).expect("JSON");
        let names: Vec<_> = body["data"]
            .as_object()
            .expect("an object")
            .keys()
            .collect();
        assert_eq!(names.len(), 10, "{names:?}");
        assert!(!event.body.contains(submission.entrant_id.as_str()));
    }

    #[test]
    fn reply_tells_a_creation_and_a_partners_quick_answer() {
        let upstream = PartnerMessage {
            code: UpstreamCode::Number(0),
            message: None,
        };
        let asked = |upstream, revision, notify, seconds| {
            let created_at = Timestamp::from_millis(0);
            let submission = Submission {
                upstream,
                revision,
                notify,
                created_at,
                updated_at: created_at.after(Duration::from_secs(seconds)),
                ..Submission::example()
            };
            is_known_from_reply(&submission)
        };
        let answer = || Some(upstream.clone());
        assert!(asked(None, 0, true, 0));
        assert!(asked(answer(), 1, false, 9));
        assert!(!asked(answer(), 1, false, 10), "after the request");
        assert!(!asked(answer(), 1, true, 9), "it is published");
        assert!(!asked(answer(), 2, false, 9), "it is a later change");
        assert!(!asked(None, 1, false, 9), "no partner answered");
    }

    #[test]
    fn each_state_has_its_events() {
        let (accepted, pending) = (
            SubmissionStatus::accepted(1, None),
            SubmissionStatus::checking(),
        );
        let rejected = SubmissionStatus::rejected(MessageKey::Invalid);
        let winner = SubmissionStatus::accepted(1, Some("A kettle".to_owned()));
        for (before, now, expected) in [
            (&pending, &accepted, &[EventType::SubmissionAccepted][..]),
            (
                &pending,
                &winner,
                &[EventType::SubmissionAccepted, EventType::PrizeWon],
            ),
            (&pending, &rejected, &[EventType::SubmissionRejected]),
            (&accepted, &rejected, &[EventType::SubmissionRevoked]),
            (
                &pending,
                &SubmissionStatus::unknown(),
                &[EventType::SubmissionUnknown],
            ),
            (
                &pending,
                &SubmissionStatus::under_review(),
                &[EventType::SubmissionUnderReview],
            ),
            (&pending, &pending, &[]),
        ] {
            let before = Submission {
                status: before.clone(),
                ..Submission::example()
            };
            let submission = Submission {
                status: now.clone(),
                history: vec![before.state_now()],
                ..before
            };
            assert_eq!(current_events(&submission), expected, "{submission:?}");
        }
    }
}
