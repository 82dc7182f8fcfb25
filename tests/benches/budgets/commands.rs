//! `ops` over many entries: time and memory of an export, and of a freeze.

use std::time::Duration;

use common::clock::Clock;
use common::domain::timestamp::Timestamp;
use common::store::submissions;

use crate::ops_child::{self, Ran};
use crate::records::Records;
use crate::report::{Table, Verdicts, or_unknown};
use crate::stopwatch::per_second;
use crate::world::World;

/// Limit for the larger number of entries.
const MAX_EXPORT: Duration = Duration::from_secs(60);
/// Growth for ten times as many entries.
const MEMORY_GROWTH: f64 = 1.25;
/// Limit for any number of entries.
const FREEZE_MEMORY_MB: f64 = 128.0;
/// A period is frozen some minutes after its end.
const LATER: Duration = Duration::from_mins(10);
/// Time to the round.
const NOTICE: Duration = Duration::from_hours(1);

const COLUMNS: [&str; 5] = ["entries", "seconds", "entries a second", "peak MB", "kept"];

/// Exports a tenth of the entries, then all.
pub(crate) async fn export(entries: u32, verdicts: &mut Verdicts) {
    println!("## Export\n");
    println!(
        "`ops export submissions` in its own process, from the embedded database in this one.\n"
    );
    let world = World::start().await;
    let mut records = Records::of(&world, &[submissions::VARIABLE]).await;
    let mut table = Table::new(COLUMNS);
    let mut memory_of_few = None;
    for count in [entries / 10, entries] {
        records.fill_up_to(count).await;
        let options = ["export", "submissions"];
        let (rows, ran) = run(&world, Clock::system().now(), &options, "entries.csv");
        assert_eq!(rows, count + 1, "the header, and each entry");
        let grows = memory_of_few
            .zip(ran.peak_mb)
            .is_some_and(|(few, many)| many > few * MEMORY_GROWTH);
        let kept = verdicts.check(ran.taken < MAX_EXPORT && !grows, || {
            format!("exporting {count} entries took {ran:?}; with fewer, {memory_of_few:?} MB")
        });
        memory_of_few = memory_of_few.or(ran.peak_mb);
        row(&mut table, count, &ran, kept);
    }
    table.print();
}

pub(crate) async fn freeze(entries: u32, verdicts: &mut Verdicts) {
    println!("## Freezing a draw\n");
    println!("`ops draw freeze` in its own process, over the embedded database and S3.\n");
    let world = World::start().await;
    let entered = Clock::system().now();
    let mut records = Records::of(&world, &[submissions::VARIABLE]).await;
    records.fill_up_to(entries).await;
    let now = entered.after(LATER);
    let from = Timestamp::from_millis(entered.as_millis() - 24 * 60 * 60 * 1000).to_string();
    let to = entered.after(Duration::from_secs(1)).to_string();
    let at = now.after(NOTICE).to_string();
    let options = [
        "draw",
        "freeze",
        "--draw",
        "bench",
        "--prize",
        "Kettle=1000",
        "--yes",
    ];
    let period = ["--from", &from, "--to", &to, "--at", &at];
    let options = [&options[..], &period].concat();
    let (rows, ran) = run(&world, now, &options, "draw");
    assert_eq!(rows, entries, "each entrant has a row");
    let kept = verdicts.check(
        ran.peak_mb.is_none_or(|peak| peak < FREEZE_MEMORY_MB),
        || format!("ops draw freeze took {ran:?} for {entries} entries"),
    );
    let mut table = Table::new(COLUMNS);
    row(&mut table, entries, &ran, kept);
    table.print();
}

fn row(table: &mut Table, entries: u32, ran: &Ran, kept: &str) {
    let seconds = ran.taken.as_secs_f64();
    table.row(&[
        &entries,
        &format_args!("{seconds:.1}"),
        &format_args!("{:.0}", per_second(entries.into(), ran.taken)),
        &or_unknown(ran.peak_mb, 0),
        &kept,
    ]);
}

/// Runs a command that writes a file, or a folder with `entries.csv`; returns the number of lines.
fn run(world: &World, now: Timestamp, options: &[&str], output: &str) -> (u32, Ran) {
    let folder = tempfile::tempdir().expect("a disk");
    let output = folder.path().join(output);
    let campaign = world.plain.campaign.config.slug.as_str();
    let written = output.to_str().expect("text");
    let common = [
        "--environment",
        "test",
        "--campaign",
        campaign,
        "--output",
        written,
    ];
    let ran = ops_child::run(&world.direct, now, &[options, &common].concat());
    let file = match output.is_dir() {
        true => output.join("entries.csv"),
        false => output,
    };
    let text = std::fs::read_to_string(file).expect("it is written");
    (text.lines().count().try_into().expect("fits"), ran)
}
