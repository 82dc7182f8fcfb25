//! Instant wins by winning moments: a plan is published before its first day, and its moments can
//! be computed again once its secret is revealed.
//!
//! | file | what |
//! | --- | --- |
//! | `plan` | the published [`Header`] and its commitment |
//! | `secret` | [`MomentsSecret`] of a deployment, [`PlanSecret`] of a plan |
//! | `moments` | [`Schedule`]: all moments of a plan; [`DayMoments`]: prizes due at a time of a day |
//! | `rules` | [`InstantRules`]: the section of a campaign file |
//! | `stored` | [`StoredPlan`], [`PlanState`]: what operators record |
//! | `claim` | [`Claim`]: an entry's claim to a due prize |
//! | `days` | [`Header::day_digest`]: what is logged of each day |
//! | `check` | compares the entries of a finished plan with its moments |

mod check;
mod claim;
mod days;
mod moments;
mod plan;
mod rules;
mod secret;
mod stored;
#[cfg(test)]
mod vector_tests;

pub use self::check::{Fault, Row, check};
pub use self::claim::{Claim, RefusedClaim};
pub use self::moments::{DayMoments, Schedule};
pub use self::plan::{Algorithm, Caps, Day, Header, MAX_PRIZES, Plan, PlanProblem, UnreadablePlan};
pub use self::rules::{DEFAULT_CURVE, InstantDays, InstantRules};
pub use self::secret::{MomentsSecret, PlanSecret};
pub use self::stored::{PlanAct, PlanChange, PlanRequest, PlanRound, PlanState, StoredPlan};
