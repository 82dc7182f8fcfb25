//! Freezes a million entrants and draws, with temporary files like an operator's command.
//!
//! `cargo bench -p draw` prints each step's time, and peak memory. After `--`: the number of
//! entrants.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::num::NonZeroU64;
use std::time::Instant;
use std::{env, fs};

use draw::{Algorithm, Committed, Digest, Entries, Evidence, Header, LeftOut, Period, Prize, Rows};

const ENTRANTS: u64 = 1_000_000;

struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    fn start() -> Self {
        Self(Instant::now())
    }

    fn lap(&mut self, step: &str) {
        let elapsed = self.0.elapsed().as_secs_f64();
        println!("{step}: {elapsed:.2} s, peak memory {}", peak_memory());
        *self = Self::start();
    }
}

fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(
        || "unknown without /proc".into(),
        |peak| peak.trim().to_owned(),
    )
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let entrants = env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(ENTRANTS);
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let mut watch = Stopwatch::start();

    let entries = read(entrants)?;
    watch.lap("read");
    let mut number = 0_u64;
    let rows = entries.into_rows(|| {
        number += 1;
        let digest = Digest::from_parts(&[&number.to_le_bytes()]);
        digest.as_bytes().first_chunk().copied().unwrap_or_default()
    })?;
    watch.lap("rows");
    let header = header(&rows)?;
    let mut lines = BufWriter::new(File::create(path("entries.csv"))?);
    let mut openings = BufWriter::new(File::create(path("openings.csv"))?);
    let frozen = rows.freeze(&header, &mut lines, &mut openings)?;
    lines.flush()?;
    watch.lap("freeze");

    let committed = Committed::read(Evidence {
        entries: &mut BufReader::new(File::open(path("entries.csv"))?),
        header: frozen.header_json.as_bytes(),
        commitment: &frozen.commitment.to_string(),
    })?;
    let openings = BufReader::new(File::open(path("openings.csv"))?);
    committed.read_openings(openings, |_, _| false)?;
    watch.lap("verify files and openings");
    let result = committed.run(header.round, [0; 48].into())?;
    watch.lap("order");
    for tier in result.tiers {
        println!(
            "{}: {} places, the first is {:?}",
            tier.name,
            tier.order.len(),
            tier.order.first()
        );
    }
    Ok(())
}

/// Entries of this many entrants, and one more.
fn read(entrants: u64) -> Result<Entries<[u8; 16]>, Failure> {
    let mut entries = Entries::default();
    for entrant in 0..entrants {
        let digest = Digest::from_parts(&[&entrant.to_be_bytes()]);
        entries.add(
            digest.as_bytes().first_chunk().copied().unwrap_or_default(),
            &format!("R{entrant:08}"),
            NonZeroU64::MIN.saturating_add(entrant % 7),
        )?;
    }
    entries.add([0; 16], "R-MANY", NonZeroU64::MIN.saturating_add(999_999))?;
    Ok(entries)
}

fn header(rows: &Rows) -> Result<Header, Failure> {
    Ok(Header {
        algorithm: Algorithm::V1,
        rows: rows.count(),
        total: rows.total(),
        campaign: "chai-bora-2026".into(),
        draw: "week-03".into(),
        period: Period {
            from: "2026-01-12T00:00:00+03:00".parse()?,
            to: "2026-01-19T00:00:00+03:00".parse()?,
        },
        days: [("2026-01-12".to_owned(), rows.total().get())].into(),
        left_out: LeftOut::default(),
        overlapping: Vec::new(),
        prizes: vec![Prize {
            name: "airtime".into(),
            number: NonZeroU64::MIN.saturating_add(999),
        }],
        one_prize_per_row: true,
        chain: Digest::from_parts(&[]),
        round: NonZeroU64::MIN,
    })
}
