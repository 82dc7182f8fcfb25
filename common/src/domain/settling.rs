//! Pending work of a submission: who acts when.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::retry::LookupFailures;
use super::{PartnerProgress, Timestamp};

/// A sweep, run every minute, queues no more.
pub const PARTNER_STEPS_PER_MINUTE: u16 = 640;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSettlement {
    pub assignee: Assignee,
    /// The end of the lease during a step.
    pub next_step_at: Timestamp,
    pub attempts_started: u32,
    pub progress: Progress,
    pub prize: Option<String>,
    pub anomaly: Option<Anomaly>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    TaxAuthority(LookupFailures),
    Partner(PartnerProgress),
}

impl Progress {
    pub fn dependency(self) -> Dependency {
        match self {
            Self::TaxAuthority(_) => Dependency::TaxAuthority,
            Self::Partner(_) => Dependency::Partner,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomaly {
    pub summary: String,
    /// May contain a receipt's secrets.
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

text_enum! {
    pub enum Dependency {
        /// Not asked for test codes.
        TaxAuthority = "tax",
        Partner = "partner",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assignee {
    Service,
    Operator,
}

pub const SENTINEL_DELAY: Duration = Duration::from_secs(4);

/// Maximum difference between the clocks of two environments.
pub const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(60);

/// Longer than a worker lives (85 s), even by a fast clock.
pub const STEP_LEASE: Duration = Duration::from_secs(150);

/// More of them mean that the step crashes its worker.
const MAX_UNFINISHED_ATTEMPTS: u32 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepLease {
    NotDue,
    Leased(PendingSettlement),
    Exhausted,
}

impl PendingSettlement {
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

    /// The request that writes this asks the partner itself.
    pub fn asking(now: Timestamp) -> Self {
        Self {
            attempts_started: 1,
            next_step_at: now.after(STEP_LEASE),
            progress: Progress::Partner(PartnerProgress::default()),
            ..Self::due_at(now, None)
        }
    }

    pub fn is_under_way(&self, now: Timestamp) -> bool {
        self.attempts_started > 0 && now < self.next_step_at
    }

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

    pub fn lookup_failures(&self) -> LookupFailures {
        match self.progress {
            Progress::TaxAuthority(failures) => failures,
            Progress::Partner(_) => LookupFailures::default(),
        }
    }

    /// A lost step may have reached the partner.
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

    fn after_step(&self, assignee: Assignee, next_step_at: Timestamp) -> Self {
        let progress = match self.progress {
            Progress::TaxAuthority(_) => self.progress,
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

    #[must_use]
    pub fn retry_at(&self, at: Timestamp) -> Self {
        self.after_step(Assignee::Service, at)
    }

    #[must_use]
    pub fn escalate(&self, now: Timestamp) -> Self {
        self.after_step(Assignee::Operator, now)
    }

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

    pub fn next_attempt_at(&self) -> Option<Timestamp> {
        (self.assignee == Assignee::Service && self.attempts_started == 0)
            .then_some(self.next_step_at)
    }
}

#[cfg(test)]
mod plan_tests;
