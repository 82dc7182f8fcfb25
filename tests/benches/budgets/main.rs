//! The benchmark: measures the service and checks its budgets.
//!
//! `cargo bench -p service-tests` prints a Markdown table for each part, and fails when a budget is broken. After `--`,
//! `--quick` measures less, and the name of a part runs that part only.
//!
//! All parts measure a [`world`] of stacks and campaigns. A [`caller`] sends the requests of [`operations`], a
//! [`stopwatch`] times them, and a [`report`] prints the result.

mod binaries;
mod caller;
mod calls;
mod codes;
mod commands;
mod fleet;
mod operations;
mod ops_child;
mod records;
mod report;
mod size;
mod startup;
mod stopwatch;
mod webhooks;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::report::Verdicts;

/// Measures the service and checks its budgets.
#[derive(Parser)]
struct Arguments {
    /// The parts to run; all without.
    parts: Vec<Part>,
    /// Measure less, for a check after every change.
    #[arg(long)]
    quick: bool,
    /// Cargo adds it.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A part of the benchmark, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// DynamoDB calls and capacity of each operation, counted on the wire.
    Calls,
    /// The same with few and with many records.
    Size,
    /// Start-up time, memory and program size of each function.
    Startup,
    /// Codes minted and verified a second.
    Codes,
    /// Entries that `ops export` writes a second, and its memory.
    Export,
    /// Entries of a draw frozen a second, and the memory of the command.
    Freeze,
    /// Two, thirty-two and two hundred environments: how much of a key's rate limit they admit, round trips of an entry
    /// in a cold, idle and warm one, the pace at the tax authority, and the records after a load with faults.
    Fleet,
    /// Time from a change to the first try at its endpoints, losses, and write units of an event.
    Webhooks,
}

/// The extent of a measurement.
struct Effort {
    requests: usize,
    /// Submissions in the tables, few and many.
    few: u32,
    many: u32,
    starts: usize,
    codes: u64,
    exported: u32,
    load: Duration,
    entries: u32,
}

/// Published figures.
const FULL: Effort = Effort {
    requests: 200,
    few: 1_000,
    many: 250_000,
    starts: 25,
    codes: 2_000_000,
    exported: 100_000,
    load: Duration::from_secs(5),
    entries: 20_000,
};
const QUICK: Effort = Effort {
    requests: 60,
    few: 100,
    many: 2_000,
    starts: 7,
    codes: 200_000,
    exported: 20_000,
    load: Duration::from_secs(1),
    entries: 5_000,
};

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let is_child = |first: &std::ffi::OsString| first == ops_child::ARGUMENT;
    if arguments.next_if(is_child).is_some() {
        return ops_child::child(arguments).await;
    }
    let Arguments { parts, quick, .. } = Arguments::parse();
    let effort = if quick { QUICK } else { FULL };
    let mut verdicts = Verdicts::default();
    for part in Part::value_variants() {
        if parts.is_empty() || parts.contains(part) {
            run(*part, &effort, &mut verdicts).await;
        }
    }
    verdicts.conclude()
}

async fn run(part: Part, effort: &Effort, verdicts: &mut Verdicts) {
    match part {
        Part::Calls => calls::run(effort.requests, verdicts).await,
        Part::Size => size::run(effort.requests, effort.few, effort.many, verdicts).await,
        Part::Startup => startup::run(effort.starts, verdicts).await,
        Part::Codes => codes::run(effort.codes, verdicts),
        Part::Export => commands::export(effort.exported, verdicts).await,
        Part::Freeze => commands::freeze(effort.entries, verdicts).await,
        Part::Fleet => fleet::run(effort.load, verdicts).await,
        Part::Webhooks => webhooks::run(effort.requests, verdicts).await,
    }
}
