//! The benchmark: measures what the service's budgets are about, and says which are kept.
//!
//! `cargo bench -p service-tests` prints a Markdown table for each part and fails when a budget is
//! broken. After `--` come options: `--quick` repeats little, and the name of a part runs it alone.
//!
//! - [`calls`]: DynamoDB calls and capacity of each operation, counted on the wire;
//! - [`size`]: whether they depend on how much is stored;
//! - [`startup`]: how long each function takes to start, and its memory and size;
//! - [`codes`]: codes minted and judged a second;
//! - [`load`]: requests a second;
//! - [`fleet`]: what two, thirty-two and two hundred environments do to a key's rate limit, what an entry takes in one that is
//!   cold, idle or warm, how often many ask the tax authority, and what a crowd leaves behind while environments die.
//!
//! They measure on a [`world`] of stacks and campaigns, whose [`operations`] are asked for by a
//! [`caller`], over time by a [`stopwatch`], and go into a [`report`].

mod binaries;
mod caller;
mod calls;
mod codes;
mod fleet;
mod load;
mod operations;
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

const USAGE: &str =
    "usage: cargo bench -p service-tests [-- [--quick] [calls] [size] [startup] [codes] [load] [fleet]]";

/// How much is measured.
struct Effort {
    /// Requests of each operation.
    requests: usize,
    /// Submissions in the tables when there are few, and when there are many.
    few: u32,
    many: u32,
    /// Starts of each function.
    starts: usize,
    /// Codes enciphered and judged.
    codes: u64,
    /// How long requests are sent at full speed.
    load: Duration,
}

/// For figures to go by.
const FULL: Effort = Effort {
    requests: 200,
    few: 1_000,
    many: 250_000,
    starts: 25,
    codes: 2_000_000,
    load: Duration::from_secs(5),
};
/// For seeing on every change that no budget is broken.
const QUICK: Effort =
    Effort { requests: 60, few: 100, many: 2_000, starts: 7, codes: 200_000, load: Duration::from_secs(1) };

/// A part of the benchmark, with a table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Calls,
    Size,
    Startup,
    Codes,
    Load,
    Fleet,
}

impl Part {
    /// In the order in which they run.
    const ALL: [Self; 6] = [Self::Calls, Self::Size, Self::Startup, Self::Codes, Self::Load, Self::Fleet];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Size => "size",
            Self::Startup => "startup",
            Self::Codes => "codes",
            Self::Load => "load",
            Self::Fleet => "fleet",
        }
    }

    async fn run(self, effort: &Effort, verdicts: &mut Verdicts) {
        match self {
            Self::Calls => calls::run(effort.requests, verdicts).await,
            Self::Size => size::run(effort.requests, effort.few, effort.many, verdicts).await,
            Self::Startup => startup::run(effort.starts, verdicts).await,
            Self::Codes => codes::run(effort.codes, verdicts),
            Self::Load => load::run(effort.load).await,
            Self::Fleet => fleet::run(effort.load, verdicts).await,
        }
    }
}

fn main() -> ExitCode {
    let mut effort = FULL;
    let mut wanted = Vec::new();
    for argument in std::env::args().skip(1) {
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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let mut verdicts = Verdicts::default();
    for part in Part::ALL.into_iter().filter(|part| wanted.is_empty() || wanted.contains(part)) {
        runtime.block_on(part.run(&effort, &mut verdicts));
    }
    verdicts.conclude()
}
