//! Many clients with injected faults, from a seed that is printed.

use std::path::PathBuf;
use std::time::Duration;

use common::random;
use service_tests::load::{Faults, Plan, Report, Transport, run};

fn fleets() -> Transport {
    Transport::Fleets(PathBuf::from(env!("CARGO_BIN_EXE_environment")))
}

async fn crowd(transport: Transport, clients: u32, most: u32, faults: Faults) -> Report {
    let given = std::env::var("SEED")
        .ok()
        .map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| u64::from_le_bytes(random::bytes()));
    println!("SEED={seed}");
    let lasting = Duration::from_secs(600);
    let report = run(Plan {
        transport,
        seed,
        clients,
        lasting,
        most,
        faults,
    })
    .await;
    report.assert_adds_up();
    assert_eq!(
        report.answered,
        usize::try_from(clients * most).expect("a few")
    );
    assert!(report.calls.1 > 0, "some calls failed: {:?}", report.calls);
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_amid_faults_leaves_nothing_that_does_not_add_up() {
    let faults = Faults {
        lost_percent: 5,
        ..Faults::default()
    };
    crowd(Transport::Http, 16, 25, faults).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_amid_throttling_lost_answers_and_killed_environments_adds_up_too() {
    let faults = Faults {
        lost_percent: 5,
        throttled_percent: 5,
        killed_percent: 5,
        ..Faults::default()
    };
    let report = crowd(fleets(), 12, 12, faults).await;
    let (killed, started) = report.environments;
    assert!(
        killed > 0 && started > 12,
        "{killed} of {started} environments were killed"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_amid_throttling_is_never_told_of_an_internal_error() {
    let faults = Faults {
        throttled_percent: 10,
        ..Faults::default()
    };
    let report = crowd(fleets(), 8, 24, faults).await;
    assert!(!report.statuses.contains_key(&500), "{:?}", report.statuses);
}
