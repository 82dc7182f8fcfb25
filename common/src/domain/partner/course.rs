//! What follows from asking a partner: a pure function from its answer to the submission's next state.

use std::time::Duration;

use super::PartnerRequest;
use super::reply::{PartnerVerdict, Upstream};
use crate::domain::message::MessageKey;
use crate::domain::settling::{Anomaly, PendingSettlement, RetrySpeedup};
use crate::domain::submission::{AlreadySettled, Event, Submission};
use crate::domain::timestamp::Timestamp;

/// Waits before asking again, in seconds; the last one repeats.
const WAITS: [u64; 8] = [5, 15, 30, 60, 120, 300, 900, 1_800];
/// How much of a wait is left to chance, so that submissions that failed together do not come back together.
const JITTER: f64 = 0.2;
/// How long no answer is borne before a person is told.
const GIVE_UP_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// The prize of a partner that names none.
const UNNAMED_PRIZE: &str = "Instant prize";
/// The reason of a submission that is left to a person.
const UNANSWERED: &str = "partner_unanswered";
/// The reason of one whose code is used, perhaps by an earlier request whose reply was lost.
const USED_BY_WHOM: &str = "partner_used_when_asked_again";

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The partner decided.
    Decided(PartnerVerdict),
    /// It did not.
    Silent(Silence),
    /// It was not asked, because it fails again and again; not before this.
    Spared(Timestamp),
    /// It was not asked, because as many requests of the campaign were under way as may be.
    AtLimit,
}

/// A request without an answer that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Why, in one word.
    pub why: &'static str,
    /// The partner's own words, where there were some.
    pub upstream: Option<Upstream>,
    /// The partner may have received the request, and done what it asks for.
    pub may_have_arrived: bool,
    /// Who has to do something about it.
    pub fault_owner: FaultOwner,
    /// With this one, the partner failed so often that it is left in peace for a while.
    pub opened_breaker: bool,
}

/// Who has to do something about a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOwner {
    /// The partner: it is down or refuses us, and other requests would fare alike.
    Partner,
    /// The campaign's setup: the partner is up and its reply is not understood, or no request can be made.
    AppContext,
    /// The service: a part of it failed, so the partner was not asked.
    Service,
}

impl Silence {
    /// Nobody was asked.
    pub fn unasked(why: &'static str, fault_owner: FaultOwner) -> Self {
        Self { why, upstream: None, may_have_arrived: false, fault_owner, opened_breaker: false }
    }

    /// Nobody was asked, because a part of the service failed.
    pub fn service_failed() -> Self {
        Self::unasked("service_failed", FaultOwner::Service)
    }
}

/// When and how the next step is taken.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// The time now.
    pub now: Timestamp,
    /// What waits are divided by.
    pub hasten: RetrySpeedup,
    /// A random number from 0 to 1.
    pub chance: f64,
}

impl Asked {
    /// What there is to count of it.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        let silence = match self {
            Self::Silent(silence) => silence,
            Self::Spared(_) => return vec![("PartnerSpared", 1)],
            Self::AtLimit => return vec![("PartnerAtLimit", 1)],
            Self::Decided(_) => return Vec::new(),
        };
        let name = match silence.fault_owner {
            FaultOwner::Partner => "PartnerSilent",
            FaultOwner::AppContext => "PartnerNotUnderstood",
            FaultOwner::Service => "Failed",
        };
        let mut figures = vec![(name, 1)];
        figures.extend(silence.opened_breaker.then_some(("PartnerSpared", 1)));
        figures
    }

    /// Whether the partner decided that there is no such code.
    pub fn is_wrong_code(&self) -> bool {
        matches!(self, Self::Decided(verdict) if verdict.outcome == MessageKey::Invalid)
    }

    /// The submission after this. An accepted one earns what the partner says, or else `entries`.
    ///
    /// # Errors
    /// [`AlreadySettled`] when nothing can happen any more.
    pub fn applied_to(
        &self,
        before: &Submission,
        entries: u32,
        pacing: Pacing,
    ) -> Result<Submission, AlreadySettled> {
        let asked = before.settling.as_ref().map_or(0, |settling| settling.asked);
        match self {
            Self::Decided(verdict) if verdict.outcome == MessageKey::AlreadyUsed && may_be_ours(before) => {
                let mut after = before.after(Event::Unanswered, pacing.now)?;
                after.settling = after.settling.map(|settling| settling.escalate(pacing.now));
                after.upstream = Some(verdict.upstream.clone());
                after.reasons = vec![USED_BY_WHOM.to_owned()];
                Ok(after)
            }
            Self::Decided(verdict) => Self::decided(verdict, before, entries, pacing.now),
            Self::Silent(silence) => {
                let wait = pacing.hasten.apply(waited(asked, pacing.chance));
                let mut after = Self::open(before, wait, asked.saturating_add(1), Some(silence), pacing)?;
                after.upstream = silence.upstream.clone().or(after.upstream);
                Ok(after)
            }
            Self::Spared(until) => {
                // A little later than the breaker, each at a moment of its own.
                let spread = pacing.hasten.apply(Duration::from_secs(10));
                let wait = until.since(pacing.now) + spread.mul_f64(pacing.chance.clamp(0.0, 1.0));
                Self::open(before, wait, asked, None, pacing)
            }
            Self::AtLimit => {
                // The partner was not asked. The queue asks it at once.
                let (Pacing { now, hasten, .. }, mut after) =
                    (pacing, before.after(Event::Unanswered, pacing.now)?);
                let due_now = |settling: PendingSettlement| {
                    settling.again_after(Duration::ZERO, settling.lookup_failures, now, hasten)
                };
                after.settling = after.settling.map(due_now);
                Ok(after)
            }
        }
    }

    fn decided(
        verdict: &PartnerVerdict,
        before: &Submission,
        entries: u32,
        now: Timestamp,
    ) -> Result<Submission, AlreadySettled> {
        let event = match verdict.outcome {
            MessageKey::Entered | MessageKey::InstantWin => Event::Accept {
                entries: verdict.entries.unwrap_or(entries),
                instant_win: (verdict.outcome == MessageKey::InstantWin)
                    .then(|| verdict.prize.clone().unwrap_or_else(|| UNNAMED_PRIZE.to_owned())),
            },
            key => Event::Reject(key),
        };
        let refused = matches!(event, Event::Reject(_));
        let mut after = before.after(event, now)?;
        after.upstream = Some(verdict.upstream.clone());
        after.reasons = if refused { vec![verdict.outcome.as_str().to_owned()] } else { Vec::new() };
        Ok(after)
    }

    fn open(
        before: &Submission,
        wait: Duration,
        asked: u32,
        silence: Option<&Silence>,
        Pacing { now, hasten, .. }: Pacing,
    ) -> Result<Submission, AlreadySettled> {
        let mut after = before.after(Event::Unanswered, now)?;
        let Some(settling) = after.settling.take() else { return Err(AlreadySettled) };
        let anomaly = silence.map(|silence| Anomaly::from(silence.why)).or(settling.anomaly.clone());
        let may_have_arrived =
            settling.may_have_arrived() || silence.is_some_and(|silence| silence.may_have_arrived);
        let since = settling.silent_since.unwrap_or(now);
        let silent_since = Some(since);
        let settling = PendingSettlement { asked, anomaly, may_have_arrived, silent_since, ..settling };
        let silent_for = now.since(since);
        after.settling = Some(if silent_for >= hasten.apply(GIVE_UP_AFTER) {
            after.reasons = vec![UNANSWERED.to_owned()];
            settling.escalate(now)
        } else {
            settling.again_after(wait, settling.lookup_failures, now, RetrySpeedup::default())
        });
        Ok(after)
    }
}

/// Whether a code that the partner calls used may be used by this very submission.
fn may_be_ours(submission: &Submission) -> bool {
    submission.settling.as_ref().is_some_and(PendingSettlement::may_have_arrived)
}

/// The wait after so many tries, shortened or lengthened by chance.
fn waited(tries: u32, chance: f64) -> Duration {
    let index = usize::try_from(tries).unwrap_or(usize::MAX);
    let seconds = WAITS.get(index).or(WAITS.last()).copied().unwrap_or_default();
    let factor = 1.0 - JITTER + 2.0 * JITTER * chance.clamp(0.0, 1.0);
    Duration::from_secs(seconds).mul_f64(factor)
}

/// The request to a partner about a submission; `None` when no code of the partner's is known.
pub fn partner_request(submission: &Submission) -> Option<PartnerRequest> {
    let code = submission.partner_code.as_ref()?;
    Some(PartnerRequest {
        reference: submission.submission_id.to_string(),
        code: code.expose().to_owned(),
        phone: submission.phone.expose_e164().to_owned(),
        campaign: submission.scope.campaign.to_string(),
        livemode: submission.scope.environment.is_live(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn waits_grow_and_stay_near_their_plan(tries in 0u32..40, chance in 0.0f64..=1.0) {
            let wait = waited(tries, chance);
            let plan = waited(tries, 0.5);
            prop_assert!(wait >= plan.mul_f64(0.79) && wait <= plan.mul_f64(1.21));
            prop_assert!(waited(tries + 1, 0.5) >= plan);
            prop_assert!(plan <= Duration::from_secs(1_800));
        }
    }
}
