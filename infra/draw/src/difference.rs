//! Where files of a draw differ from what they have to be.

use std::io;

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
    Start { line: u64, found: u64, expected: u64 },
    #[error("entries.csv, line {line} has a hash that is not above the one of the line before")]
    LineOrder { line: u64 },
    #[error("entries.csv has {found} lines, but header.json says {expected} rows")]
    Rows { found: u64, expected: u64 },
    #[error("entries.csv has {found} entries, but header.json says {expected}")]
    Total { found: u64, expected: u64 },
    #[error("openings.csv, line {line} is not a row, its references and its salt, in the order of rows")]
    UnreadableOpening { line: u64 },
    #[error("entries.csv, line {} has another hash than the opening of row {row}", row.saturating_add(1))]
    Opening { row: u64 },
    #[error(
        "commitment.txt says {published}, but header.json and entries.csv lead to {computed} (root {root}): one of the \
         three files was changed"
    )]
    Commitment { published: Digest, computed: Digest, root: Digest },
    #[error("result.json is not the result of a draw: {0}")]
    UnreadableResult(#[source] serde_json::Error),
    #[error("result.json is of round {found}, but header.json names round {expected}")]
    Round { found: u64, expected: u64 },
    #[error("result.json has the randomness {found}, but its signature leads to {computed}")]
    Randomness { found: Digest, computed: Digest },
    #[error("result.json does not have the prizes of header.json: {tier}")]
    Prizes { tier: String },
    #[error("result.json has {found} places for {tier}, but at least {expected} have to be there")]
    TooFewPlaces { tier: String, found: u64, expected: u64 },
    #[error("result.json has {found} places for {tier}, but there are {rows} rows")]
    TooManyPlaces { tier: String, found: u64, rows: u64 },
    #[error(
        "result.json, place {place} of {tier} is row {} by ticket {}, but the computation gives row {} by ticket {}",
        found.row, found.ticket, computed.row, computed.ticket
    )]
    Place { tier: String, place: u64, found: Place, computed: Place },
    #[error("the file is not a certificate of a draw: it has no {part}")]
    NoCertificate { part: &'static str },
    #[error("the certificate's data cannot be read: {0}")]
    UnreadableCertificate(#[source] serde_json::Error),
    #[error("the certificate says root {published}, but entries.csv leads to {computed}")]
    Root { published: Digest, computed: Digest },
    #[error("the commitment was published at {published_at}, but the round was at {round_at} already")]
    LateCommitment { published_at: String, round_at: String },
    #[error("the certificate's log has a prize {tier} that header.json does not have")]
    UnknownPrize { tier: String },
    #[error("the certificate's log leaves out place {place} of {tier}")]
    NoContact { tier: String, place: u64 },
    #[error(
        "the certificate's log has row {found} as place {place} of {tier}, but the order has row {expected}"
    )]
    ContactRow { tier: String, place: u64, found: u64, expected: u64 },
    #[error(
        "the certificate's log says {reference} for place {place} of {tier}, but no opening of the row names it"
    )]
    ContactReference { tier: String, place: u64, reference: String },
    #[error("the certificate's log has {winners} winners of {tier}, but there are {prizes} prizes")]
    TooManyWinners { tier: String, winners: usize, prizes: u64 },
    #[error(
        "the data of the certificate agree, but line {line} of the page is not what this release writes around them: \
         the text or the computation of the page was changed, or another release wrote it; write it again with \
         `ops draw certificate`, and compare"
    )]
    Page { line: u64 },
    #[error("a file cannot be read: {0}; check the folder")]
    Io(#[from] io::Error),
}
