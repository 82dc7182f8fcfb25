//! Draws that anyone can check.
//!
//! The list of entries is committed to before a public random value exists, which no one can
//! foresee or choose; the order of winners follows from both. This crate is that computation, and
//! [`beacon`] the random value. It has no clock, randomness or files: readers, writers and salts
//! are arguments.
//!
//! | step | here |
//! | --- | --- |
//! | freeze | [`Entries::add`] each accepted submission, [`Entries::into_rows`], a [`Header`] with their counts, [`Rows::freeze`]: `entries.csv`, `openings.csv`, and a [`Frozen`] with the header's JSON and the commitment |
//! | before the round | [`Sheet::html`]: a page for the inspector to sign |
//! | draw | [`Committed::read`] verifies the files; [`beacon::Relays::fetch`] gives the round; [`Committed::run`] takes its signature, and returns the [`DrawResult`] for `result.json` |
//! | call | [`Log`]: the times of the draw, and what happened with each winner, for `log.json` |
//! | certificate | [`Certificate::html`]: one page that computes everything again in its reader's browser; [`VERIFY_PY`] is the program beside it |
//! | verify | [`Committed::read`], [`Committed::check_round_time`], [`Committed::read_result`], [`Committed::read_log`]: the first [`Difference`] by file and line; then [`beacon::Chain::verify`] |
//! | instant prizes | [`PlanFiles::verify`]: the files of a plan of winning moments; [`PlanCertificate`] |
//! | opening | an [`Opening`] gives the hash of its row; [`Committed::read_openings`] compares all |
//!
//! `one_prize_per_row` is a rule for the log: a row with a prize is skipped in other tiers.
//!
//! The computation, step by step:
//!
//! 1. [`Opening`]: an entrant's references and a salt; SHA-256 of its text is the hash of its [`Row`].
//! 2. Rows are sorted by hash; `start` is the sum of the counts before. A line is
//!    `hash,start,count`.
//! 3. The Merkle root of the lines, by RFC 9162.
//! 4. [`commitment()`]: over the [`Header`]'s exact bytes and the root.
//! 5. [`seed`]: of a prize tier, out of the commitment and the beacon's [`randomness`].
//! 6. Tickets are HMAC-SHA256 values without bias; rows take [`Place`]s by their first drawn ticket.
//!    It is exact weighted sampling without replacement, and ends when every row has a place.
//!
//! ```
//! use std::num::NonZeroU64;
//! use draw::{Algorithm, Committed, Entries, Evidence, Header, LeftOut, Period, Prize};
//!
//! let one = NonZeroU64::MIN;
//! let mut entries = Entries::default();
//! entries.add("digest of a phone", "K7M2-Q9XD", one)?;
//! entries.add("digest of another", "ABCD-EFGH", one)?;
//! entries.add("digest of a phone", "2345-6789", one)?;
//! // Salts are random outside of examples.
//! let rows = entries.into_rows(|| [7; 16])?;
//! assert_eq!((rows.count().get(), rows.total().get()), (2, 3));
//!
//! let header = Header {
//!     algorithm: Algorithm::V1,
//!     campaign: "chai-bora-2026".into(),
//!     draw: "week-03".into(),
//!     period: Period { from: "2026-01-12T00:00:00+03:00".parse()?, to: "2026-01-19T00:00:00+03:00".parse()? },
//!     rows: rows.count(),
//!     total: rows.total(),
//!     days: [("2026-01-12".to_owned(), 3)].into(),
//!     left_out: LeftOut::default(),
//!     overlapping: Vec::new(),
//!     prizes: vec![Prize { name: "grand-prize".into(), number: one }],
//!     one_prize_per_row: true,
//!     chain: "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971".parse()?,
//!     round: 27_946_612.try_into()?,
//! };
//! let (mut entries, mut openings) = (Vec::new(), Vec::new());
//! let frozen = rows.freeze(&header, &mut entries, &mut openings)?;
//!
//! // Later: the round is there, and its signature was verified.
//! let commitment = frozen.commitment.to_string();
//! let json = frozen.header_json.as_bytes();
//! let committed = Committed::read(Evidence { entries: &mut &*entries, header: json, commitment: &commitment })?;
//! let result = committed.run(header.round, [0; 48].into())?;
//! assert_eq!(result.tiers[0].order.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod beacon;
mod certificate;
mod commitment;
mod difference;
mod evidence;
mod freeze;
mod header;
mod instant;
mod log;
mod merkle;
mod opening;
mod order;
mod page;
mod result;
mod row;
mod sheet;
mod strict;
#[cfg(test)]
mod vector_tests;

pub use certificate::{Certificate, MAX_EMBEDDED_ROWS, PlanCertificate};
pub use commitment::{commitment, randomness, seed};
pub(crate) use common::domain::digest;
pub use common::domain::digest::{Digest, Hex, InvalidHex, RoundSignature};
pub use difference::Difference;
pub use evidence::{Committed, Evidence};
pub use freeze::{Entries, FreezeError, Frozen, LargestRow, Rows};
pub use header::{
    ALTERNATES, Algorithm, Header, InvalidHeader, LeftOut, OtherDraw, Period, Prize, publishable,
};
pub use instant::{LoggedDay, PlanFiles, PlanResult, PrizeRow, Stop, VerifiedPlan, rows_csv};
pub use log::{Event, Log, LoggedPlace, Step};
pub use opening::{InvalidOpening, Opening, Salt};
pub use order::Place;
pub use page::escaped;
pub use result::{DrawResult, TierResult};
pub use row::{InvalidRow, Row};
pub use sheet::Sheet;

/// Verifies the files of a draw with Python's standard library, independently of this program.
pub const VERIFY_PY: &str = include_str!("../verify.py");
