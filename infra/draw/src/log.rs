//! `log.json`: times of a draw, and the log of calls.

use std::num::NonZeroU64;

use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use common::domain::unicode::is_visible_text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::difference::{Difference, check};
use crate::header::{Header, Period, Prize, is_time};
use crate::opening::Opening;

const MIN_PAUSE: TimeDelta = TimeDelta::minutes(1);
/// Calls before a winner counts as unreachable.
const MAX_CALLS: usize = 3;

/// Reasons of a skip: three of the rules, then those that operators give with an inspector.
const SKIP_REASONS: [&str; 11] = [
    HAS_PRIZE,
    "erased",
    "phone_deleted",
    NO_ANSWER,
    "wrong_number",
    "under_age",
    "not_identified",
    "declined",
    "excluded",
    "not_collected",
    "revoked",
];
const RULES: [&str; 3] = [HAS_PRIZE, "erased", "phone_deleted"];
const HAS_PRIZE: &str = "has_prize";
const NO_ANSWER: &str = "no_answer";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub frozen_at: DateTime<FixedOffset>,
    pub published_at: DateTime<FixedOffset>,
    pub drawn_at: DateTime<FixedOffset>,
    /// Each tier's places from 1 on, without a gap.
    pub places: Vec<LoggedPlace>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedPlace {
    pub tier: String,
    /// Counted from 1.
    pub place: NonZeroU64,
    /// Counted from 0.
    pub row: u64,
    /// Published with its proof, the opening.
    pub reference: Option<String>,
    pub region: Option<String>,
    /// Masked; `None` once the person is erased.
    pub phone: Option<String>,
    /// Reveals all references of the entrant.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub opening: Option<Opening>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub at: DateTime<FixedOffset>,
    pub is: Event,
    /// One of `SKIP_REASONS`.
    pub reason: Option<String>,
    /// Witness of a skip; `None` where the rules decide.
    pub inspector: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Drawn,
    NoAnswer,
    Reached,
    Identified,
    HandedOver,
    /// The next place is drawn.
    Skipped,
}

fn as_text<S: Serializer>(opening: &Option<Opening>, serializer: S) -> Result<S::Ok, S::Error> {
    opening
        .as_ref()
        .map(Opening::to_string)
        .serialize(serializer)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Opening>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom))
        .transpose()
}

impl Log {
    /// Checks that the list was public between period and round, and that the draw came after.
    pub(crate) fn check_times(
        &self,
        header: &Header,
        given_at: DateTime<Utc>,
    ) -> Result<(), Difference> {
        let Period { to, .. } = header.period;
        for (name, at) in [
            ("frozen_at", self.frozen_at),
            ("published_at", self.published_at),
        ] {
            check!(
                to < at && at < given_at,
                "log.json says {name} {}, which is not between the end of the period, {}, and the round, {}",
                at.to_rfc3339(),
                to.to_rfc3339(),
                given_at.with_timezone(to.offset()).to_rfc3339()
            );
        }
        check!(
            self.frozen_at <= self.published_at,
            "log.json says frozen_at {}, which is after published_at, {}",
            self.frozen_at.to_rfc3339(),
            self.published_at.to_rfc3339()
        );
        check!(
            self.drawn_at >= given_at,
            "log.json says drawn_at {}, which is before the round, {}",
            self.drawn_at.to_rfc3339(),
            given_at.with_timezone(to.offset()).to_rfc3339()
        );
        let steps = self.places.iter().flat_map(|place| &place.steps);
        let times = [self.frozen_at, self.published_at, self.drawn_at];
        check!(
            times
                .into_iter()
                .chain(steps.map(|step| step.at))
                .all(is_time),
            "log.json has a time that is not of the years 1000 to 2999, in whole milliseconds"
        );
        Ok(())
    }

    pub(crate) fn check_prizes(&self, header: &Header) -> Result<(), Difference> {
        for one in &self.places {
            let is_other = |other: &&LoggedPlace| {
                other.row == one.row && (&other.tier, other.place) != (&one.tier, one.place)
            };
            let mut others = self.places.iter().filter(is_other);
            let is_single = header.one_prize_per_row;
            check!(
                !(is_single && one.is_open() && others.clone().any(LoggedPlace::is_open)),
                "log.json: {} has a prize, but the same row has another one, and header.json gives one to each entrant",
                one.name()
            );
            let has_prize = |skip: &&Step| skip.reason.as_deref() == Some(HAS_PRIZE);
            if let Some(skip) = one.skip().filter(has_prize) {
                check!(
                    is_single && others.any(|other| other.held_at(skip.at)),
                    "log.json: {} was skipped because of another prize of the same row, but it had none",
                    one.name()
                );
            }
        }
        for Prize { name, number } in &header.prizes {
            let places = || self.places.iter().filter(|place| place.tier == *name);
            let winners = to_u64(places().filter(|place| place.is_open()).count());
            let are_all_drawn = to_u64(places().count()) == header.rows.get();
            check!(
                winners == number.get() || winners < number.get() && are_all_drawn,
                "log.json has {winners} winners of {name}, but there are {number} prizes"
            );
            for place in places().filter(|place| place.place > *number) {
                let drawn_at = place.steps.first().map(|step| step.at);
                let before = places().take_while(|other| other.place < place.place);
                let is_skipped = |other: &&LoggedPlace| {
                    other.skip().is_some_and(|skip| Some(skip.at) <= drawn_at)
                };
                let skipped = to_u64(before.filter(is_skipped).count());
                check!(
                    place.place.get() <= number.saturating_add(skipped).get(),
                    "log.json: {} was drawn before a skip opened it",
                    place.name()
                );
            }
        }
        Ok(())
    }
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl LoggedPlace {
    pub fn skip(&self) -> Option<&Step> {
        self.steps.last().filter(|step| step.is == Event::Skipped)
    }

    /// True if the place has its prize or can get it.
    pub fn is_open(&self) -> bool {
        self.skip().is_none()
    }

    /// Such as `place 2 of Kettle`.
    fn name(&self) -> String {
        format!("place {} of {}", self.place, self.tier)
    }

    fn held_at(&self, at: DateTime<FixedOffset>) -> bool {
        let is_drawn = self.steps.first().is_some_and(|step| step.at <= at);
        let is_kept = |skip: &Step| skip.at >= at && !skip.is_by_rule();
        is_drawn && self.skip().is_none_or(is_kept)
    }

    pub(crate) fn check_texts(&self) -> Result<(), Difference> {
        let inspector = self.skip().and_then(|skip| skip.inspector.as_ref());
        for (key, text) in [
            ("reference", &self.reference),
            ("region", &self.region),
            ("phone", &self.phone),
            ("inspector", &inspector.cloned()),
        ] {
            check!(
                text.as_deref().is_none_or(is_visible_text),
                "log.json: the {key} of {} is empty, or has characters that cannot be seen",
                self.name()
            );
        }
        Ok(())
    }

    pub(crate) fn check_steps(&self, given_at: DateTime<Utc>) -> Result<(), Difference> {
        match self.wrong_steps(given_at) {
            Some(why) => Err(Difference(format!(
                "log.json: the steps of {} {why}",
                self.name()
            ))),
            None => Ok(()),
        }
    }

    fn wrong_steps(&self, given_at: DateTime<Utc>) -> Option<&'static str> {
        let names: Vec<_> = self.steps.iter().map(|step| step.is).collect();
        let [Event::Drawn, after @ ..] = names.as_slice() else {
            return Some("do not begin with drawn");
        };
        let is_unanswered = |event: &&Event| **event == Event::NoAnswer;
        let unanswered = after.iter().take_while(is_unanswered).count();
        let is_in_order = match after.get(unanswered..).unwrap_or_default() {
            [] | [Event::Skipped] => unanswered <= MAX_CALLS,
            [Event::Reached]
            | [Event::Reached, Event::Identified]
            | [Event::Reached, Event::Identified, Event::HandedOver]
            | [Event::Reached, Event::Skipped]
            | [Event::Reached, Event::Identified, Event::Skipped] => unanswered < MAX_CALLS,
            _ => false,
        };
        if !is_in_order {
            return Some("do not follow each other");
        }
        let is_call = |step: &&Step| matches!(step.is, Event::NoAnswer | Event::Reached);
        let calls = self.steps.iter().filter(is_call).map(|step| step.at);
        if !calls.is_sorted_by(|one, next| *next - *one >= MIN_PAUSE) {
            return Some("have calls that are not a minute apart");
        }
        let mut times = self.steps.iter().map(|step| step.at);
        if !times.clone().is_sorted() || times.any(|at| at < given_at) {
            return Some("have a time before the round, or before the step above");
        }
        let is_bare = |step: &Step| step.reason.is_none() && step.inspector.is_none();
        if !self
            .steps
            .iter()
            .all(|step| step.is == Event::Skipped || is_bare(step))
        {
            return Some("have a reason or an inspector without a skip");
        }
        let skip = self.skip()?;
        let reason = skip.reason.as_deref().unwrap_or_default();
        let was = |event| after.contains(&event);
        let follows = match reason {
            NO_ANSWER => unanswered == MAX_CALLS,
            "wrong_number" => after.len() > 1 && !was(Event::Identified),
            "under_age" | "not_identified" => was(Event::Reached) && !was(Event::Identified),
            "declined" | "not_collected" => was(Event::Reached),
            "excluded" | "revoked" => true,
            _ => after.len() == 1,
        };
        if !SKIP_REASONS.contains(&reason) {
            Some("have a skip without a known reason")
        } else if !follows {
            Some("have a reason that does not follow from the calls before it")
        } else if skip.is_by_rule() == skip.inspector.is_some() {
            Some("have a skip of an operator without an inspector, or one of the rules with one")
        } else if ["erased", "phone_deleted"].contains(&reason) && self.opening.is_some() {
            Some("say that the person is not known any more, but the opening is there")
        } else {
            None
        }
    }

    pub(crate) fn check_reference(&self) -> Result<(), Difference> {
        let is_proven = match (&self.opening, &self.reference) {
            (Some(opening), Some(reference)) => opening.references().contains(reference),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        check!(
            is_proven,
            "log.json: no opening proves the reference of {}",
            self.name()
        );
        Ok(())
    }
}

impl Step {
    fn is_by_rule(&self) -> bool {
        let reason = self.reason.as_deref();
        reason.is_some_and(|reason| RULES.contains(&reason))
    }
}
