//! Many clients with injected faults, from a seed that is printed.

use std::time::Duration;

use common::random;
use service_tests::interceptor::Disturbance;
use service_tests::load::{Plan, Report, run};
use tokio::sync::{Mutex, MutexGuard};

use crate::process::program;

/// One crowd at a time: beside another one on a slow machine, calls take longer than their limit.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

async fn crowd(clients: u32, most: u32, faults: Disturbance, killed_percent: u32) -> Report {
    let _turn = turn().await;
    let given = std::env::var("SEED").ok();
    let given = given.map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| u64::from_le_bytes(random::bytes()));
    println!("SEED={seed}");
    let report = run(Plan {
        program: program(),
        seed,
        clients,
        lasting: Duration::from_secs(600),
        most,
        faults,
        killed_percent,
    })
    .await;
    report.assert_adds_up();
    let sent = usize::try_from(clients * most).expect("a few");
    assert_eq!(report.answered, sent);
    assert!(report.calls.1 > 0, "some calls failed: {:?}", report.calls);
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crowd_amid_throttling_lost_calls_and_kills_adds_up() {
    let faults = Disturbance {
        lost_percent: 5,
        throttled_percent: 5,
        ..Disturbance::default()
    };
    let report = crowd(12, 12, faults, 5).await;
    let (killed, started) = report.environments;
    assert!(
        killed > 0 && started > 12,
        "{killed} of {started} environments were killed"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crowd_amid_throttling_gets_no_internal_error() {
    let faults = Disturbance {
        throttled_percent: 10,
        ..Disturbance::default()
    };
    let report = crowd(8, 12, faults, 0).await;
    assert!(!report.statuses.contains_key(&500), "{:?}", report.statuses);
}
