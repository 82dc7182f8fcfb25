//! Reads the published files, verifies them, and runs the draw.

use std::io::BufRead;
use std::num::NonZeroU64;

use chrono::{DateTime, Datelike, Utc};

use crate::commitment::{commitment, randomness, seed};
use crate::difference::Difference;
use crate::digest::Digest;
use crate::freeze::OPENINGS_HEADER;
use crate::header::Header;
use crate::log::{Log, LoggedPlace};
use crate::merkle::MerkleTree;
use crate::opening::Opening;
use crate::order::{Order, Place, TicketRanges};
use crate::result::{DrawResult, RoundSignature, TierResult};
use crate::row::Row;
use crate::strict;

/// Longest line of `entries.csv`: a hash, two numbers of 20 digits, two commas and the line feed.
const MAX_LINE_BYTES: u64 = 64 + 20 + 20 + 3;

/// Files of a frozen draw.
pub struct Evidence<'a> {
    /// `entries.csv`
    pub entries: &'a mut dyn BufRead,
    /// `header.json`
    pub header: &'a [u8],
    /// `commitment.txt`
    pub commitment: &'a str,
    /// `openings.csv`, which only operators have. Openings of erased persons are missing.
    pub openings: Option<&'a mut dyn BufRead>,
}

/// A frozen draw whose files agree. Takes 40 bytes for each row.
#[derive(Clone, Debug)]
pub struct Committed {
    header: Header,
    /// The exact bytes of `header.json`.
    header_json: String,
    root: Digest,
    commitment: Digest,
    ranges: TicketRanges,
    /// The hashes of the rows.
    hashes: Vec<Digest>,
}

impl Committed {
    /// # Errors
    /// The first difference between the files.
    pub fn read(evidence: Evidence<'_>) -> Result<Self, Difference> {
        let Evidence {
            entries,
            header: bytes,
            commitment: published,
            openings,
        } = evidence;
        let header: Header = strict::from_slice(bytes).map_err(Difference::UnreadableHeader)?;
        header.check().map_err(Difference::InvalidHeader)?;
        let published = published.strip_suffix('\n').unwrap_or(published);
        let published = published
            .parse()
            .map_err(|_| Difference::UnreadableCommitment)?;
        let mut openings = openings.map(Openings::read).transpose()?;
        let (mut lines, mut tree) = (
            Lines {
                file: entries,
                line: 0,
                end: 0,
                hash: None,
            },
            MerkleTree::default(),
        );
        let (mut starts, mut hashes) = (Vec::new(), Vec::new());
        while let Some((row, line)) = lines.next()? {
            if let Some(openings) = &mut openings {
                openings.check(lines.line - 1, row.hash)?;
            }
            tree.push(&line);
            starts.push(row.start);
            hashes.push(row.hash);
        }
        lines.check_counts(&header)?;
        if let Some(openings) = openings {
            openings.check_end()?;
        }
        let root = tree.root();
        let computed = commitment(bytes, root);
        if computed != published {
            return Err(Difference::Commitment {
                published,
                computed,
                root,
            });
        }
        let header_json = String::from_utf8_lossy(bytes).into_owned();
        let ranges = TicketRanges {
            starts,
            total: header.total,
        };
        Ok(Self {
            header,
            header_json,
            root,
            commitment: computed,
            ranges,
            hashes,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The exact bytes of `header.json`.
    pub fn header_json(&self) -> &str {
        &self.header_json
    }

    pub fn root(&self) -> Digest {
        self.root
    }

    pub fn commitment(&self) -> Digest {
        self.commitment
    }

    /// The order of each tier. The caller verifies the signature first: the `beacon` crate does.
    ///
    /// # Errors
    /// When the round is not the one of the header.
    pub fn run(&self, round: NonZeroU64, signature: [u8; 48]) -> Result<DrawResult, Difference> {
        if round != self.header.round {
            return Err(Difference::Round {
                found: round.get(),
                expected: self.header.round.get(),
            });
        }
        let randomness = randomness(&signature);
        let tiers = self
            .header
            .prizes
            .iter()
            .zip(self.header.published_places())
            .map(|(prize, length)| TierResult {
                name: prize.name.clone(),
                prizes: prize.number,
                order: self
                    .order(randomness, &prize.name)
                    .take(to_usize(length))
                    .collect(),
            });
        Ok(DrawResult {
            round,
            signature: RoundSignature::from(signature),
            randomness,
            tiers: tiers.collect(),
        })
    }

    /// The result with this many places more in each order, as far as there are rows: for when alternates run out.
    #[must_use]
    pub fn with_more_places(&self, result: &DrawResult, more: u64) -> DrawResult {
        let longer = |tier: &TierResult| {
            let length = to_u64(tier.order.len()).saturating_add(more);
            let order = self
                .order(result.randomness, &tier.name)
                .take(to_usize(length))
                .collect();
            TierResult {
                order,
                ..tier.clone()
            }
        };
        DrawResult {
            tiers: result.tiers.iter().map(longer).collect(),
            ..result.clone()
        }
    }

    /// Reads `result.json`, and runs the draw to compare. The caller verifies the result's signature: the `beacon`
    /// crate does.
    ///
    /// # Errors
    /// The first difference.
    pub fn read_result(&self, result: &[u8]) -> Result<DrawResult, Difference> {
        let result: DrawResult =
            strict::from_slice(result).map_err(Difference::UnreadableResult)?;
        if result.round != self.header.round {
            return Err(Difference::Round {
                found: result.round.get(),
                expected: self.header.round.get(),
            });
        }
        let computed = randomness(result.signature.as_bytes());
        if result.randomness != computed {
            return Err(Difference::Randomness {
                found: result.randomness,
                computed,
            });
        }
        self.check_prizes(&result)?;
        for tier in &result.tiers {
            self.check_order(computed, tier, self.header.needed_places(tier.prizes))?;
        }
        Ok(result)
    }

    /// The round came after the period. `given_at` follows from the chain's constants; no file says it.
    ///
    /// # Errors
    /// When the round was known while entries could still be added.
    pub fn check_round_time(
        &self,
        given_at: Option<DateTime<Utc>>,
    ) -> Result<DateTime<Utc>, Difference> {
        let (round, to) = (self.header.round.get(), self.header.period.to);
        let given_at = given_at
            .filter(|at| at.year() < 3000)
            .ok_or(Difference::RoundWithoutTime { round })?;
        if given_at <= to {
            return Err(Difference::EarlyRound {
                round,
                given_at: given_at.with_timezone(to.offset()),
                to,
            });
        }
        Ok(given_at)
    }

    /// Reads `log.json`, and compares it with the header, the order and the rows.
    ///
    /// # Errors
    /// The first difference.
    pub fn read_log(
        &self,
        result: &DrawResult,
        given_at: DateTime<Utc>,
        log: &[u8],
    ) -> Result<Log, Difference> {
        let log: Log = strict::from_slice(log).map_err(Difference::UnreadableLog)?;
        log.check_times(&self.header, given_at)?;
        if let Some(other) = log.places.iter().find(|place| !self.has_prize(&place.tier)) {
            return Err(Difference::UnknownPrize {
                tier: other.tier.clone(),
            });
        }
        for prize in &self.header.prizes {
            let places: Vec<_> = log
                .places
                .iter()
                .filter(|place| place.tier == prize.name)
                .collect();
            // A log of many skips reaches further than result.json.
            let order = self
                .order(result.randomness, &prize.name)
                .map(Some)
                .chain(std::iter::repeat(None));
            for ((number, logged), drawn) in (1..).zip(places).zip(order) {
                self.check_logged(number, logged, drawn)?;
            }
        }
        log.check_prizes(&self.header)?;
        Ok(log)
    }

    fn has_prize(&self, tier: &str) -> bool {
        self.header.prizes.iter().any(|prize| prize.name == tier)
    }

    fn check_logged(
        &self,
        number: u64,
        logged: &LoggedPlace,
        drawn: Option<Place>,
    ) -> Result<(), Difference> {
        let LoggedPlace {
            tier,
            place,
            row,
            opening,
            ..
        } = logged;
        let Some(drawn) = drawn.filter(|_| place.get() == number) else {
            return Err(Difference::LogGap {
                tier: tier.clone(),
                place: number,
            });
        };
        if drawn.row != *row {
            let (found, expected) = (*row, drawn.row);
            return Err(Difference::LogRow {
                tier: tier.clone(),
                place: number,
                found,
                expected,
            });
        }
        logged.check_steps()?;
        logged.check_reference()?;
        let hash = opening.as_ref().map(Opening::row_hash);
        if hash.is_some_and(|hash| self.hashes.get(to_usize(*row)) != Some(&hash)) {
            return Err(Difference::Opening { row: *row });
        }
        Ok(())
    }

    fn check_prizes(&self, result: &DrawResult) -> Result<(), Difference> {
        let (prizes, tiers) = (&self.header.prizes, &result.tiers);
        let count = prizes.len().max(tiers.len());
        for at in 0..count {
            match (prizes.get(at), tiers.get(at)) {
                (Some(prize), Some(tier))
                    if prize.name == tier.name && prize.number == tier.prizes =>
                {
                    ()
                }
                (Some(prize), _) => {
                    return Err(Difference::Prizes {
                        tier: prize.name.clone(),
                    });
                }
                (None, Some(tier)) => {
                    return Err(Difference::Prizes {
                        tier: tier.name.clone(),
                    });
                }
                (None, None) => (),
            }
        }
        Ok(())
    }

    fn check_order(
        &self,
        randomness: Digest,
        tier: &TierResult,
        expected: u64,
    ) -> Result<(), Difference> {
        let (name, found) = (|| tier.name.clone(), to_u64(tier.order.len()));
        let rows = self.header.rows.get();
        if found > rows {
            return Err(Difference::TooManyPlaces {
                tier: name(),
                found,
                rows,
            });
        }
        for (place, (found, computed)) in
            (1..).zip(tier.order.iter().zip(self.order(randomness, &tier.name)))
        {
            if *found != computed {
                return Err(Difference::Place {
                    tier: name(),
                    place,
                    found: *found,
                    computed,
                });
            }
        }
        if found < expected {
            return Err(Difference::TooFewPlaces {
                tier: name(),
                found,
                expected,
            });
        }
        Ok(())
    }

    fn order(&self, randomness: Digest, tier: &str) -> Order<'_> {
        Order::new(&self.ranges, seed(self.commitment, randomness, tier))
    }
}

/// The lines of `entries.csv`.
struct Lines<'a> {
    file: &'a mut dyn BufRead,
    /// Lines so far.
    line: u64,
    /// Entries so far.
    end: u64,
    /// Of the last line.
    hash: Option<Digest>,
}

impl Lines<'_> {
    fn next(&mut self) -> Result<Option<(Row, String)>, Difference> {
        let mut bytes = Vec::new();
        if std::io::Read::take(&mut self.file, MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let line = self.line;
        let text = bytes
            .strip_suffix(b"\n")
            .and_then(|text| str::from_utf8(text).ok());
        let text = text.ok_or(Difference::UnreadableLine { line })?;
        let row: Row = text
            .parse()
            .map_err(|_| Difference::UnreadableLine { line })?;
        if row.start != self.end {
            return Err(Difference::Start {
                line,
                found: row.start,
                expected: self.end,
            });
        }
        if self
            .hash
            .replace(row.hash)
            .is_some_and(|before| before >= row.hash)
        {
            return Err(Difference::LineOrder { line });
        }
        self.end = row.end().ok_or(Difference::UnreadableLine { line })?;
        Ok(Some((row, text.to_owned())))
    }

    fn check_counts(&self, header: &Header) -> Result<(), Difference> {
        let (rows, total) = (header.rows.get(), header.total.get());
        if self.line != rows {
            return Err(Difference::Rows {
                found: self.line,
                expected: rows,
            });
        }
        if self.end != total {
            return Err(Difference::Total {
                found: self.end,
                expected: total,
            });
        }
        Ok(())
    }
}

/// `openings.csv`, beside the lines that it opens.
struct Openings<'a> {
    file: &'a mut dyn BufRead,
    /// Lines so far, the header among them.
    line: u64,
    next: Option<(u64, Opening)>,
}

impl<'a> Openings<'a> {
    fn read(file: &'a mut dyn BufRead) -> Result<Self, Difference> {
        let mut openings = Self {
            file,
            line: 0,
            next: None,
        };
        if openings.next_line()?.as_deref() != Some(OPENINGS_HEADER) {
            return Err(Difference::UnreadableOpening { line: 1 });
        }
        openings.advance(0)?;
        Ok(openings)
    }

    fn next_line(&mut self) -> Result<Option<String>, Difference> {
        let mut line = String::new();
        if self.file.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Reads the next opening, which is of this row or a later one.
    fn advance(&mut self, row: u64) -> Result<(), Difference> {
        self.next = match self.next_line()? {
            None => None,
            Some(line) => {
                let opening = Opening::from_csv_line(&line).filter(|(of, _)| *of >= row);
                Some(opening.ok_or(Difference::UnreadableOpening { line: self.line })?)
            }
        };
        Ok(())
    }

    fn check(&mut self, row: u64, hash: Digest) -> Result<(), Difference> {
        match &self.next {
            Some((of, opening)) if *of == row => {
                if opening.row_hash() != hash {
                    return Err(Difference::Opening { row });
                }
                self.advance(row.saturating_add(1))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Every opening was of a row.
    fn check_end(&self) -> Result<(), Difference> {
        if self.next.is_some() {
            Err(Difference::UnreadableOpening { line: self.line })
        } else {
            Ok(())
        }
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
