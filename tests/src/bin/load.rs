//! Lets a crowd of clients loose on the local stack, with faults all around it, and prints what came of it.
//! It fails when anything does not add up.

use std::time::Duration;

use clap::Parser;
use service_tests::load::{Faults, Plan, Transport, run};

/// A crowd of clients on the local stack, with injected faults.
#[derive(Parser)]
struct Arguments {
    /// Clients at the same time.
    #[arg(long, default_value_t = 64)]
    clients: u32,
    /// How long they go on, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Calls in a hundred that are lost.
    #[arg(long, default_value_t = 5)]
    faults: u32,
    /// Runs each function in environments of its own, as on Lambda, in place of all in one process.
    #[arg(long)]
    fleets: bool,
    /// Calls to the database in a hundred that are throttled.
    #[arg(long, default_value_t = 0)]
    throttled: u32,
    /// The only table that is throttled.
    #[arg(long)]
    throttled_table: Option<String>,
    /// Events in a hundred during which the environment is killed.
    #[arg(long, default_value_t = 0, requires = "fleets")]
    killed: u32,
    /// What chance follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let Arguments { clients, seconds, seed, .. } = arguments;
    let lasting = Duration::from_secs(seconds);
    let faults = Faults {
        lost_percent: arguments.faults,
        throttled_percent: arguments.throttled,
        throttled_table: arguments.throttled_table,
        killed_percent: arguments.killed,
    };
    let transport = match arguments.fleets {
        // Built beside this program.
        true => Transport::Fleets(std::env::current_exe().expect("it runs").with_file_name("environment")),
        false => Transport::Http,
    };
    println!("{clients} clients for {seconds} s, seed {seed}, {faults:?}");
    let report = run(Plan { transport, seed, clients, lasting, most: u32::MAX, faults }).await;
    let at = |percent: usize| report.latencies.get(report.latencies.len() * percent / 100).copied();
    let (calls, lost) = report.calls;
    let (killed, started) = report.environments;
    println!(
        "submissions answered: {}, {} a second",
        report.answered,
        report.answered as u64 / seconds.max(1)
    );
    println!("calls to the database, the tax authority and the partner: {calls}, of which {lost} failed");
    if started > 0 {
        println!("environments: {started} started, {killed} killed");
    }
    for (status, count) in &report.statuses {
        println!("status {status}: {count}");
    }
    for percent in [50, 90, 99] {
        println!("p{percent}: {:.1} ms", at(percent).unwrap_or_default().as_secs_f64() * 1_000.0);
    }
    for ((kind, key), count) in &report.outcomes {
        println!("{kind:?} {key}: {count}");
    }
    report.assert_adds_up();
    println!("everything adds up");
}
