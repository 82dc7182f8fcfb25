//! What follows from asking a partner: a pure function from its answer to the submission's next state.

use std::time::Duration;

use super::Question;
use super::reply::{PartnerVerdict, Upstream};
use crate::domain::campaign::Campaign;
use crate::domain::message::MessageKey;
use crate::domain::moment::Moment;
use crate::domain::settling::{Hasten, Settling, Surprise};
use crate::domain::submission::{AlreadySettled, Event, Submission};

/// Waits before asking again, in seconds; the last one repeats.
const WAITS: [u64; 8] = [5, 15, 30, 60, 120, 300, 900, 1_800];
/// How much of a wait is left to chance, so that submissions that failed together do not come back together.
const JITTER: f64 = 0.2;
/// How long no answer is borne before a person is told.
const LONGEST_SILENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// The prize of a partner that names none.
const UNNAMED_PRIZE: &str = "Instant prize";
/// The reason of a submission that is left to a person.
const UNANSWERED: &str = "partner_unanswered";

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The partner decided.
    Decided(PartnerVerdict),
    /// It did not: why, and its own words where there were some.
    Silent {
        /// In one word.
        why: &'static str,
        /// The partner's own words.
        upstream: Option<Upstream>,
    },
    /// It was not asked, because it fails again and again; not before this.
    Spared(Moment),
}

/// When and how the next step is taken.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// The time now.
    pub now: Moment,
    /// What waits are divided by.
    pub hasten: Hasten,
    /// A random number from 0 to 1.
    pub chance: f64,
}

impl Asked {
    /// Nobody was asked, because a part of the service failed: asked again like after a silence.
    pub fn service_failed() -> Self {
        Self::Silent { why: "service_failed", upstream: None }
    }

    /// The submission after this, and whether its code was wrong.
    ///
    /// # Errors
    /// [`AlreadySettled`] when nothing can happen any more.
    pub fn applied_to(
        &self,
        before: &Submission,
        campaign: &Campaign,
        pacing: Pacing,
    ) -> Result<(Submission, bool), AlreadySettled> {
        match self {
            Self::Decided(verdict) => Self::decided(verdict, before, campaign, pacing.now),
            Self::Silent { why, upstream } => {
                let tries = before.settling.as_ref().map_or(0, |settling| settling.asked);
                let wait = waited(tries, pacing.chance);
                let surprise = Surprise { what: (*why).to_owned(), excerpt: None };
                let mut after = Self::open(before, wait, tries + 1, Some(surprise), pacing)?;
                after.upstream = upstream.clone().or(after.upstream);
                Ok((after, false))
            }
            Self::Spared(until) => {
                let tries = before.settling.as_ref().map_or(0, |settling| settling.asked);
                // A little later than the breaker, each at a moment of its own.
                let spread = Duration::from_secs(10).mul_f64(pacing.chance.clamp(0.0, 1.0));
                let wait = until.since(pacing.now) + spread;
                Ok((Self::open(before, wait, tries, None, pacing)?, false))
            }
        }
    }

    fn decided(
        verdict: &PartnerVerdict,
        before: &Submission,
        campaign: &Campaign,
        now: Moment,
    ) -> Result<(Submission, bool), AlreadySettled> {
        let event = match verdict.outcome {
            MessageKey::Entered | MessageKey::InstantWin => Event::Accept {
                entries: verdict.entries.unwrap_or(campaign.entries_per_submission),
                instant_win: (verdict.outcome == MessageKey::InstantWin)
                    .then(|| verdict.prize.clone().unwrap_or_else(|| UNNAMED_PRIZE.to_owned())),
            },
            key => Event::Reject(key),
        };
        let refused = matches!(event, Event::Reject(_));
        let mut after = before.after(event, now)?;
        after.upstream = Some(verdict.upstream.clone());
        after.reasons = if refused { vec![verdict.outcome.as_str().to_owned()] } else { Vec::new() };
        Ok((after, verdict.outcome == MessageKey::Invalid))
    }

    fn open(
        before: &Submission,
        wait: Duration,
        asked: u32,
        surprise: Option<Surprise>,
        Pacing { now, hasten, .. }: Pacing,
    ) -> Result<Submission, AlreadySettled> {
        let mut after = before.after(Event::Unanswered, now)?;
        let Some(settling) = after.settling.take() else { return Err(AlreadySettled) };
        let settling = Settling { asked, surprise: surprise.or(settling.surprise.clone()), ..settling };
        let silent_for = now.since(before.created_at);
        after.settling = Some(if silent_for >= hasten.apply(LONGEST_SILENCE) {
            after.reasons = vec![UNANSWERED.to_owned()];
            settling.for_a_person(now)
        } else {
            settling.again_after(wait, settling.tally, now, hasten)
        });
        Ok(after)
    }
}

/// The wait after so many tries, shortened or lengthened by chance.
fn waited(tries: u32, chance: f64) -> Duration {
    let index = usize::try_from(tries).unwrap_or(usize::MAX);
    let seconds = WAITS.get(index).or(WAITS.last()).copied().unwrap_or_default();
    let factor = 1.0 - JITTER + 2.0 * JITTER * chance.clamp(0.0, 1.0);
    Duration::from_secs(seconds).mul_f64(factor)
}

/// What a partner is asked about a submission; `None` when no code of its own is known.
pub fn question(submission: &Submission) -> Option<Question> {
    let code = submission.partner_code.as_ref()?;
    Some(Question {
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
