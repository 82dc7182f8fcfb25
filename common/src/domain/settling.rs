//! Settling: whose turn an unsettled submission is, when its next step is due, and what was learnt so
//! far. The table lists what is due by it, so that no message has to arrive for a submission to settle.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::moment::Moment;
use super::receipt::schedule::Tally;

/// How an unsettled submission is to be settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settling {
    /// Whose turn it is.
    pub turn: Turn,
    /// When the next step is due; a step that was begun and never finished is due again then.
    pub next_step_at: Moment,
    /// Steps begun in a row and not finished.
    pub unfinished: u32,
    /// Whom the next step has to do with.
    pub counterpart: Counterpart,
    /// How often a partner was asked and gave no answer.
    pub asked: u32,
    /// One of these questions may have reached the partner, which may have redeemed the code. A step that was
    /// lost counts from when it ends: see [`Self::may_have_arrived`].
    #[serde(default)]
    pub may_have_arrived: bool,
    /// Since when a partner has given no answer; none when it was not asked in vain.
    #[serde(default)]
    pub silent_since: Option<Moment>,
    /// What the tax authority has said so far instead of giving the record.
    pub tally: Tally,
    /// The instant prize of the code that the submission holds.
    pub prize: Option<String>,
    /// The latest thing that was not as expected, for the operator.
    pub surprise: Option<Surprise>,
}

/// Something that was not as expected.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surprise {
    /// What.
    pub what: String,
    /// What was said instead, where it was said in words. It may hold the secrets of a receipt.
    pub excerpt: Option<String>,
}

impl From<&str> for Surprise {
    fn from(what: &str) -> Self {
        Self { what: what.to_owned(), excerpt: None }
    }
}

impl fmt::Debug for Surprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surprise").field("what", &self.what).finish_non_exhaustive()
    }
}

/// Whom a step has to do with: each has a queue of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counterpart {
    /// The tax authority, or nobody: test codes.
    TaxAuthority,
    /// A partner.
    Partner,
}

impl Counterpart {
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
pub enum Turn {
    /// The service's own.
    Service,
    /// A person's: the service does nothing more by itself.
    Person,
}

/// How long a test that asks for it stays unanswered.
pub const SLOW: Duration = Duration::from_secs(4);

/// Longer than a step can take; after it, a step that was begun is taken for lost.
pub const LONGEST_STEP: Duration = Duration::from_secs(90);

/// A step that was begun this often and never finished kills whoever works on it.
const MOST_UNFINISHED: u32 = 5;

/// How a step begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// It is not due: somebody works on it, it is planned for later, or it is a person's turn.
    NotDue,
    /// Write this down first, so that nobody else begins it too.
    Go(Settling),
    /// It was begun too often.
    GiveUp,
}

impl Settling {
    /// The first step, at once.
    pub fn at_once(now: Moment, prize: Option<String>) -> Self {
        let (turn, tally) = (Turn::Service, Tally::default());
        Self {
            turn,
            next_step_at: now,
            unfinished: 0,
            counterpart: Counterpart::TaxAuthority,
            asked: 0,
            may_have_arrived: false,
            silent_since: None,
            tally,
            prize,
            surprise: None,
        }
    }

    /// The first step, which is begun already: whoever writes this asks the partner at once.
    pub fn asking(now: Moment) -> Self {
        let fresh = Self { counterpart: Counterpart::Partner, ..Self::at_once(now, None) };
        Self { unfinished: 1, next_step_at: now.after(LONGEST_STEP), ..fresh }
    }

    /// Whether somebody is at it.
    pub fn is_under_way(&self, now: Moment) -> bool {
        self.unfinished > 0 && now < self.next_step_at
    }

    /// Whether and how to begin a step now.
    pub fn begin(&self, now: Moment) -> Begin {
        if self.turn == Turn::Person || now < self.next_step_at {
            return Begin::NotDue;
        }
        if self.unfinished >= MOST_UNFINISHED {
            return Begin::GiveUp;
        }
        let unfinished = self.unfinished + 1;
        Begin::Go(Self { unfinished, next_step_at: now.after(LONGEST_STEP), ..self.clone() })
    }

    /// Whether an earlier step may have reached the partner without its answer being known: one that was lost
    /// may have.
    pub fn may_have_arrived(&self) -> bool {
        self.may_have_arrived || self.unfinished > 1
    }

    /// The plan for one more step, this much later.
    #[must_use]
    pub fn again_after(&self, wait: Duration, tally: Tally, now: Moment, hasten: Hasten) -> Self {
        let may_have_arrived = self.may_have_arrived();
        let next_step_at = now.after(hasten.apply(wait));
        Self { unfinished: 0, may_have_arrived, tally, next_step_at, ..self.clone() }
    }

    /// Taken from a person again: due at once, as if nothing had been tried.
    #[must_use]
    pub fn resumed(&self, now: Moment) -> Self {
        let (turn, tally) = (Turn::Service, Tally::default());
        let may_have_arrived = self.may_have_arrived();
        let (unfinished, silent_since) = (0, None);
        Self { turn, unfinished, may_have_arrived, silent_since, tally, next_step_at: now, ..self.clone() }
    }

    /// Handed to a person.
    #[must_use]
    pub fn for_a_person(&self, now: Moment) -> Self {
        let may_have_arrived = self.may_have_arrived();
        Self { turn: Turn::Person, unfinished: 0, may_have_arrived, next_step_at: now, ..self.clone() }
    }

    /// When the service plans its next step; `None` while a step is under way, or for a person.
    pub fn planned_for(&self) -> Option<Moment> {
        (self.turn == Turn::Service && self.unfinished == 0).then_some(self.next_step_at)
    }
}

/// What every planned wait is divided by: 1, or more where retries are to be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hasten(u32);

impl Default for Hasten {
    fn default() -> Self {
        Self(1)
    }
}

impl Hasten {
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

    fn at(seconds: i64) -> Moment {
        Moment::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_step_that_was_begun_is_nobody_elses_until_it_is_lost() {
        let fresh = Settling::at_once(at(0), None);
        let Begin::Go(begun) = fresh.begin(at(0)) else { panic!("due at once") };
        assert_eq!(begun.begin(at(89)), Begin::NotDue);
        assert_eq!(begun.planned_for(), None, "a caller does not wait for it to be lost");
        assert!(matches!(begun.begin(at(90)), Begin::Go(_)));
    }

    #[test]
    fn a_step_that_kills_is_given_up_and_one_that_ends_is_not() {
        let mut settling = Settling::at_once(at(0), None);
        for round in 0..5 {
            let Begin::Go(begun) = settling.begin(at(round * 100)) else { panic!("due") };
            settling = begun;
        }
        assert_eq!(settling.begin(at(1_000)), Begin::GiveUp);
        let ended =
            settling.again_after(Duration::from_secs(60), Tally::default(), at(400), Hasten::default());
        assert_eq!(ended.planned_for(), Some(at(460)));
        let sooner = settling.again_after(Duration::from_secs(60), Tally::default(), at(400), Hasten::by(10));
        assert_eq!(sooner.planned_for(), Some(at(406)));
        assert!(matches!(ended.begin(at(460)), Begin::Go(_)));
    }

    #[test]
    fn a_persons_turn_is_never_due() {
        let waiting = Settling::at_once(at(0), None).for_a_person(at(5));
        assert_eq!(waiting.begin(at(1_000_000)), Begin::NotDue);
        assert_eq!(waiting.planned_for(), None);
    }
}

#[cfg(test)]
mod plan_tests;
