//! Reads the published files, verifies them, and runs the draw.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::num::NonZeroU64;

use chrono::{DateTime, Datelike, Utc};

use crate::commitment::{commitment, randomness, seed};
use crate::difference::{Difference, check};
use crate::digest::{Digest, RoundSignature};
use crate::freeze::OPENINGS_HEADER;
use crate::header::Header;
use crate::log::{Log, LoggedPlace};
use crate::merkle::MerkleTree;
use crate::opening::Opening;
use crate::order::{Place, order};
use crate::result::{DrawResult, TierResult};
use crate::row::Row;
use crate::strict;

/// Longest line of `entries.csv`: a hash and two numbers.
const MAX_LINE_BYTES: u64 = 64 + 20 + 20 + 3;

pub struct Evidence<'a> {
    pub entries: &'a mut (dyn BufRead + Send),
    pub header: &'a [u8],
    pub commitment: &'a str,
}

/// A frozen draw with files that agree, in 40 bytes a row.
#[derive(Clone, Debug)]
pub struct Committed {
    header: Header,
    root: Digest,
    commitment: Digest,
    starts: Vec<u64>,
    hashes: Vec<Digest>,
}

impl Committed {
    pub fn read(evidence: Evidence<'_>) -> Result<Self, Difference> {
        let header: Header =
            strict::read("header.json is not the header of a draw", evidence.header)?;
        let valid = header.check();
        valid.map_err(|error| Difference(format!("header.json: {error}")))?;
        let published = evidence.commitment;
        let published = published.strip_suffix('\n').unwrap_or(published);
        let published = published.parse::<Digest>();
        let published = published.map_err(|error| Difference(format!("commitment.txt {error}")))?;
        let (hashes, starts, root) = read_rows(evidence.entries, &header)?;
        let commitment = commitment(evidence.header, root);
        check!(
            commitment == published,
            "commitment.txt says {published}, but header.json and entries.csv lead to {commitment} (root {root}): one of \
             the three files was changed"
        );
        Ok(Self {
            header,
            root,
            commitment,
            starts,
            hashes,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn root(&self) -> Digest {
        self.root
    }

    pub fn commitment(&self) -> Digest {
        self.commitment
    }

    /// Erased people's are missing. Returns chosen ones by row.
    pub fn read_openings(
        &self,
        file: impl BufRead,
        is_chosen: impl Fn(u64, &Opening) -> bool,
    ) -> Result<HashMap<u64, Opening>, Difference> {
        let mut lines = file.lines();
        let mut chosen = HashMap::new();
        let mut next_row = 0;
        let is_header = |line: &String| line == OPENINGS_HEADER;
        check!(
            lines.next().transpose()?.as_ref().is_some_and(is_header),
            "openings.csv, line 1 is not its header line"
        );
        for (number, line) in (2_u64..).zip(lines) {
            let opening = Opening::from_csv_line(&line?).filter(|(row, _)| *row >= next_row);
            let Some((row, opening)) = opening else {
                return Err(Difference(format!(
                    "openings.csv, line {number} is not a row, its references and its salt, in the order of rows"
                )));
            };
            self.check_opening(row, &opening)?;
            next_row = row.saturating_add(1);
            if is_chosen(row, &opening) {
                chosen.insert(row, opening);
            }
        }
        Ok(chosen)
    }

    fn check_opening(&self, row: u64, opening: &Opening) -> Result<(), Difference> {
        let hash = usize::try_from(row)
            .ok()
            .and_then(|row| self.hashes.get(row));
        check!(
            hash == Some(&opening.row_hash()),
            "entries.csv, line {} has another hash than the opening of row {row}",
            row.saturating_add(1)
        );
        Ok(())
    }

    /// Computes each tier's order. [`crate::beacon::Chain::verify`] comes first.
    ///
    /// # Errors
    /// A round other than the header's.
    pub fn run(
        &self,
        round: NonZeroU64,
        signature: RoundSignature,
    ) -> Result<DrawResult, Difference> {
        self.check_round(round)?;
        let randomness = randomness(signature.as_bytes());
        let tiers = self
            .header
            .prizes
            .iter()
            .zip(self.header.published_places());
        let tiers = tiers.map(|(prize, length)| TierResult {
            name: prize.name.clone(),
            prizes: prize.number,
            order: self.places(randomness, &prize.name, length),
        });
        Ok(DrawResult {
            round,
            signature,
            randomness,
            tiers: tiers.collect(),
        })
    }

    /// The result with more places in each order, if alternates run out.
    #[must_use]
    pub fn with_more_places(&self, result: &DrawResult, more: u64) -> DrawResult {
        let mut longer = result.clone();
        for tier in &mut longer.tiers {
            let length = to_u64(tier.order.len()).saturating_add(more);
            tier.order = self.places(result.randomness, &tier.name, length);
        }
        longer
    }

    /// Reads `result.json` and compares it with the draw. [`crate::beacon::Chain::verify`] checks
    /// the signature.
    pub fn read_result(&self, result: &[u8]) -> Result<DrawResult, Difference> {
        let result: DrawResult = strict::read("result.json is not the result of a draw", result)?;
        self.check_round(result.round)?;
        let (found, computed) = (result.randomness, randomness(result.signature.as_bytes()));
        check!(
            found == computed,
            "result.json has the randomness {found}, but its signature leads to {computed}"
        );
        let prizes = self
            .header
            .prizes
            .iter()
            .map(|prize| (&prize.name, prize.number));
        let tiers = result.tiers.iter().map(|tier| (&tier.name, tier.prizes));
        check!(
            prizes.eq(tiers),
            "result.json does not have the prizes of header.json, {}",
            self.header.prizes_in_words()
        );
        for tier in &result.tiers {
            self.check_order(computed, tier)?;
        }
        Ok(result)
    }

    /// The round's time by the chain's constants.
    ///
    /// # Errors
    /// A round before the period's end.
    pub fn check_round_time(
        &self,
        given_at: Option<DateTime<Utc>>,
    ) -> Result<DateTime<Utc>, Difference> {
        let (round, to) = (self.header.round, self.header.period.to);
        let given_at = given_at.filter(|at| at.year() < 3000).ok_or_else(|| {
            Difference(format!(
                "round {round} of the chain has no time before the year 3000"
            ))
        })?;
        check!(
            given_at > to,
            "round {round} was given at {}, but the period ends at {}: the randomness was known while entries could be added",
            given_at.with_timezone(to.offset()).to_rfc3339(),
            to.to_rfc3339()
        );
        Ok(given_at)
    }

    pub fn read_log(
        &self,
        result: &DrawResult,
        given_at: DateTime<Utc>,
        log: &[u8],
    ) -> Result<Log, Difference> {
        let log: Log = strict::read("log.json is not the log of a draw", log)?;
        log.check_times(&self.header, given_at)?;
        for LoggedPlace { tier, .. } in &log.places {
            let is_known = self.header.prizes.iter().any(|prize| prize.name == *tier);
            check!(
                is_known,
                "log.json has a prize {tier} that header.json does not have"
            );
        }
        for prize in &self.header.prizes {
            let places = log.places.iter().filter(|place| place.tier == prize.name);
            // With many skips, a log reaches further than result.json.
            let mut order = self.order(result.randomness, &prize.name);
            for (number, logged) in (1..).zip(places) {
                self.check_logged(number, logged, order.next(), given_at)?;
            }
        }
        log.check_prizes(&self.header)?;
        Ok(log)
    }

    fn check_round(&self, found: NonZeroU64) -> Result<(), Difference> {
        let expected = self.header.round;
        check!(
            found == expected,
            "result.json is of round {found}, but header.json names round {expected}"
        );
        Ok(())
    }

    fn check_logged(
        &self,
        number: u64,
        logged: &LoggedPlace,
        drawn: Option<Place>,
        given_at: DateTime<Utc>,
    ) -> Result<(), Difference> {
        let LoggedPlace { tier, row, .. } = logged;
        let Some(drawn) = drawn.filter(|_| logged.place.get() == number) else {
            return Err(Difference(format!(
                "log.json leaves out place {number} of {tier}, or has more places than there are rows"
            )));
        };
        check!(
            drawn.row == *row,
            "log.json has row {row} as place {number} of {tier}, but the order has row {}",
            drawn.row
        );
        logged.check_texts()?;
        logged.check_steps(given_at)?;
        logged.check_reference()?;
        match &logged.opening {
            Some(opening) => self.check_opening(*row, opening),
            None => Ok(()),
        }
    }

    fn check_order(&self, randomness: Digest, tier: &TierResult) -> Result<(), Difference> {
        let (name, found, rows) = (&tier.name, to_u64(tier.order.len()), self.header.rows.get());
        check!(
            found <= rows,
            "result.json has {found} places for {name}, but there are {rows} rows"
        );
        let computed = self.order(randomness, name);
        for (place, (found, computed)) in (1_u64..).zip(tier.order.iter().zip(computed)) {
            check!(
                *found == computed,
                "result.json, place {place} of {name} is row {} by ticket {}, but the computation gives row {} by ticket {}",
                found.row,
                found.ticket,
                computed.row,
                computed.ticket
            );
        }
        let expected = self.header.needed_places(tier.prizes);
        check!(
            found >= expected,
            "result.json has {found} places for {name}, but at least {expected} have to be there"
        );
        Ok(())
    }

    fn places(&self, randomness: Digest, tier: &str, length: u64) -> Vec<Place> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.order(randomness, tier).take(length).collect()
    }

    fn order(&self, randomness: Digest, tier: &str) -> impl Iterator<Item = Place> {
        let seed = seed(self.commitment, randomness, tier);
        order(&self.starts, self.header.total, seed)
    }
}

fn read_rows(
    mut file: &mut dyn BufRead,
    header: &Header,
) -> Result<(Vec<Digest>, Vec<u64>, Digest), Difference> {
    let (mut hashes, mut starts, mut tree) = (Vec::new(), Vec::new(), MerkleTree::default());
    let (mut end, mut line) = (0, Vec::new());
    for number in 1_u64.. {
        line.clear();
        if Read::take(&mut file, MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line
            .strip_suffix(b"\n")
            .and_then(|text| str::from_utf8(text).ok());
        let row = text.and_then(|text| Some((text, text.parse::<Row>().ok()?)));
        let row = row.and_then(|(text, row)| Some((text, row, row.end()?)));
        let Some((text, Row { hash, start, .. }, next)) = row else {
            return Err(Difference(format!(
                "entries.csv, line {number} is not a hash, a start and a count, joined by commas and ended by a line feed"
            )));
        };
        check!(
            start == end,
            "entries.csv, line {number} starts at {start}, but the lines above it end before {end}: a line is missing, added, \
             changed or out of place"
        );
        check!(
            hashes.last().is_none_or(|before| *before < hash),
            "entries.csv, line {number} has a hash that is not above the one of the line before"
        );
        tree.push(text);
        hashes.push(hash);
        starts.push(start);
        end = next;
    }
    let (rows, total) = (header.rows.get(), header.total.get());
    check!(
        to_u64(hashes.len()) == rows,
        "entries.csv has {} lines, but header.json says {rows} rows",
        hashes.len()
    );
    check!(
        end == total,
        "entries.csv has {end} entries, but header.json says {total}"
    );
    Ok((hashes, starts, tree.root()))
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
