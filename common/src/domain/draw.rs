//! Records of draws; `infra/draw` computes them.

pub mod contact;

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::{OperatorDecision, Timestamp};

slug_text! {
    /// Such as `week-03`: 1 to 64 of `a-z`, `0-9` and inner `-`.
    DrawName, "a draw's name", "week-03"
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    pub who: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Operator {
    pub fn name(&self) -> &str {
        self.by.as_deref().unwrap_or(&self.who)
    }
}

/// Publishing and drawing each add their part once.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    pub name: DrawName,
    /// `commitment.txt`: 64 hexadecimal digits.
    pub commitment: String,
    /// Merkle root of `entries.csv`, as 64 hexadecimal digits.
    pub root: String,
    /// `header.json`, byte for byte.
    pub header: String,
    pub chain: String,
    pub round: NonZeroU64,
    pub round_at: Timestamp,
    /// Submissions from before the period's end.
    pub unsettled: u64,
    /// Entries, largest first.
    #[serde(default)]
    pub largest_rows: Vec<u64>,
    /// Entries given by people.
    #[serde(default)]
    pub given_by_hand: u64,
    pub frozen_at: Timestamp,
    pub frozen_by: Operator,
    pub published_at: Option<Timestamp>,
    pub outcome: Option<DrawOutcome>,
    pub contact_changes: u64,
    /// A request never to draw it, in force once a second operator has confirmed it.
    pub abandonment: Option<OperatorDecision>,
}

/// Held while a scope freezes. The openings of an unrecorded draw are found by it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezeLock {
    /// Random, replaced at each change, which is conditional on the old id.
    pub id: String,
    pub draw: DrawName,
    /// Last time to record the draw; `None` once it is recorded or given up.
    pub expires_at: Option<Timestamp>,
    /// Folder of its openings, once they are uploaded.
    pub commitment: Option<String>,
}

impl FreezeLock {
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| now < expires_at)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawOutcome {
    pub signature: String,
    /// SHA-256 of the signature, in hexadecimal.
    pub randomness: String,
    pub drawn_at: Timestamp,
    pub drawn_by: Operator,
}

impl Draw {
    pub fn is_published_in_time(&self) -> bool {
        self.published_at
            .is_some_and(|published_at| published_at < self.round_at)
    }

    /// Abandoned by two operators; it has no winners.
    pub fn is_abandoned(&self) -> bool {
        let decision = self.abandonment.as_ref();
        decision.is_some_and(|decision| decision.confirmed.is_some())
    }

    pub fn awaits_run(&self, now: Timestamp) -> bool {
        self.is_published_in_time() && self.can_be_drawn(now) && self.round_at <= now
    }

    /// A draw that was published late has no winners.
    pub fn can_be_drawn(&self, now: Timestamp) -> bool {
        self.outcome.is_none()
            && !self.is_abandoned()
            && self.published_at.unwrap_or(now) < self.round_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::submission::Confirmation;

    #[test]
    fn name_cannot_smuggle_a_separator_into_a_key() {
        for bad in [
            "",
            "-a",
            "a-",
            "Week",
            "a#b",
            "a/b",
            "a b",
            "é",
            &"a".repeat(65),
        ] {
            assert!(bad.parse::<DrawName>().is_err(), "{bad:?} passed");
        }
        let name: DrawName = "week-03".parse().expect("well formed");
        assert_eq!(
            (name.as_str(), name.to_string()),
            ("week-03", "week-03".to_owned())
        );
        assert_eq!(String::from(name), "week-03");
    }

    const ROUND_AT: Timestamp = Timestamp::from_millis(1_000);

    fn operator() -> Operator {
        Operator {
            who: "role".to_owned(),
            by: None,
        }
    }

    fn published(millis: Option<i64>) -> Draw {
        Draw {
            name: "week-03".parse().expect("a name"),
            commitment: String::new(),
            root: String::new(),
            header: String::new(),
            chain: String::new(),
            round: NonZeroU64::MIN,
            round_at: ROUND_AT,
            unsettled: 0,
            largest_rows: Vec::new(),
            given_by_hand: 0,
            frozen_at: Timestamp::from_millis(0),
            frozen_by: operator(),
            published_at: millis.map(Timestamp::from_millis),
            outcome: None,
            contact_changes: 0,
            abandonment: None,
        }
    }

    #[test]
    fn operator_is_named_by_the_person_if_known() {
        let person = Operator {
            by: Some("asha".to_owned()),
            ..operator()
        };
        assert_eq!([operator().name(), person.name()], ["role", "asha"]);
    }

    #[test]
    fn freeze_lock_is_held_until_it_expires() {
        let held = [None, Some(999), Some(1_000), Some(1_001)].map(|millis| {
            let lock = FreezeLock {
                id: String::new(),
                draw: "week-03".parse().expect("a name"),
                expires_at: millis.map(Timestamp::from_millis),
                commitment: None,
            };
            lock.is_held(Timestamp::from_millis(1_000))
        });
        assert_eq!(held, [false, false, false, true]);
    }

    #[test]
    fn commitment_has_to_be_public_before_the_round() {
        let in_time = [None, Some(999), Some(1_000), Some(1_001)]
            .map(|at| published(at).is_published_in_time());
        assert_eq!(in_time, [false, true, false, false]);
    }

    #[test]
    fn draw_published_in_time_is_run_from_its_round_on() {
        for (published_at, now, can_be_drawn, awaits_run) in [
            (None, 999, true, false),
            (None, 1_000, false, false),
            (Some(999), 999, true, false),
            (Some(999), 1_000, true, true),
            (Some(1_000), 1_000, false, false),
        ] {
            let (draw, now) = (published(published_at), Timestamp::from_millis(now));
            assert_eq!(
                (draw.can_be_drawn(now), draw.awaits_run(now)),
                (can_be_drawn, awaits_run),
                "{published_at:?} at {now}"
            );
        }
    }

    #[test]
    fn drawn_or_abandoned_draw_is_not_run() {
        let drawn = Draw {
            outcome: Some(DrawOutcome {
                signature: String::new(),
                randomness: String::new(),
                drawn_at: ROUND_AT,
                drawn_by: operator(),
            }),
            ..published(Some(999))
        };
        let abandoned = |confirmed: Option<Confirmation>| Draw {
            abandonment: Some(OperatorDecision {
                by: "asha".to_owned(),
                at: ROUND_AT,
                why: None,
                confirmed,
                identity: None,
            }),
            ..published(Some(999))
        };
        let confirmation = Confirmation {
            by: "juma".to_owned(),
            why: None,
            identity: None,
        };
        let draws = [drawn, abandoned(None), abandoned(Some(confirmation))];
        assert_eq!(
            draws.each_ref().map(Draw::is_abandoned),
            [false, false, true]
        );
        assert_eq!(
            draws.map(|draw| draw.awaits_run(ROUND_AT)),
            [false, true, false]
        );
    }
}
