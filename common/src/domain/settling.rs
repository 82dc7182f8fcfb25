//! The pending work of an unsettled submission: who acts next and when, and the failures so far.
//!
//! The table lists due submissions by it, so a submission settles even if its message is lost.

mod stored;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::stored::StoredSettlement;
use super::retry::{LookupFailures, PartnerProgress};
use super::timestamp::Timestamp;

/// Messages about partners in the queue after a sweep, at most. Sweeps run every minute, so a backlog is settled no faster.
pub const PARTNER_STEPS_PER_MINUTE: u16 = 640;

/// The pending work of an unsettled submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSettlement", into = "StoredSettlement")]
pub struct PendingSettlement {
    /// The service, or the operator once it has given up or a rule asks for one.
    pub assignee: Assignee,
    /// When the next step is due; during a step, when its lease ends.
    pub next_step_at: Timestamp,
    /// Steps in a row that started and did not finish.
    pub attempts_started: u32,
    /// Failures so far of the system that has to answer.
    pub progress: Progress,
    /// The instant prize of the submission's code.
    pub prize: Option<String>,
    /// The latest unexpected response, for operators.
    pub anomaly: Option<Anomaly>,
}

/// Failures so far of the system that has to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Look-ups at the tax authority. Test codes need none.
    TaxAuthority(LookupFailures),
    Partner(PartnerProgress),
}

impl Progress {
    /// The system that has to answer.
    pub fn dependency(self) -> Dependency {
        match self {
            Self::TaxAuthority(_) => Dependency::TaxAuthority,
            Self::Partner(_) => Dependency::Partner,
        }
    }
}

/// An unexpected response of the tax authority or a partner, or a fault of the service.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    /// A description for operators.
    #[serde(rename = "what")]
    pub summary: String,
    /// An excerpt of the response, if any. It may contain the secrets of a receipt.
    pub excerpt: Option<String>,
}

impl From<&str> for Anomaly {
    fn from(summary: &str) -> Self {
        Self {
            summary: summary.to_owned(),
            excerpt: None,
        }
    }
}

impl fmt::Debug for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Anomaly")
            .field("summary", &self.summary)
            .finish_non_exhaustive()
    }
}

/// The system that a step depends on. Each has its own queue and function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependency {
    /// The tax authority; test codes do not ask it.
    TaxAuthority,
    Partner,
}

impl Dependency {
    pub const ALL: [Self; 2] = [Self::TaxAuthority, Self::Partner];

    /// The name in the index of unsettled submissions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaxAuthority => "tax",
            Self::Partner => "partner",
        }
    }
}

/// Who acts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assignee {
    Service,
    /// An operator; the service does nothing more.
    #[serde(rename = "person")]
    Operator,
}

/// How long a test submission stays unanswered if its sentinel asks for it.
pub const SENTINEL_DELAY: Duration = Duration::from_secs(4);

/// The maximum difference between the clocks of two environments.
pub const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);

/// How long a started step cannot start again: longer than a worker lives (85 s), even by a clock that is ahead.
pub const STEP_LEASE: Duration = Duration::from_secs(150);

/// After this many unfinished attempts we assume that the step crashes its worker, and stop.
const MAX_UNFINISHED_ATTEMPTS: u32 = 5;

/// The result of leasing the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepLease {
    /// The step is not due: it is in progress, planned for later, or an operator's.
    NotDue,
    /// The step may start once this is written.
    Leased(PendingSettlement),
    /// The step started too often without finishing.
    Exhausted,
}

impl PendingSettlement {
    /// A first step that is due at once.
    pub fn due_at(now: Timestamp, prize: Option<String>) -> Self {
        Self {
            assignee: Assignee::Service,
            next_step_at: now,
            attempts_started: 0,
            progress: Progress::TaxAuthority(LookupFailures::default()),
            prize,
            anomaly: None,
        }
    }

    /// A first step in progress: the request that writes this asks the partner itself.
    pub fn asking(now: Timestamp) -> Self {
        Self {
            attempts_started: 1,
            next_step_at: now.after(STEP_LEASE),
            progress: Progress::Partner(PartnerProgress::default()),
            ..Self::due_at(now, None)
        }
    }

    /// True if a step is in progress.
    pub fn is_under_way(&self, now: Timestamp) -> bool {
        self.attempts_started > 0 && now < self.next_step_at
    }

    /// Leases the next step, if it is due.
    pub fn lease(&self, now: Timestamp) -> StepLease {
        if self.assignee == Assignee::Operator || now < self.next_step_at {
            return StepLease::NotDue;
        }
        if self.attempts_started >= MAX_UNFINISHED_ATTEMPTS {
            return StepLease::Exhausted;
        }
        let attempts_started = self.attempts_started + 1;
        StepLease::Leased(Self {
            attempts_started,
            next_step_at: now.after(STEP_LEASE),
            ..self.clone()
        })
    }

    /// Failed look-ups; zero if a partner has to answer.
    pub fn lookup_failures(&self) -> LookupFailures {
        match self.progress {
            Progress::TaxAuthority(failures) => failures,
            Progress::Partner(_) => LookupFailures::default(),
        }
    }

    /// Failed requests to the partner; zero if the tax authority has to answer. A step that was lost may have reached
    /// the partner.
    pub fn partner_progress(&self) -> PartnerProgress {
        match self.progress {
            Progress::TaxAuthority(_) => PartnerProgress::default(),
            Progress::Partner(progress) => {
                let maybe_redeemed = progress.maybe_redeemed || self.attempts_started > 1;
                PartnerProgress {
                    maybe_redeemed,
                    ..progress
                }
            }
        }
    }

    /// The plan after a step has ended.
    fn after_step(&self, assignee: Assignee, next_step_at: Timestamp) -> Self {
        let progress = match self.progress {
            Progress::TaxAuthority(failures) => Progress::TaxAuthority(failures),
            Progress::Partner(_) => Progress::Partner(self.partner_progress()),
        };
        Self {
            assignee,
            next_step_at,
            attempts_started: 0,
            progress,
            ..self.clone()
        }
    }

    /// Plans the next step.
    #[must_use]
    pub fn retry_at(&self, at: Timestamp) -> Self {
        self.after_step(Assignee::Service, at)
    }

    /// Assigns the submission to an operator.
    #[must_use]
    pub fn escalate(&self, now: Timestamp) -> Self {
        self.after_step(Assignee::Operator, now)
    }

    /// Takes the submission back from an operator: due at once, with fresh counters.
    #[must_use]
    pub fn resumed(&self, now: Timestamp) -> Self {
        let progress = match self.progress {
            Progress::TaxAuthority(_) => Progress::TaxAuthority(LookupFailures::default()),
            Progress::Partner(_) => Progress::Partner(PartnerProgress {
                unanswered_since: None,
                ..self.partner_progress()
            }),
        };
        Self {
            progress,
            ..self.retry_at(now)
        }
    }

    /// When the service takes its next step; `None` during a step, or for an operator.
    pub fn next_attempt_at(&self) -> Option<Timestamp> {
        (self.assignee == Assignee::Service && self.attempts_started == 0)
            .then_some(self.next_step_at)
    }
}

#[cfg(test)]
mod plan_tests;
