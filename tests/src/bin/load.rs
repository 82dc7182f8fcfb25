//! Lets a crowd of clients loose on the local stack, with faults all around it, and prints what came of it.
//! It fails when anything does not add up.

use std::time::Duration;

use clap::Parser;
use service_tests::load::{Plan, run};

/// A crowd of clients on the local stack, with injected faults.
#[derive(Parser)]
struct Arguments {
    /// Clients at the same time.
    #[arg(long, default_value_t = 64)]
    clients: u32,
    /// How long they go on, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Calls in a hundred that fail.
    #[arg(long, default_value_t = 5)]
    faults: u32,
    /// What chance follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() {
    let Arguments { clients, seconds, faults, seed } = Arguments::parse();
    let lasting = Duration::from_secs(seconds);
    println!("{clients} clients for {seconds} s, {faults} % faults, seed {seed}");
    let report = run(Plan { seed, clients, lasting, most: u32::MAX, faults_percent: faults }).await;
    let at = |percent: usize| report.latencies.get(report.latencies.len() * percent / 100).copied();
    let (calls, lost) = report.calls;
    println!(
        "submissions answered: {}, {} a second",
        report.answered,
        report.answered as u64 / seconds.max(1)
    );
    println!("calls to the database, the tax authority and the partner: {calls}, of which {lost} failed");
    for percent in [50, 90, 99] {
        println!("p{percent}: {:.1} ms", at(percent).unwrap_or_default().as_secs_f64() * 1_000.0);
    }
    for ((kind, key), count) in &report.outcomes {
        println!("{kind:?} {key}: {count}");
    }
    println!("everything adds up");
}
