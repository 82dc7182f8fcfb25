//! Settling: whose turn an unsettled submission is, when its next step is due, and what was learnt so
//! far. The table lists what is due by it, so that no message has to arrive for a submission to settle.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::receipt::schedule::LookupFailures;
use super::timestamp::Timestamp;

/// How an unsettled submission is to be settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSettlement {
    /// Whose turn it is.
    #[serde(rename = "turn")]
    pub assignee: Assignee,
    /// When the next step is due; a step that was begun and never finished is due again then.
    pub next_step_at: Timestamp,
    /// Steps begun in a row and not finished.
    pub unfinished: u32,
    /// Whom the next step has to do with.
    #[serde(rename = "counterpart")]
    pub dependency: Dependency,
    /// How often a partner was asked and gave no answer.
    pub asked: u32,
    /// One of these questions may have reached the partner, which may have redeemed the code. A step that was
    /// lost counts from when it ends: see [`Self::may_have_arrived`].
    #[serde(default)]
    pub may_have_arrived: bool,
    /// Since when a partner has given no answer; none when it was not asked in vain.
    #[serde(default)]
    pub silent_since: Option<Timestamp>,
    /// What the tax authority has said so far instead of giving the record.
    #[serde(rename = "tally")]
    pub lookup_failures: LookupFailures,
    /// The instant prize of the code that the submission holds.
    pub prize: Option<String>,
    /// The latest thing that was not as expected, for the operator.
    #[serde(rename = "surprise")]
    pub anomaly: Option<Anomaly>,
}

/// Something that was not as expected.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// What.
    pub what: String,
    /// What was said instead, where it was said in words. It may hold the secrets of a receipt.
    pub excerpt: Option<String>,
}

impl From<&str> for Anomaly {
    fn from(what: &str) -> Self {
        Self { what: what.to_owned(), excerpt: None }
    }
}

impl fmt::Debug for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surprise").field("what", &self.what).finish_non_exhaustive()
    }
}

/// Whom a step has to do with: each has a queue of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependency {
    /// The tax authority, or nobody: test codes.
    TaxAuthority,
    /// A partner.
    Partner,
}

impl Dependency {
    /// Both.
    pub const ALL: [Self; 2] = [Self::TaxAuthority, Self::Partner];

    /// As it stands in the index.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaxAuthority => "tax",
            Self::Partner => "partner",
        }
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assignee {
    /// The service's own.
    Service,
    /// A person's: the service does nothing more by itself.
    #[serde(rename = "person")]
    Operator,
}

/// How long a test that asks for it stays unanswered.
pub const SENTINEL_DELAY: Duration = Duration::from_secs(4);

/// Longer than a step can take; after it, a step that was begun is taken for lost.
pub const STEP_LEASE: Duration = Duration::from_secs(90);

/// A step that was begun this often and never finished kills whoever works on it.
const MAX_UNFINISHED_ATTEMPTS: u32 = 5;

/// How a step begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepClaim {
    /// It is not due: somebody works on it, it is planned for later, or it is a person's turn.
    NotDue,
    /// Write this down first, so that nobody else begins it too.
    Claimed(PendingSettlement),
    /// It was begun too often.
    Exhausted,
}

impl PendingSettlement {
    /// The first step, at once.
    pub fn at_once(now: Timestamp, prize: Option<String>) -> Self {
        let (assignee, lookup_failures) = (Assignee::Service, LookupFailures::default());
        Self {
            assignee,
            next_step_at: now,
            unfinished: 0,
            dependency: Dependency::TaxAuthority,
            asked: 0,
            may_have_arrived: false,
            silent_since: None,
            lookup_failures,
            prize,
            anomaly: None,
        }
    }

    /// The first step, which is begun already: whoever writes this asks the partner at once.
    pub fn asking(now: Timestamp) -> Self {
        let fresh = Self { dependency: Dependency::Partner, ..Self::at_once(now, None) };
        Self { unfinished: 1, next_step_at: now.after(STEP_LEASE), ..fresh }
    }

    /// Whether somebody is at it.
    pub fn is_under_way(&self, now: Timestamp) -> bool {
        self.unfinished > 0 && now < self.next_step_at
    }

    /// Whether and how to begin a step now.
    pub fn claim(&self, now: Timestamp) -> StepClaim {
        if self.assignee == Assignee::Operator || now < self.next_step_at {
            return StepClaim::NotDue;
        }
        if self.unfinished >= MAX_UNFINISHED_ATTEMPTS {
            return StepClaim::Exhausted;
        }
        let unfinished = self.unfinished + 1;
        StepClaim::Claimed(Self { unfinished, next_step_at: now.after(STEP_LEASE), ..self.clone() })
    }

    /// Whether an earlier step may have reached the partner without its answer being known: one that was lost
    /// may have.
    pub fn may_have_arrived(&self) -> bool {
        self.may_have_arrived || self.unfinished > 1
    }

    /// The plan for one more step, this much later.
    #[must_use]
    pub fn again_after(
        &self,
        wait: Duration,
        lookup_failures: LookupFailures,
        now: Timestamp,
        hasten: RetrySpeedup,
    ) -> Self {
        let may_have_arrived = self.may_have_arrived();
        let next_step_at = now.after(hasten.apply(wait));
        Self { unfinished: 0, may_have_arrived, lookup_failures, next_step_at, ..self.clone() }
    }

    /// Taken from a person again: due at once, as if nothing had been tried.
    #[must_use]
    pub fn resumed(&self, now: Timestamp) -> Self {
        let (assignee, lookup_failures) = (Assignee::Service, LookupFailures::default());
        let may_have_arrived = self.may_have_arrived();
        let (unfinished, silent_since) = (0, None);
        Self {
            assignee,
            unfinished,
            may_have_arrived,
            silent_since,
            lookup_failures,
            next_step_at: now,
            ..self.clone()
        }
    }

    /// Handed to a person.
    #[must_use]
    pub fn escalate(&self, now: Timestamp) -> Self {
        let may_have_arrived = self.may_have_arrived();
        Self {
            assignee: Assignee::Operator,
            unfinished: 0,
            may_have_arrived,
            next_step_at: now,
            ..self.clone()
        }
    }

    /// When the service plans its next step; `None` while a step is under way, or for a person.
    pub fn next_attempt_at(&self) -> Option<Timestamp> {
        (self.assignee == Assignee::Service && self.unfinished == 0).then_some(self.next_step_at)
    }
}

/// What every planned wait is divided by: 1, or more where retries are to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySpeedup(u32);

impl Default for RetrySpeedup {
    fn default() -> Self {
        Self(1)
    }
}

impl RetrySpeedup {
    /// Divides by this; 0 is 1.
    pub fn by(times: u32) -> Self {
        Self(times.max(1))
    }

    /// The wait as it is to be waited.
    pub fn apply(self, wait: Duration) -> Duration {
        wait / self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_step_that_was_begun_is_nobody_elses_until_it_is_lost() {
        let fresh = PendingSettlement::at_once(at(0), None);
        let StepClaim::Claimed(begun) = fresh.claim(at(0)) else { panic!("due at once") };
        assert_eq!(begun.claim(at(89)), StepClaim::NotDue);
        assert_eq!(begun.next_attempt_at(), None, "a caller does not wait for it to be lost");
        assert!(matches!(begun.claim(at(90)), StepClaim::Claimed(_)));
    }

    #[test]
    fn a_step_that_kills_is_given_up_and_one_that_ends_is_not() {
        let mut settling = PendingSettlement::at_once(at(0), None);
        for round in 0..5 {
            let StepClaim::Claimed(begun) = settling.claim(at(round * 100)) else { panic!("due") };
            settling = begun;
        }
        assert_eq!(settling.claim(at(1_000)), StepClaim::Exhausted);
        let ended = settling.again_after(
            Duration::from_secs(60),
            LookupFailures::default(),
            at(400),
            RetrySpeedup::default(),
        );
        assert_eq!(ended.next_attempt_at(), Some(at(460)));
        let sooner = settling.again_after(
            Duration::from_secs(60),
            LookupFailures::default(),
            at(400),
            RetrySpeedup::by(10),
        );
        assert_eq!(sooner.next_attempt_at(), Some(at(406)));
        assert!(matches!(ended.claim(at(460)), StepClaim::Claimed(_)));
    }

    #[test]
    fn a_persons_turn_is_never_due() {
        let waiting = PendingSettlement::at_once(at(0), None).escalate(at(5));
        assert_eq!(waiting.claim(at(1_000_000)), StepClaim::NotDue);
        assert_eq!(waiting.next_attempt_at(), None);
    }
}

#[cfg(test)]
mod plan_tests;
