//! The published header of a plan: JSON in the form of RFC 8785, with integers and strings alone.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::domain::campaign::Window;
use crate::domain::digest::Digest;
use crate::domain::scope::parse_slug;
use crate::domain::unicode::is_visible_text;
use crate::domain::{CampaignSlug, Environment, Scope, Timestamp};

/// A year of days, twice, and one leap day.
const MAX_DAYS: usize = 731;
pub const MAX_PRIZES: usize = 20;
const MAX_PRIZES_PER_DAY: u64 = 20_000;
const MAX_PRIZE_CHARS: usize = 120;
const MAX_WEIGHT: u32 = 1_000_000;
/// A double holds smaller integers exactly.
const INTEGER_LIMIT: u64 = 1 << 53;
/// A record has 400 KB at most.
const MAX_BYTES: usize = 350_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    #[serde(rename = "svc-instant-v1")]
    V1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caps {
    pub day: u32,
    pub total: u32,
}

/// Seconds since 1970; the end is exclusive. Days follow each other without a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Day {
    pub curve: String,
    pub from: i64,
    pub prizes: Vec<u32>,
    pub to: i64,
}

impl Day {
    pub fn start(&self) -> Timestamp {
        Timestamp::from_millis(self.from.saturating_mul(1_000))
    }

    pub fn end(&self) -> Timestamp {
        Timestamp::from_millis(self.to.saturating_mul(1_000))
    }

    /// Milliseconds of one part of the day, of which a curve has one for each weight.
    pub(super) fn part(&self, weights: usize) -> Option<u64> {
        let parts = u64::try_from(weights).ok()?;
        let seconds = u64::try_from(self.to.checked_sub(self.from)?).ok()?;
        let millis = seconds.checked_mul(1_000)?;
        millis
            .checked_div(parts)
            .filter(|_| millis.is_multiple_of(parts))
    }
}

/// Fields in alphabetical order, which RFC 8785 asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub algorithm: Algorithm,
    pub campaign: CampaignSlug,
    pub caps: Caps,
    pub chain: Digest,
    /// Weights of equal parts of a day, by name.
    pub curves: BTreeMap<String, Vec<u32>>,
    pub days: Vec<Day>,
    pub environment: Environment,
    pub prizes: Vec<String>,
    pub round: NonZeroU64,
    /// SHA-256 of the plan's secret.
    pub secret: Digest,
}

/// Prints as `days[3].to must be ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    pub field: String,
    pub message: String,
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.message)
    }
}

/// A header without problems, as it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    header: Header,
    json: String,
    commitment: Digest,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadablePlan {
    #[error("the plan is not a header: {0}")]
    NotAHeader(String),
    #[error("the plan is written in another form than its own")]
    OtherForm,
    #[error("the plan breaks a rule: {0}")]
    Problem(PlanProblem),
}

impl Header {
    /// Those that the header alone shows.
    pub fn problems(&self) -> Vec<PlanProblem> {
        let mut problems = Problems::default();
        self.check_prizes(&mut problems);
        for (field, cap) in [("caps.day", self.caps.day), ("caps.total", self.caps.total)] {
            problems.check(cap > 0, field, "must be at least 1");
        }
        for (name, weights) in &self.curves {
            check_curve(name, weights, &mut problems);
        }
        let days = self.days.len();
        problems.check((1..=MAX_DAYS).contains(&days), "days", {
            format!("must be 1 to {MAX_DAYS} days, not {days}")
        });
        let mut before: Option<&Day> = None;
        for (index, day) in self.days.iter().enumerate() {
            self.check_day(&format!("days[{index}]"), day, before, &mut problems);
            before = Some(day);
        }
        problems.check(
            self.round.get() < INTEGER_LIMIT,
            "round",
            "must be below 2^53",
        );
        problems.0
    }

    /// Broken rules that depend on the campaign and the time: all moments are ahead, and entries
    /// are taken at each.
    pub fn problems_within(&self, window: Window, now: Timestamp) -> Vec<PlanProblem> {
        let (Some(first), Some(last)) = (self.days.first(), self.days.last()) else {
            return Vec::new();
        };
        let mut problems = Problems::default();
        problems.check(first.start() > now, "days[0].from", {
            format!("is {}, which is in the past", first.start())
        });
        if let Some(start) = window.start {
            problems.check(first.start() >= start, "days[0].from", {
                let from = first.start();
                format!("is {from}, before the campaign's window starts at {start}")
            });
        }
        if let Some(end) = window.end {
            let field = format!("days[{}].to", self.days.len() - 1);
            problems.check(last.end() <= end, &field, {
                let to = last.end();
                format!("is {to}, after the campaign's window ends at {end}")
            });
        }
        problems.0
    }

    pub fn scope(&self) -> Scope {
        Scope {
            campaign: self.campaign.clone(),
            environment: self.environment,
        }
    }

    fn check_prizes(&self, problems: &mut Problems) {
        let prizes = self.prizes.len();
        problems.check((1..=MAX_PRIZES).contains(&prizes), "prizes", {
            format!("must be 1 to {MAX_PRIZES} prizes, not {prizes}")
        });
        let mut seen = BTreeSet::new();
        for (index, prize) in self.prizes.iter().enumerate() {
            let is_short = prize.chars().count() <= MAX_PRIZE_CHARS;
            let field = format!("prizes[{index}]");
            problems.check(is_short && is_visible_text(prize), &field, {
                format!(
                    "must be 1 to {MAX_PRIZE_CHARS} printable characters, without white space at an end"
                )
            });
            problems.check(
                seen.insert(prize),
                &field,
                "is there twice; name them apart",
            );
        }
    }

    fn check_day(&self, field: &str, day: &Day, before: Option<&Day>, problems: &mut Problems) {
        let Day {
            curve,
            from,
            prizes,
            to,
        } = day;
        let times = Timestamp::from_millis(0).as_seconds()..=Timestamp::MAX.as_seconds();
        if !times.contains(from) || !times.contains(to) {
            problems.add(field, "must have times in the years 1970 to 9999");
            return;
        }
        let has_time = from < to;
        problems.check(has_time, &format!("{field}.to"), {
            format!("must be later than its `from`, {}", day.start())
        });
        if let Some(before) = before {
            let (end, is) = (before.end(), day.start());
            let problem = match before.to.cmp(from) {
                Ordering::Equal => None,
                Ordering::Less => Some("leaves a gap after the day before, which"),
                Ordering::Greater if before.from < *from => {
                    Some("overlaps with the day before, which")
                }
                Ordering::Greater => Some("not in order: the day before"),
            };
            if let Some(problem) = problem {
                problems.add(
                    &format!("{field}.from"),
                    format!("is {is}, and {problem} ends at {end}"),
                );
            }
        }
        match self.curves.get(curve) {
            None => problems.add(
                &format!("{field}.curve"),
                format!("names no curve of the plan: {curve:?}"),
            ),
            Some(weights) if has_time && !weights.is_empty() => match day.part(weights.len()) {
                None => problems.add(
                    field,
                    format!(
                        "has {} seconds, which {curve} does not divide into {} parts of whole milliseconds",
                        to - from,
                        weights.len()
                    ),
                ),
                Some(part) => problems.check(
                    sum(weights)
                        .checked_mul(part)
                        .is_some_and(|product| product < INTEGER_LIMIT),
                    &format!("{field}.curve"),
                    "has too much weight: the sum of weights times the milliseconds of a part must be below 2^53",
                ),
            },
            Some(_) => {}
        }
        let (known, given) = (self.prizes.len(), prizes.len());
        problems.check(known == given, &format!("{field}.prizes"), {
            format!("must have a number for each of {known} prizes, not {given} numbers")
        });
        let number = sum(prizes);
        problems.check(number <= MAX_PRIZES_PER_DAY, &format!("{field}.prizes"), {
            format!("must add up to {MAX_PRIZES_PER_DAY} at most, not {number}")
        });
    }
}

impl Plan {
    pub fn new(header: Header) -> Result<Self, Vec<PlanProblem>> {
        let mut problems = Problems(header.problems());
        let json = serde_json::to_string(&header).unwrap_or_default();
        problems.check((1..=MAX_BYTES).contains(&json.len()), "plan", {
            format!("has {} bytes; at most {MAX_BYTES} are stored", json.len())
        });
        if !problems.0.is_empty() {
            return Err(problems.0);
        }
        Ok(Self {
            commitment: Digest::from_parts(&[b"svc-instant-v1\n", json.as_bytes()]),
            header,
            json,
        })
    }

    /// Refuses all but the exact bytes that [`Self::json`] returns.
    pub fn read(json: &str) -> Result<Self, UnreadablePlan> {
        let header = serde_json::from_str(json)
            .map_err(|error| UnreadablePlan::NotAHeader(error.to_string()))?;
        let plan = Self::new(header).map_err(|problems| match problems.into_iter().next() {
            Some(problem) => UnreadablePlan::Problem(problem),
            None => UnreadablePlan::OtherForm,
        })?;
        if plan.json == json {
            Ok(plan)
        } else {
            Err(UnreadablePlan::OtherForm)
        }
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The published bytes.
    pub fn json(&self) -> &str {
        &self.json
    }

    pub fn commitment(&self) -> Digest {
        self.commitment
    }
}

pub(super) fn sum(numbers: &[u32]) -> u64 {
    numbers.iter().copied().map(u64::from).sum()
}

fn check_curve(name: &str, weights: &[u32], problems: &mut Problems) {
    let field = format!("curves.{name}");
    problems.check(
        parse_slug(name).is_some(),
        &field,
        "must be named with 1 to 64 of a-z, 0-9 and inner dashes",
    );
    problems.check(
        sum(weights) > 0,
        &field,
        "must have at least one weight above 0",
    );
    for (index, weight) in weights.iter().enumerate() {
        problems.check(*weight <= MAX_WEIGHT, &format!("{field}[{index}]"), {
            format!("must be {MAX_WEIGHT} at most, not {weight}")
        });
    }
}

#[derive(Default)]
struct Problems(Vec<PlanProblem>);

impl Problems {
    fn add(&mut self, field: &str, message: impl Into<String>) {
        self.0.push(PlanProblem {
            field: field.to_owned(),
            message: message.into(),
        });
    }

    fn check(&mut self, holds: bool, field: &str, message: impl Into<String>) {
        if !holds {
            self.add(field, message);
        }
    }
}
