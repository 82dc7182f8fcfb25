//! A second tap that races with the first one's settling.

use common::clock::Clock;
use common::domain::code_record::CodeKey;
use common::domain::scope::Environment;
use common::store::submission_writes::{RecordKeys, ReplayWrite};
use futures_util::future::{join, join_all};
use local::stack::Options;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::RequestBuilder;
use service_tests::interceptor::Interceptor;
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of};
use service_tests::service::{NOON, Service};

use super::{set_up, submit_typed};

const UNKNOWN_RECEIPT: &str = "00000000-0000-4000-8000-000000000000";

/// A request that only a replay answers without looking for its receipt.
fn tap(campaign: &TestCampaign, phone: &str, code: &str) -> RequestBuilder {
    campaign.with_receipt(&campaign.live_key, phone, code, UNKNOWN_RECEIPT)
}

#[tokio::test]
async fn no_replay_answers_with_a_rejected_submission() {
    // `RACES` sets their number.
    let races = std::env::var("RACES")
        .ok()
        .map_or(20, |races| races.parse().expect("RACES is a number"));
    let (campaign, settler) = set_up(code_and_receipt).await;
    let mut replays = 0;
    for race in 0..races {
        let (phone, code) = (phone(race), campaign.code(u64::from(race % 100)));
        submit_typed(&campaign, &phone, &code, &format!("SHOP01{race:04}"), TIME).await;
        // Taps until the receipt is not found: before, during and after the rejection.
        let tap_until_refused = || async {
            for taps in 0.. {
                let reply = tap(&campaign, &phone, &code).await;
                if reply.status == 404 {
                    return taps;
                }
                assert_eq!(reply.status, 200, "{}", reply.text);
                assert_ne!(reply.fields("replayed state"), "true rejected");
            }
            0
        };
        let clients = join_all((0..8).map(|_| tap_until_refused()));
        let (taps, _) = join(clients, settler.settle_due()).await;
        replays += taps.iter().sum::<u32>();
    }
    println!("{replays} taps were replays; the last of each client was decided anew");
    assert!(replays > races, "{replays} replays in {races} races");
}

fn records_a_replay(_: &str, body: &str) -> bool {
    body.contains("TransactItems") && body.contains("\"replayed\":{\"BOOL\":true}")
}

#[tokio::test]
async fn replay_of_a_submission_just_rejected_is_decided_anew() {
    let hold = Interceptor::default();
    let service = Service::with_options(Options {
        clock: Clock::manual(NOON),
        background: false,
        proxy: Some(hold.front()),
        ..Options::default()
    });
    let not_found = "404 not_found receipt_id";
    let campaign = TestCampaign::changed(&service, code_and_receipt).await;
    submit_typed(&campaign, &phone(1), &campaign.code(0), "SHOP010001", TIME).await;
    hold.select(records_a_replay);
    let tap = tokio::spawn(tap(&campaign, &phone(1), &campaign.code(0)).send());
    hold.reached().await;
    assert_eq!(Settler::new(&service).settle_due().await, 1);
    hold.release();
    assert_eq!(tap.await.expect("it ends").refusal(), not_found);
}

#[tokio::test]
async fn replay_is_not_recorded_for_a_submission_without_its_code() {
    let (campaign, settler) = set_up(code_and_receipt).await;
    let first = submit_typed(&campaign, &phone(1), &campaign.code(0), "SHOP010001", TIME).await;
    let scope = campaign.live_scope();
    let earlier = id_of(&first).parse().expect("an id");
    let entrant = campaign.entrant_id(Environment::Live, 1);
    let record = async |key: &str| {
        let keys = RecordKeys {
            scope: &scope,
            key: &key.parse().expect("a key"),
            entrant: &entrant,
            code: Some(&CodeKey::Minted(0)),
            receipt: None,
        };
        let (store, now) = (&campaign.service.tables.store, campaign.service.clock.now());
        let recorded = store.record_replay(keys, "hash", earlier, now).await;
        recorded.expect("the tables")
    };
    let in_time = record("a-replay-in-time-00").await;
    assert!(matches!(in_time, ReplayWrite::Recorded), "{in_time:?}");
    settler.settle_due().await;
    let late = record("a-replay-that-races").await;
    assert!(matches!(late, ReplayWrite::CodeMoved), "{late:?}");
    let again = record("a-replay-in-time-00").await;
    assert!(matches!(again, ReplayWrite::KeyUsed(record) if record.record_id == earlier));
    let reply = tap(&campaign, &phone(1), &campaign.code(0)).await;
    assert_eq!(reply.refusal(), "404 not_found receipt_id");
}
