//! Runs many clients with injected faults, with functions in processes as on Lambda; prints
//! statistics, and fails unless records match replies.

use std::time::Duration;

use clap::Parser;
use service_tests::interceptor::Disturbance;
use service_tests::load::{Plan, run};

/// Run many clients on a local stack, each function in its own processes, with injected faults.
#[derive(Parser)]
struct Arguments {
    /// Concurrent clients.
    #[arg(long, default_value_t = 64)]
    clients: u32,
    /// Duration in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Percent of the calls that fail.
    #[arg(long, default_value_t = 5)]
    faults: u32,
    /// Percent of the database calls that are throttled.
    #[arg(long, default_value_t = 0)]
    throttled: u32,
    /// The only table to throttle.
    #[arg(long)]
    throttled_table: Option<String>,
    /// Percent of the events during which the environment is killed.
    #[arg(long, default_value_t = 0)]
    killed: u32,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let Arguments {
        clients,
        seconds,
        seed,
        ..
    } = arguments;
    let lasting = Duration::from_secs(seconds);
    let faults = Disturbance {
        lost_percent: arguments.faults,
        throttled_percent: arguments.throttled,
        throttled_table: arguments.throttled_table,
    };
    // Cargo builds it beside this program.
    let program = std::env::current_exe().expect("it runs");
    let program = program.with_file_name("environment");
    println!("{clients} clients for {seconds} s, seed {seed}, {faults:?}");
    let report = run(Plan {
        program,
        seed,
        clients,
        lasting,
        most: u32::MAX,
        faults,
        killed_percent: arguments.killed,
    })
    .await;
    let at = |percent: usize| {
        report
            .latencies
            .get(report.latencies.len() * percent / 100)
            .copied()
    };
    let (calls, lost) = report.calls;
    let (killed, started) = report.environments;
    println!(
        "submissions answered: {}, {} a second",
        report.answered,
        report.answered as u64 / seconds.max(1)
    );
    println!(
        "calls to the database, the tax authority and the partner: {calls}, of which {lost} failed"
    );
    println!("environments: {started} started, {killed} killed");
    for (status, count) in &report.statuses {
        println!("status {status}: {count}");
    }
    for percent in [50, 90, 99] {
        println!(
            "p{percent}: {:.1} ms",
            at(percent).unwrap_or_default().as_secs_f64() * 1_000.0
        );
    }
    for ((kind, key), count) in &report.outcomes {
        println!("{kind:?} {key}: {count}");
    }
    report.assert_adds_up();
    println!("everything adds up");
}
