//! The benchmark: measures the service and checks its budgets.
//!
//! `cargo bench -p service-tests` prints a Markdown table for each part, and fails when a budget is broken. After `--`,
//! `--quick` measures less, and the name of a part runs that part only.
//!
//! - [`calls`]: DynamoDB calls and capacity of each operation, counted on the wire;
//! - [`size`]: whether they depend on how much is stored;
//! - [`startup`]: start-up time, memory and program size of each function;
//! - [`codes`]: codes minted and verified a second;
//! - [`export`]: entries that `ops export` writes a second, and its memory;
//! - [`load`]: requests a second;
//! - [`freeze`]: entries of a draw frozen a second, and the memory of the command;
//! - [`fleet`]: two, thirty-two and two hundred environments: how much of a key's rate limit they admit, round trips of
//!   an entry in a cold, idle and warm one, the pace at the tax authority, and the records after a load with faults.
//!
//! All parts measure a [`world`] of stacks and campaigns. A [`caller`] sends the requests of [`operations`], a
//! [`stopwatch`] times them, and a [`report`] prints the result.

mod binaries;
mod caller;
mod calls;
mod codes;
mod export;
mod fleet;
mod freeze;
mod load;
mod operations;
mod ops_child;
mod process;
mod records;
mod report;
mod size;
mod startup;
mod stopwatch;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use crate::report::Verdicts;

const USAGE: &str = "usage: cargo bench -p service-tests [-- [--quick] [calls] [size] [startup] [codes] [export] [load] [freeze] [fleet]]";

/// How much is measured.
struct Effort {
    /// Requests of each operation.
    requests: usize,
    /// The small and the large number of submissions in the tables.
    few: u32,
    many: u32,
    /// Starts of each function.
    starts: usize,
    /// Codes minted and verified.
    codes: u64,
    /// Entries exported.
    exported: u32,
    /// Duration of requests at full speed.
    load: Duration,
    /// Entries of a draw.
    entries: u32,
}

/// For published figures.
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
/// For a check after every change.
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

/// A part of the benchmark, with a separate table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Calls,
    Size,
    Startup,
    Codes,
    Export,
    Load,
    Freeze,
    Fleet,
}

impl Part {
    /// In the order in which they run.
    const ALL: [Self; 8] = [
        Self::Calls,
        Self::Size,
        Self::Startup,
        Self::Codes,
        Self::Export,
        Self::Load,
        Self::Freeze,
        Self::Fleet,
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Size => "size",
            Self::Startup => "startup",
            Self::Codes => "codes",
            Self::Export => "export",
            Self::Load => "load",
            Self::Freeze => "freeze",
            Self::Fleet => "fleet",
        }
    }

    async fn run(self, effort: &Effort, verdicts: &mut Verdicts) {
        match self {
            Self::Calls => calls::run(effort.requests, verdicts).await,
            Self::Size => size::run(effort.requests, effort.few, effort.many, verdicts).await,
            Self::Startup => startup::run(effort.starts, verdicts).await,
            Self::Codes => codes::run(effort.codes, verdicts),
            Self::Export => export::run(effort.exported, verdicts).await,
            Self::Load => load::run(effort.load).await,
            Self::Freeze => freeze::run(effort.entries, verdicts).await,
            Self::Fleet => fleet::run(effort.load, verdicts).await,
        }
    }
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments
        .next_if(|first| first == ops_child::ARGUMENT)
        .is_some()
    {
        return runtime.block_on(ops_child::child(arguments));
    }
    let mut effort = FULL;
    let mut wanted = Vec::new();
    for argument in arguments.map(|argument| argument.to_string_lossy().into_owned()) {
        match (argument.as_str(), Part::named(&argument)) {
            // Cargo adds it.
            ("--bench", _) => {}
            ("--quick", _) => effort = QUICK,
            (_, Some(part)) => wanted.push(part),
            (other, None) => {
                eprintln!("{other} is not an option\n{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    let mut verdicts = Verdicts::default();
    for part in Part::ALL
        .into_iter()
        .filter(|part| wanted.is_empty() || wanted.contains(part))
    {
        runtime.block_on(part.run(&effort, &mut verdicts));
    }
    verdicts.conclude()
}
