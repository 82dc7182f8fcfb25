//! A submission. [`transition`] settles it, [`approval`] makes two people agree on a prize or many
//! entries, [`correction`] undoes mistaken decisions, [`second_look`] has some decisions checked by
//! another person.

pub mod approval;
pub mod correction;
pub mod second_look;
mod status;
pub mod transition;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::approval::Approval;
use self::second_look::SecondLook;
pub use self::status::{DisplayStatus, ReviewStatus, State, SubmissionStatus};
use super::code::Code;
use super::ids::EntrantId;
use super::ids::{ReceiptId, Reference, SubmissionId};
use super::message::{Language, MessageKey};
use super::partner::reply::PartnerMessage;
use super::phone_protection::StoredPhone;
use super::receipt::judgement::ReceiptSummary;
use super::receipt::payload::VerificationCode;
use super::scope::Scope;
use super::settling::{Assignee, PendingSettlement};
use super::timestamp::Timestamp;

/// A consumer's attempt to enter, also if it was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Its id, which carries its reference.
    pub submission_id: SubmissionId,
    pub scope: Scope,
    /// The consumer. The record has it in its own key of the index by entrant.
    #[serde(skip)]
    pub entrant_id: EntrantId,
    /// The number to call a winner on; `None` once the person was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<StoredPhone>,
    /// The key of the code that it holds or has redeemed; `None` if it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_key: Option<String>,
    /// The batch of that code; `None` if no batch has it, as when a partner judges it. Used only
    /// for counting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// The holder of its code, if it was rejected because of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_refusal: Option<CodeRefusal>,
    /// The attached receipt; `None` if it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<ReceiptId>,
    /// The part of the tax authority's record that callers see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptSummary>,
    /// The purchase that the receipt proves; unique among accepted submissions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purchase: Option<VerificationCode>,
    /// The outcome so far.
    #[serde(rename = "standing")]
    pub status: SubmissionStatus,
    /// Message keys, or reasons for operators.
    pub reasons: Vec<String>,
    /// The day of its creation in the campaign's time zone, `YYYY-MM-DD`. Limits count by it, even
    /// if it settles later.
    pub day: String,
    /// The consumer's region, as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The purchase as the consumer describes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<DeclaredPurchase>,
    /// The consumer's consent, if the campaign asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    /// The code for the partner; deleted when the submission is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner_code: Option<Code>,
    /// The partner's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<PartnerMessage>,
    /// The operator's decision, if an operator settled or corrected it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<OperatorDecision>,
    /// The change that a second operator has to confirm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The second look of another person, after it was settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_look: Option<SecondLook>,
    /// The pending work; `None` when it is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settling: Option<PendingSettlement>,
    /// The number of changes. A change is written only over the revision that it was made from.
    pub revision: u32,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of its last change.
    pub updated_at: Timestamp,
    /// The id in the log of the request that created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Earlier states, oldest first: the first and the latest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastState>,
}

/// The reason why a code was refused that is otherwise good. Callers never see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRefusal {
    /// The submission that held or had redeemed the code.
    pub holder: SubmissionId,
    /// The code's batch; `None` if no batch has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
}

/// A consumer's consent, given when the submission was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The version of the text that the consumer agreed to, if the campaign or the caller names
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub language: Language,
}

/// The maximum length of a history. Each state adds about 200 bytes to every later write of the
/// submission.
const MAX_HISTORY: usize = 12;

/// An earlier state of a submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastState {
    /// When the state began.
    pub at: Timestamp,
    /// The outcome at that time.
    #[serde(rename = "standing")]
    pub status: SubmissionStatus,
    /// Message keys, or reasons for operators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// True if a step was in progress.
    pub is_under_way: bool,
    /// The unexpected response, if any.
    #[serde(default, rename = "surprise", skip_serializing_if = "Option::is_none")]
    pub anomaly: Option<String>,
    /// The operator's decision that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<OperatorDecision>,
}

impl PastState {
    /// True if the two states differ only in steps that started or ended.
    fn is_same(&self, other: &Self) -> bool {
        let Self {
            at: _,
            status,
            reasons,
            is_under_way: _,
            anomaly,
            decision,
        } = self;
        (status, reasons, anomaly, decision)
            == (
                &other.status,
                &other.reasons,
                &other.anomaly,
                &other.decision,
            )
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorDecision {
    /// The name that the operator gave.
    pub by: String,
    pub at: Timestamp,
    /// The operator's reason; `None` if none was given.
    pub why: Option<String>,
    /// The second operator, where one had to agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmation>,
    /// The ARN of the operator's AWS identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// A second operator's agreement to a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The name that the operator gave.
    pub by: String,
    /// The operator's reason; `None` if none was given.
    pub why: Option<String>,
    /// The ARN of the operator's AWS identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// The name of the user or of the session in an ARN. Single sign-on gives a person the same session
/// name in each role.
pub fn name_in_arn(arn: &str) -> &str {
    arn.rsplit(['/', ':']).next().unwrap_or(arn)
}

impl OperatorDecision {
    /// True if this person decided or confirmed; compares given names and the names in ARNs.
    pub fn is_by(&self, identity: &str, by: &str) -> bool {
        let second = self.confirmed.as_ref();
        let identities = self
            .identity
            .as_deref()
            .into_iter()
            .chain(second.and_then(|second| second.identity.as_deref()));
        let given = [self.by.as_str()]
            .into_iter()
            .chain(second.map(|second| second.by.as_str()));
        let theirs = [name_in_arn(identity), by].map(str::to_lowercase);
        identities
            .map(name_in_arn)
            .chain(given)
            .any(|name| theirs.contains(&name.to_lowercase()))
    }

    /// The decision without the operators' words, which may name a person.
    fn without_words(self) -> Self {
        let confirmed = self.confirmed.map(|second| Confirmation {
            why: None,
            ..second
        });
        Self {
            why: None,
            confirmed,
            ..self
        }
    }
}

/// A purchase as described by the consumer. No outcome depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredPurchase {
    /// The products that the consumer says they bought.
    pub items: Vec<DeclaredItem>,
    /// The branch as the consumer names it; `None` if it was not sent.
    pub branch: Option<String>,
}

/// A product that the consumer says they bought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredItem {
    /// The product's key in the campaign.
    pub key: String,
    /// The quantity, 1 to 99.
    pub qty: u32,
}

/// The parts of a new submission that are known before the decision.
#[derive(Clone, Debug)]
pub struct NewSubmission {
    pub submission_id: SubmissionId,
    pub scope: Scope,
    /// The consumer.
    pub entrant_id: EntrantId,
    /// The number, encrypted for this submission.
    pub phone: Option<StoredPhone>,
    /// The consumer's region, as sent.
    pub region: Option<String>,
    /// The purchase as described by the consumer.
    pub claimed: Option<DeclaredPurchase>,
    pub consent: Option<Consent>,
    /// The campaign's day, `YYYY-MM-DD`.
    pub day: String,
    /// The time of the request.
    pub created_at: Timestamp,
    /// The id of the request in the log.
    pub request_id: Option<String>,
}

impl Submission {
    /// A new submission without a code, a receipt or pending work.
    pub fn new(new: NewSubmission, status: SubmissionStatus) -> Self {
        let NewSubmission {
            submission_id,
            scope,
            entrant_id,
            phone,
            region,
            claimed,
            consent,
            day,
            created_at,
            request_id,
        } = new;
        Self {
            submission_id,
            scope,
            entrant_id,
            phone,
            code_key: None,
            batch: None,
            code_refusal: None,
            receipt_id: None,
            receipt: None,
            purchase: None,
            status,
            reasons: Vec::new(),
            day,
            region,
            claimed,
            consent,
            partner_code: None,
            upstream: None,
            decision: None,
            approval: None,
            second_look: None,
            settling: None,
            revision: 0,
            created_at,
            updated_at: created_at,
            request_id,
            history: Vec::new(),
        }
    }

    /// The reference that the consumer can quote.
    pub fn reference(&self) -> Reference {
        self.submission_id.reference()
    }

    /// The next revision, with the same status. Adds the present state to the history, unless it is
    /// already the latest.
    #[must_use]
    pub fn changed(&self, now: Timestamp) -> Self {
        let mut history = self.history.clone();
        let state = self.state_now();
        if !history.last().is_some_and(|last| last.is_same(&state)) {
            history.push(state);
        }
        // The first state stays: it shows how the submission was created.
        let excess = history.len().saturating_sub(MAX_HISTORY);
        history.drain(1..1 + excess);
        Self {
            revision: self.revision.saturating_add(1),
            updated_at: now,
            history,
            ..self.clone()
        }
    }

    /// The present state, as the history keeps it.
    pub fn state_now(&self) -> PastState {
        let settling = self.settling.as_ref();
        let anomaly = settling.and_then(|settling| settling.anomaly.as_ref());
        PastState {
            at: self.updated_at,
            status: self.status.clone(),
            reasons: self.reasons.clone(),
            is_under_way: settling.is_some_and(|settling| settling.attempts_started > 0),
            anomaly: anomaly.map(|anomaly| anomaly.summary.clone()),
            decision: self.decision.clone(),
        }
    }

    /// When it was accepted; `None` if it is not. A correction that only adds words leaves this
    /// time.
    pub fn accepted_at(&self) -> Option<Timestamp> {
        let is_accepted = |status: &SubmissionStatus| status.state() == State::Accepted;
        let past = self
            .history
            .iter()
            .rev()
            .take_while(|past| is_accepted(&past.status));
        is_accepted(&self.status).then(|| past.last().map_or(self.updated_at, |first| first.at))
    }

    /// The times when it was accepted, also those that were revoked since.
    pub fn times_accepted(&self) -> impl Iterator<Item = Timestamp> {
        let past = self
            .history
            .iter()
            .map(|past| (past.status.state(), past.at));
        let mut before = None;
        past.chain([(self.status.state(), self.updated_at)])
            .filter_map(move |(state, at)| {
                let was = before.replace(state);
                (state == State::Accepted && was != Some(State::Accepted)).then_some(at)
            })
    }

    /// The submission without its personal data: its reference, outcome, entries, day and prize
    /// stay.
    #[must_use]
    pub fn erased(&self, entrant_id: EntrantId) -> Self {
        let upstream = self.upstream.clone().map(|upstream| PartnerMessage {
            message: None,
            ..upstream
        });
        let wordless = |decision: &Option<OperatorDecision>| {
            decision.clone().map(OperatorDecision::without_words)
        };
        let past = |past: &PastState| PastState {
            decision: wordless(&past.decision),
            ..past.clone()
        };
        let approval = self.approval.clone().map(|first| Approval {
            decision: first.decision.without_words(),
            ..first
        });
        Self {
            entrant_id,
            phone: None,
            region: None,
            claimed: None,
            upstream,
            decision: wordless(&self.decision),
            approval,
            history: self.history.iter().map(past).collect(),
            revision: self.revision.saturating_add(1),
            ..self.clone()
        }
    }

    /// The submission once its campaign's retention is over: without its personal data, but under
    /// the same pseudonym, which limits and codes refer to. `None` while the phone is still needed.
    #[must_use]
    pub fn past_retention(&self) -> Option<Self> {
        let is_settled = self.status.is_terminal() && self.approval.is_none();
        let after = is_settled.then(|| self.erased(self.entrant_id.clone()))?;
        let is_same = Self {
            revision: self.revision,
            ..after.clone()
        } == *self;
        Some(if is_same { self.clone() } else { after })
    }

    /// True if it has a receipt that the service has yet to settle; a phone's number of these is
    /// limited.
    pub fn has_open_receipt(&self) -> bool {
        let is_ours = |settling: &PendingSettlement| settling.assignee == Assignee::Service;
        self.receipt_id.is_some() && self.settling.as_ref().is_some_and(is_ours)
    }

    /// Seconds before a caller should poll again; `None` when settled. The interval grows with age,
    /// ends no earlier than the next planned step, and is long while an operator is reviewing.
    pub fn poll_after_seconds(&self, now: Timestamp) -> Option<u64> {
        /// Fast enough to feel immediate.
        const MIN_SECONDS: u64 = 2;
        /// Slow enough to cost nothing.
        const MAX_SECONDS: u64 = 30;
        /// An operator takes minutes at least.
        const WHILE_REVIEWED: u64 = 300;
        /// A tenth of the age keeps the number of polls logarithmic.
        const SHARE_OF_AGE: u64 = 10;
        if self.status.is_terminal() {
            return None;
        }
        if self
            .settling
            .as_ref()
            .is_some_and(|settling| settling.assignee == Assignee::Operator)
        {
            return Some(WHILE_REVIEWED);
        }
        let age: Duration = now.since(self.created_at);
        let by_age = (age.as_secs() / SHARE_OF_AGE).clamp(MIN_SECONDS, MAX_SECONDS);
        let planned = self
            .settling
            .as_ref()
            .and_then(PendingSettlement::next_attempt_at);
        let until_planned = planned.map_or(Duration::ZERO, |planned| planned.since(now));
        Some(
            by_age.max(
                until_planned
                    .as_millis()
                    .div_ceil(1_000)
                    .try_into()
                    .unwrap_or(u64::MAX),
            ),
        )
    }
}

#[cfg(test)]
mod change_tests;
