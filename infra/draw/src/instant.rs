//! The published files of instant prizes by winning moments: a plan before, its secret and the
//! entries after.

use std::num::NonZeroU64;
use std::ops::Range;
use std::time::Duration;

use chrono::{DateTime, Utc};
use common::domain::Timestamp;
use common::domain::instant::{
    Day, Fault, Header, Plan, PlanSecret, Row, Schedule, check as check_rows,
};
use serde::{Deserialize, Serialize};

use crate::beacon::Chain;
use crate::commitment::randomness;
use crate::difference::{Difference, check};
use crate::digest::{Digest, RoundSignature};
use crate::strict;

/// Files as bytes; those from `secret` on are published after the last day.
#[derive(Clone, Copy, Debug)]
pub struct PlanFiles<'a> {
    pub header: &'a [u8],
    pub commitment: &'a [u8],
    pub secret: &'a [u8],
    pub result: &'a [u8],
    pub rows: &'a [u8],
}

/// Milliseconds since 1970 in which nothing could be won.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    pub from: u64,
    pub to: u64,
}

/// Digest of a day's wins and stops, published when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedDay {
    /// Index in the plan's days.
    pub day: u64,
    /// See [`common::domain::instant::Header::day_digest`].
    pub sha256: Digest,
    /// Milliseconds since 1970, by the storage's clock.
    pub logged_at: u64,
}

/// `result.json` of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanResult {
    pub round: NonZeroU64,
    pub signature: RoundSignature,
    pub randomness: Digest,
    /// Prizes that were not given back, by prize.
    pub given: Vec<u64>,
    pub stops: Vec<Stop>,
    pub days: Vec<LoggedDay>,
    /// Commitments of other plans of the campaign.
    pub other_plans: Vec<Digest>,
}

/// A line of `rows.csv`: an accepted entry that no other source gave a prize.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PrizeRow {
    pub accepted_at: Timestamp,
    /// See [`common::domain::instant::StoredPlan::reference_digest`].
    pub reference: Digest,
    pub entrant: Digest,
    /// Index in the plan's prizes.
    pub prize: Option<usize>,
    pub revoked_at: Option<Timestamp>,
}

/// A plan that holds, but for the signature of its round.
#[derive(Clone, Debug)]
pub struct VerifiedPlan {
    pub plan: Plan,
    pub result: PlanResult,
    pub given_at: DateTime<Utc>,
    pub rows: u64,
    /// Number of moments, by prize.
    pub moments: Vec<u64>,
    /// Indices of days that were not logged, or more than a day later.
    pub not_logged: Vec<usize>,
    /// Number of prizes that were won after the last day, which no log has.
    pub won_after_days: u64,
}

/// `rows.csv`.
pub fn rows_csv(mut rows: Vec<PrizeRow>) -> String {
    rows.sort_unstable();
    rows.iter().map(PrizeRow::line).collect()
}

impl PrizeRow {
    fn line(&self) -> String {
        let Self {
            accepted_at,
            reference,
            entrant,
            ..
        } = self;
        let prize = self.prize.map_or_else(String::new, |one| one.to_string());
        let revoked = self.revoked_at.map_or_else(String::new, digits);
        format!(
            "{},{reference},{entrant},{prize},{revoked}\n",
            digits(*accepted_at)
        )
    }
}

impl PlanFiles<'_> {
    /// The plan that was committed to.
    pub fn plan(&self) -> Result<Plan, Difference> {
        let header = str::from_utf8(self.header)
            .map_err(|error| Difference(format!("header.json: {error}")))?;
        let plan =
            Plan::read(header).map_err(|error| Difference(format!("header.json: {error}")))?;
        let (said, computed) = (
            digest("commitment.txt", self.commitment)?,
            plan.commitment(),
        );
        check!(
            said == computed,
            "commitment.txt says {said}, but header.json leads to {computed}"
        );
        Ok(plan)
    }

    /// Verifies all but the signature of the round.
    pub fn verify(&self, chain: &Chain) -> Result<VerifiedPlan, Difference> {
        let plan = self.plan()?;
        let header = plan.header().clone();
        let secret = PlanSecret::from_bytes(*digest("secret.txt", self.secret)?.as_bytes());
        check!(
            secret.digest() == header.secret,
            "secret.txt leads to {}, but header.json says {}",
            secret.digest(),
            header.secret
        );
        let round = header.round;
        let given_at = chain.time_of(round);
        let first = header.days.first().map(|day| DateTime::from(day.start()));
        let given_at = given_at.filter(|at| first.is_some_and(|first| *at < first));
        let Some(given_at) = given_at else {
            return Err(Difference(format!(
                "round {round} was given after the first day began, or has no time"
            )));
        };
        let result: PlanResult = strict::read("result.json", self.result)?;
        check!(
            result.round == round,
            "result.json is of round {}, but header.json names round {round}",
            result.round
        );
        let computed = randomness(result.signature.as_bytes());
        check!(
            computed == result.randomness,
            "result.json has the randomness {}, but its signature leads to {computed}",
            result.randomness
        );
        let stops = result.stops.iter().flat_map(|stop| [stop.from, stop.to]);
        check!(
            stops.is_sorted_by(|one, next| one < next),
            "result.json has stops that are not in order"
        );
        let schedule = Schedule::new(plan, &secret, computed)
            .ok_or_else(|| Difference("secret.txt is not of header.json".to_owned()))?;
        let moments = schedule.all_moments();
        let text = String::from_utf8_lossy(self.rows);
        let rows = read_rows(&text, &header)?;
        let stops: Vec<_> = result
            .stops
            .iter()
            .map(|stop| at(stop.from)..at(stop.to))
            .collect();
        check_whole(&rows, &schedule, &stops)?;
        let given = given(&rows, &header);
        check!(
            result.given == given,
            "result.json says that {:?} prizes were given, but rows.csv has {given:?}",
            result.given
        );
        check_days(&rows, &header, &result.days, &stops)?;
        let end = header.days.last().map(|day| day.end());
        let after = rows
            .iter()
            .filter(|row| row.prize.is_some() && Some(row.accepted_at) >= end);
        Ok(VerifiedPlan {
            plan: schedule.plan().clone(),
            given_at,
            rows: count(rows.len()),
            moments: moments.iter().map(|one| count(one.len())).collect(),
            not_logged: not_logged(&header, &result),
            won_after_days: count(after.count()),
            result,
        })
    }
}

fn read_rows<'a>(text: &'a str, header: &Header) -> Result<Vec<Row<'a>>, Difference> {
    let first = header.days.first().map(|day| day.start());
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let read = read_row(line);
        let row = read.ok_or_else(|| {
            Difference(format!(
                "rows.csv, line {number} is not a time, two digests, a prize or none, and a time or none"
            ))
        })?;
        let key = |row: &Row<'_>| (row.accepted_at, row.reference.to_owned());
        check!(
            rows.last().is_none_or(|before| key(before) < key(&row)),
            "rows.csv, line {number} is not after the line before"
        );
        check!(
            Some(row.accepted_at) >= first,
            "rows.csv, line {number} is before the first day"
        );
        check!(
            row.revoked_at
                .is_none_or(|at| row.prize.is_some() && at >= row.accepted_at),
            "rows.csv, line {number} gives back a prize that it did not have"
        );
        rows.push(row);
    }
    Ok(rows)
}

fn check_whole(
    rows: &[Row<'_>],
    schedule: &Schedule,
    stops: &[Range<Timestamp>],
) -> Result<(), Difference> {
    check_rows(rows, schedule, stops).map_err(|fault| {
        let name = reference_of(&fault);
        // The last of two lines that have the same reference.
        let line = rows.iter().rposition(|row| row.reference == name);
        Difference(format!(
            "rows.csv, line {}: {fault}",
            line.unwrap_or_default() + 1
        ))
    })
}

/// Prizes that were not given back, by prize.
fn given(rows: &[Row<'_>], header: &Header) -> Vec<u64> {
    let given = |prize| {
        let holds = |row: &&Row<'_>| row.prize == Some(prize) && row.revoked_at.is_none();
        count(rows.iter().filter(holds).count())
    };
    (0..header.prizes.len()).map(given).collect()
}

/// The wins and stops of each day are those that were logged when it ended.
fn check_days(
    rows: &[Row<'_>],
    header: &Header,
    logged: &[LoggedDay],
    stops: &[Range<Timestamp>],
) -> Result<(), Difference> {
    let mut next = 0;
    for LoggedDay {
        day,
        sha256,
        logged_at,
    } in logged
    {
        let index = usize::try_from(*day).ok().filter(|index| *index >= next);
        let found = index.and_then(|index| Some((index, header.days.get(index)?)));
        let Some((index, of_plan)) = found else {
            return Err(Difference(format!(
                "result.json: day {day} is not in order, or header.json does not have it"
            )));
        };
        next = index + 1;
        check!(
            at(*logged_at) >= of_plan.end(),
            "result.json: day {day} was logged before it ended"
        );
        let (from, to) = (of_plan.start(), of_plan.end());
        let first = rows.partition_point(|row| row.accepted_at < from);
        let end = rows.partition_point(|row| row.accepted_at < to);
        let of_day = rows.get(first..end).unwrap_or_default().iter();
        let wins = of_day
            .filter_map(|row| Some((row.accepted_at, row.reference, row.entrant, row.prize?)));
        let computed = header.day_digest(index, wins, stops);
        check!(
            computed == Some(*sha256),
            "day {day}'s wins are not those that were logged: rows.csv and the stops of result.json do not lead to {sha256}"
        );
    }
    Ok(())
}

/// A day after the last stop had no entry.
fn not_logged(header: &Header, result: &PlanResult) -> Vec<usize> {
    const DAY: Duration = Duration::from_hours(24);
    let last = result.stops.last().map(|stop| at(stop.from));
    let is_in_time = |(index, day): &(usize, &Day)| {
        let logged = |one: &&LoggedDay| usize::try_from(one.day) == Ok(*index);
        let logged = result.days.iter().find(logged);
        logged.is_some_and(|one| at(one.logged_at) <= day.end().after(DAY))
    };
    let days = header.days.iter().enumerate();
    let days = days.filter(|(_, day)| last.is_none_or(|last| day.start() < last));
    let days = days.filter(|day| !is_in_time(day));
    days.map(|(index, _)| index).collect()
}

fn read_row(line: &str) -> Option<Row<'_>> {
    let mut fields = line.strip_suffix('\n')?.split(',');
    let [accepted_at, reference, entrant, prize, revoked_at] =
        std::array::from_fn(|_| fields.next());
    let (reference, entrant) = (reference?, entrant?);
    let are_digests = [reference, entrant]
        .iter()
        .all(|text| text.parse::<Digest>().is_ok());
    let row = Row {
        accepted_at: millis(accepted_at?)?,
        reference,
        entrant,
        prize: optional(prize?, index)?,
        revoked_at: optional(revoked_at?, millis)?,
    };
    (are_digests && fields.next().is_none()).then_some(row)
}

fn optional<T>(text: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if text.is_empty() {
        Some(None)
    } else {
        read(text).map(Some)
    }
}

fn millis(text: &str) -> Option<Timestamp> {
    let is_time = text.len() == 13 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_time.then(|| text.parse().ok().map(Timestamp::from_millis))?
}

fn index(text: &str) -> Option<usize> {
    let index: usize = text.parse().ok()?;
    (index < 20 && index.to_string() == text).then_some(index)
}

fn digits(at: Timestamp) -> String {
    format!("{:013}", at.as_millis())
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn reference_of(fault: &Fault) -> &str {
    match fault {
        Fault::Repeated(name)
        | Fault::UnknownPrize(name)
        | Fault::OverCap(name)
        | Fault::Stopped(name)
        | Fault::PassedOver(name)
        | Fault::NotDue {
            reference: name, ..
        } => name,
    }
}

fn digest(name: &str, file: &[u8]) -> Result<Digest, Difference> {
    let text = str::from_utf8(file).unwrap_or_default();
    let parsed = text.strip_suffix('\n').unwrap_or(text).parse();
    parsed.map_err(|error| Difference(format!("{name} {error}")))
}
