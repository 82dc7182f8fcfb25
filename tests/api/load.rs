//! Many clients amid faults, with a seed that is printed.

use std::time::Duration;

use common::random;
use service_tests::load::{Plan, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_amid_faults_leaves_nothing_that_does_not_add_up() {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| u64::from_le_bytes(random::bytes()));
    println!("SEED={seed}");
    let lasting = Duration::from_secs(600);
    let report = run(Plan { seed, clients: 16, lasting, most: 25, faults_percent: 5 }).await;
    assert_eq!(report.answered, 16 * 25);
    assert!(report.calls.1 > 0, "some calls failed: {:?}", report.calls);
}
