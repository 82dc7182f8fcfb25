use super::{Caps, DayMoments, PlanState, Schedule};
use crate::domain::Timestamp;
use crate::domain::digest::Digest;

/// Holds while fewer are given than `due`, and the entrant is below the caps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub plan: Digest,
    /// Index in the plan's prizes.
    pub prize: usize,
    pub text: String,
    pub due: u32,
    /// Index in the plan's days.
    pub day: usize,
    pub caps: Caps,
}

/// The entry goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedClaim {
    Capped,
    /// Others took it, or it was stopped: the state that is there. `None` if it is to be read.
    Taken(Option<Box<PlanState>>),
}

impl Schedule {
    /// To the oldest open prize.
    pub fn claim(&self, moments: &DayMoments, at: Timestamp, given: &[u32]) -> Option<Claim> {
        let prize = self.open_prizes(moments, at, given).into_iter().next()?;
        let header = self.plan().header();
        Some(Claim {
            plan: self.plan().commitment(),
            prize,
            text: header.prizes.get(prize)?.clone(),
            due: moments.due(prize, at),
            day: moments.day(),
            caps: header.caps,
        })
    }
}
