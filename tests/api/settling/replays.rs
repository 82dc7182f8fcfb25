//! A second tap that races with the first one's settling.

use common::clock::Clock;
use common::domain::code_record::CodeKey;
use common::store::submission_writes::{RecordKeys, ReplayWrite, SubmissionStore};
use futures_util::future::{join, join_all};
use local::stack::Options;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::interceptor::Interceptor;
use service_tests::receipts::{Settler, TIME, code_and_receipt, id_of};
use service_tests::service::{NOON, Service, entrant_id};

use super::{set_up, submit_typed};

const UNKNOWN_RECEIPT: &str = "00000000-0000-4000-8000-000000000000";

fn is_replay_of_a_rejected_one(reply: &Reply) -> bool {
    reply.status == 200 && reply.field("replayed") == true && reply.field("state") == "rejected"
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
                let reply = campaign
                    .with_receipt(&campaign.live_key, &phone, &code, UNKNOWN_RECEIPT)
                    .send()
                    .await;
                assert!(!is_replay_of_a_rejected_one(&reply), "{}", reply.text);
                if reply.status == 404 {
                    return taps;
                }
                assert_eq!(reply.status, 200, "{}", reply.text);
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
    let campaign = TestCampaign::changed(&service, code_and_receipt).await;
    submit_typed(&campaign, &phone(1), &campaign.code(0), "SHOP010001", TIME).await;
    hold.select(records_a_replay);
    let key = &campaign.live_key;
    let tap = tokio::spawn(
        campaign
            .with_receipt(key, &phone(1), &campaign.code(0), UNKNOWN_RECEIPT)
            .send(),
    );
    hold.reached().await;
    assert_eq!(Settler::new(&service).settle_due().await, 1);
    hold.release();
    let reply = tap.await.expect("it ends");
    assert_eq!(reply.refusal(), "404 not_found receipt_id");
}

#[tokio::test]
async fn replay_is_not_recorded_for_a_submission_without_its_code() {
    let (campaign, settler) = set_up(code_and_receipt).await;
    let first = submit_typed(&campaign, &phone(1), &campaign.code(0), "SHOP010001", TIME).await;
    let scope = campaign.live_scope();
    let store = SubmissionStore::from_env(&campaign.service.env, &campaign.service.dynamodb())
        .expect("the tables");
    let earlier = id_of(&first).parse().expect("an id");
    let first_entrant = entrant_id(&scope, &phone(1).parse().expect("a phone"));
    let (key, other_key) = (
        "a-replay-that-races".parse().expect("a key"),
        "a-replay-in-time-00".parse().expect("a key"),
    );
    let keys = |key| RecordKeys {
        scope: &scope,
        key,
        entrant: &first_entrant,
        code: Some(&CodeKey::Minted(0)),
        receipt: None,
    };
    let now = campaign.service.clock.now();
    let in_time = store
        .record_replay(keys(&other_key), "hash", earlier, now)
        .await
        .expect("the tables");
    assert!(matches!(in_time, ReplayWrite::Recorded), "{in_time:?}");
    settler.settle_due().await;
    let late = store
        .record_replay(keys(&key), "hash", earlier, now)
        .await
        .expect("the tables");
    assert!(matches!(late, ReplayWrite::CodeMoved), "{late:?}");
    let again = store
        .record_replay(keys(&other_key), "hash", earlier, now)
        .await
        .expect("the tables");
    assert!(matches!(again, ReplayWrite::KeyUsed(record) if record.record_id == earlier));
    let tapped = campaign.with_receipt(
        &campaign.live_key,
        &phone(1),
        &campaign.code(0),
        UNKNOWN_RECEIPT,
    );
    assert_eq!(tapped.send().await.refusal(), "404 not_found receipt_id");
}
