//! A submission, and the rules for changing it.

pub mod approval;
pub mod correction;
pub mod spot_check;
mod status;
pub mod transition;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::approval::Approval;
use self::spot_check::SpotCheck;
pub use self::status::{DisplayStatus, ReviewStatus, State, SubmissionStatus};
use super::phone_protection::StoredPhone;
use super::{
    Assignee, Campaign, Code, CodeKey, EntrantId, Language, MessageKey, PartnerMessage,
    PendingSettlement, ReceiptId, ReceiptSummary, Reference, Scope, SubmissionId, Timestamp,
    VerificationCode,
};

text_enum! {
    /// The consumer's way to the brand.
    #[derive(schemars::JsonSchema)]
    pub enum Channel {
        /// A web page or an app.
        Web = "web",
        /// A text message.
        Sms = "sms",
        /// A session of a dialled code.
        Ussd = "ussd",
        /// A WhatsApp message.
        Whatsapp = "whatsapp",
        /// A person who enters for the consumer, such as in a shop.
        Agent = "agent",
        /// Anything else.
        Other = "other",
    }
}

/// An attempt to enter, refused ones included.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    pub submission_id: SubmissionId,
    pub scope: Scope,
    #[serde(skip)]
    pub entrant_id: EntrantId,
    /// `None` once the person was erased.
    pub phone: Option<StoredPhone>,
    /// `None` if it was refused.
    pub code_key: Option<String>,
    /// Only for counting; `None` if no batch has the code, as when a partner judges it.
    pub batch: Option<String>,
    pub code_refusal: Option<CodeRefusal>,
    /// `None` if it was refused.
    pub receipt_id: Option<ReceiptId>,
    pub receipt: Option<ReceiptSummary>,
    /// Unique among accepted submissions.
    pub purchase: Option<VerificationCode>,
    #[serde(rename = "standing")]
    pub status: SubmissionStatus,
    /// Message keys, or reasons for operators.
    pub reasons: Vec<String>,
    /// `YYYY-MM-DD` in the campaign's time zone, even if it settles later. Limits count by it.
    pub day: String,
    pub region: Option<String>,
    pub channel: Option<Channel>,
    /// As the consumer describes it; no outcome depends on it.
    pub claimed: Option<DeclaredPurchase>,
    pub consent: Option<Consent>,
    /// Deleted when the submission is settled.
    pub partner_code: Option<Code>,
    pub upstream: Option<PartnerMessage>,
    pub decision: Option<OperatorDecision>,
    pub approval: Option<Approval>,
    #[serde(rename = "second_look")]
    pub spot_check: Option<SpotCheck>,
    /// `None` when it is settled.
    pub settling: Option<PendingSettlement>,
    /// True if the campaign had webhooks at the last change: only such changes are published.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notify: bool,
    pub revision: u32,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Test time of its request less the real time, in milliseconds. Its own times are shifted by
    /// it, those of its steps are not.
    pub test_shift: Option<i64>,
    pub request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastState>,
}

/// Never shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRefusal {
    pub holder: SubmissionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub language: Language,
}

/// Each state adds some 200 bytes to every later write.
const MAX_HISTORY: usize = 12;

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastState {
    pub at: Timestamp,
    #[serde(rename = "standing")]
    pub status: SubmissionStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    pub is_under_way: bool,
    pub anomaly: Option<String>,
    pub decision: Option<OperatorDecision>,
}

impl PastState {
    /// True if the states differ only in steps that started or ended.
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
    pub by: String,
    pub at: Timestamp,
    pub why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    pub by: String,
    pub why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// The user's or session's name: single sign-on uses one session name in all roles.
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

    /// Operators' words may name a person.
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredPurchase {
    pub items: Vec<DeclaredItem>,
    pub branch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredItem {
    pub key: String,
    /// 1 to 99.
    pub qty: u32,
}

impl Submission {
    pub fn new(
        submission_id: SubmissionId,
        scope: Scope,
        entrant_id: EntrantId,
        day: String,
        created_at: Timestamp,
    ) -> Self {
        Self {
            submission_id,
            scope,
            entrant_id,
            phone: None,
            code_key: None,
            batch: None,
            code_refusal: None,
            receipt_id: None,
            receipt: None,
            purchase: None,
            status: SubmissionStatus::checking(),
            reasons: Vec::new(),
            day,
            region: None,
            channel: None,
            claimed: None,
            consent: None,
            partner_code: None,
            upstream: None,
            decision: None,
            approval: None,
            spot_check: None,
            settling: None,
            notify: false,
            revision: 0,
            created_at,
            updated_at: created_at,
            test_shift: None,
            request_id: None,
            history: Vec::new(),
        }
    }

    pub fn code_key(&self) -> Option<CodeKey> {
        CodeKey::parse(&self.scope, self.code_key.as_deref()?)
    }

    #[must_use]
    pub fn notifying(self, campaign: &Campaign) -> Self {
        Self {
            notify: campaign.has_webhooks(),
            ..self
        }
    }

    pub fn reference(&self) -> Reference {
        self.submission_id.reference()
    }

    pub fn sent_at(&self) -> Timestamp {
        self.real_time(self.created_at)
    }

    /// Undoes a test time's shift of `created_at`, `updated_at` and past states.
    pub fn real_time(&self, at: Timestamp) -> Timestamp {
        at.shifted(self.test_shift.unwrap_or(0).saturating_neg())
    }

    /// Adds the present state to the history, unless it is the latest already.
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
            updated_at: now.shifted(self.test_shift.unwrap_or(0)),
            history,
            ..self.clone()
        }
    }

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

    /// A correction that only adds words leaves this time.
    pub fn accepted_at(&self) -> Option<Timestamp> {
        let is_accepted = |status: &SubmissionStatus| status.state() == State::Accepted;
        let past = self
            .history
            .iter()
            .rev()
            .take_while(|past| is_accepted(&past.status));
        is_accepted(&self.status).then(|| past.last().map_or(self.updated_at, |first| first.at))
    }

    /// Includes acceptances that were revoked since.
    pub fn times_accepted(&self) -> impl Iterator<Item = Timestamp> {
        self.acceptances().map(|accepted| accepted.at)
    }

    /// True if it is accepted, and never was revoked.
    pub fn is_first_acceptance(&self) -> bool {
        let is_accepted = |status: &SubmissionStatus| status.state() == State::Accepted;
        is_accepted(&self.status) && !self.history.iter().any(|past| is_accepted(&past.status))
    }

    /// With the decision if a person took it.
    pub fn acceptances(&self) -> impl Iterator<Item = PastState> {
        let states = self.history.iter().cloned().chain([self.state_now()]);
        let mut before = None;
        states.filter(move |past| {
            let state = past.status.state();
            let was = before.replace(state);
            state == State::Accepted && was != Some(State::Accepted)
        })
    }

    /// Removes personal data: reference, outcome, entries, day and prize stay.
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

    /// Keeps the pseudonym that limits and codes refer to. `None` while the phone is needed.
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

    pub fn assignee(&self) -> Option<Assignee> {
        self.settling.as_ref().map(|settling| settling.assignee)
    }

    pub fn has_open_receipt(&self) -> bool {
        self.receipt_id.is_some() && self.assignee() == Some(Assignee::Service)
    }

    /// Seconds until the next poll; `None` when settled. Grows with age, ends no earlier than the
    /// next planned step.
    pub fn poll_after_seconds(&self, now: Timestamp) -> Option<u64> {
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
        if self.assignee() == Some(Assignee::Operator) {
            return Some(WHILE_REVIEWED);
        }
        let age: Duration = now.since(self.sent_at());
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
