//! Where files of a draw differ from what they have to be.

use std::io;

use chrono::{DateTime, FixedOffset};

use crate::digest::Digest;
use crate::header::InvalidHeader;
use crate::order::Place;

/// The first difference. Lines are counted from 1, rows from 0.
#[derive(Debug, thiserror::Error)]
pub enum Difference {
    #[error("header.json is not the header of a draw: {0}")]
    UnreadableHeader(#[source] serde_json::Error),
    #[error("header.json: {0}")]
    InvalidHeader(#[source] InvalidHeader),
    #[error("commitment.txt is not 64 lower-case hexadecimal digits")]
    UnreadableCommitment,
    #[error(
        "entries.csv, line {line} is not a hash, a start and a count, joined by commas and ended by a line feed"
    )]
    UnreadableLine { line: u64 },
    #[error(
        "entries.csv, line {line} starts at {found}, but the lines above it end before {expected}: a line is missing, \
         added, changed or out of place"
    )]
    Start {
        line: u64,
        found: u64,
        expected: u64,
    },
    #[error("entries.csv, line {line} has a hash that is not above the one of the line before")]
    LineOrder { line: u64 },
    #[error("entries.csv has {found} lines, but header.json says {expected} rows")]
    Rows { found: u64, expected: u64 },
    #[error("entries.csv has {found} entries, but header.json says {expected}")]
    Total { found: u64, expected: u64 },
    #[error(
        "openings.csv, line {line} is not a row, its references and its salt, in the order of rows"
    )]
    UnreadableOpening { line: u64 },
    #[error("entries.csv, line {} has another hash than the opening of row {row}", row.saturating_add(1))]
    Opening { row: u64 },
    #[error(
        "commitment.txt says {published}, but header.json and entries.csv lead to {computed} (root {root}): one of the \
         three files was changed"
    )]
    Commitment {
        published: Digest,
        computed: Digest,
        root: Digest,
    },
    #[error("result.json is not the result of a draw: {0}")]
    UnreadableResult(#[source] serde_json::Error),
    #[error("result.json is of round {found}, but header.json names round {expected}")]
    Round { found: u64, expected: u64 },
    #[error("result.json has the randomness {found}, but its signature leads to {computed}")]
    Randomness { found: Digest, computed: Digest },
    #[error("result.json does not have the prizes of header.json: {tier}")]
    Prizes { tier: String },
    #[error("result.json has {found} places for {tier}, but at least {expected} have to be there")]
    TooFewPlaces {
        tier: String,
        found: u64,
        expected: u64,
    },
    #[error("result.json has {found} places for {tier}, but there are {rows} rows")]
    TooManyPlaces { tier: String, found: u64, rows: u64 },
    #[error(
        "result.json, place {place} of {tier} is row {} by ticket {}, but the computation gives row {} by ticket {}",
        found.row, found.ticket, computed.row, computed.ticket
    )]
    Place {
        tier: String,
        place: u64,
        found: Place,
        computed: Place,
    },
    #[error("round {round} of the chain has no time before the year 3000")]
    RoundWithoutTime { round: u64 },
    #[error(
        "round {round} was given at {}, but the period ends at {}: the randomness was known while entries could be added",
        given_at.to_rfc3339(), to.to_rfc3339()
    )]
    EarlyRound {
        round: u64,
        given_at: DateTime<FixedOffset>,
        to: DateTime<FixedOffset>,
    },
    #[error("log.json is not the log of a draw: {0}")]
    UnreadableLog(#[source] serde_json::Error),
    #[error(
        "log.json says {name} {}, which is not between the end of the period, {}, and the round, {}",
        at.to_rfc3339(), to.to_rfc3339(), given_at.to_rfc3339()
    )]
    LogTime {
        name: &'static str,
        at: DateTime<FixedOffset>,
        to: DateTime<FixedOffset>,
        given_at: DateTime<FixedOffset>,
    },
    #[error("log.json has a time that is not of the years 1000 to 2999, in whole milliseconds")]
    LogTimeForm,
    #[error("log.json has a prize {tier} that header.json does not have")]
    UnknownPrize { tier: String },
    #[error("log.json leaves out place {place} of {tier}, or has more places than there are rows")]
    LogGap { tier: String, place: u64 },
    #[error(
        "log.json has row {found} as place {place} of {tier}, but the order has row {expected}"
    )]
    LogRow {
        tier: String,
        place: u64,
        found: u64,
        expected: u64,
    },
    #[error("log.json: the steps of {place} {why}")]
    LogSteps { place: String, why: &'static str },
    #[error("log.json: no opening proves the reference of {0}")]
    LogReference(String),
    #[error("log.json has {winners} winners of {tier}, but there are {prizes} prizes")]
    TooManyWinners {
        tier: String,
        winners: u64,
        prizes: u64,
    },
    #[error(
        "log.json: {0} has a prize, but the same row has another one, and header.json gives one to each entrant"
    )]
    TwoPrizes(String),
    #[error("log.json: {0} was skipped because of another prize of the same row, but it had none")]
    NoOtherPrize(String),
    #[error("a file cannot be read: {0}; check the folder")]
    Io(#[from] io::Error),
}
