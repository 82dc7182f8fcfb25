//! `POST /api/v1/submissions`: prizes given at winning moments.

use std::collections::BTreeMap;
use std::time::Duration;

use common::clock::Clock;
use common::domain::codebook::BatchStatus;
use common::domain::instant::Caps;
use common::domain::scope::Environment;
use common::domain::settling::Dependency;
use common::domain::submission::correction::Correction;
use common::domain::submission::{OperatorDecision, Submission};
use common::domain::win::WinSource;
use futures_util::StreamExt;
use futures_util::stream;
use local::stack::Options;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone, plain};
use service_tests::database_faults::Fault;
use service_tests::event;
use service_tests::fleet::Routing;
use service_tests::http::Reply;
use service_tests::interceptor::{Disturbance, FaultKind, Interceptor};
use service_tests::moments::{NO_CAPS, OpenPlan};
use service_tests::random::Random;
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};
use service_tests::service::Service;

use super::crowds::count;
use crate::load::turn;
use crate::process::fleet;

const ENVIRONMENTS: usize = 4;
const PRIZE: &str = "Prize 0";

fn outcome(reply: &Reply) -> (Value, Value) {
    assert_eq!(reply.status, 200, "{}", reply.text);
    (reply.field("message_key"), reply.field("instant_win"))
}

fn won() -> (Value, Value) {
    (json!("instant_win"), json!(PRIZE))
}

fn lost() -> (Value, Value) {
    (json!("entered"), Value::Null)
}

/// Entries of these phones and codes through a fleet; replies by message key.
async fn crowd(
    campaign: &TestCampaign,
    entries: impl IntoIterator<Item = (u32, u64)>,
) -> BTreeMap<String, usize> {
    let fleet = fleet("create-submission", &campaign.service, Routing::Even);
    fleet.warm_up(ENVIRONMENTS).await;
    let entering = entries.into_iter().map(async |(number, code)| {
        let body = body(&phone(number), &campaign.code(code));
        let event = event::entry(&body, &campaign.live_key);
        loop {
            let answer = fleet.invoke(&event).await.expect("an answer");
            // As callers do.
            if answer["statusCode"] != 409 && answer["statusCode"] != 503 {
                return event::reply(&answer);
            }
        }
    });
    let replies: Vec<Reply> = stream::iter(entering)
        .buffer_unordered(ENVIRONMENTS)
        .collect()
        .await;
    count(&replies)
}

fn counts(won: usize, entered: usize) -> BTreeMap<String, usize> {
    let counts = [("instant_win", won), ("entered", entered)];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(key, count)| (key.to_owned(), count)).collect()
}

#[tokio::test]
async fn first_entry_after_a_moment_wins_its_prize() {
    let campaign = TestCampaign::plain().await;
    let batch = campaign.mint("prizes", BatchStatus::Active, Some("A kettle"));
    let batch = batch.await;
    let plan = OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    let shown = campaign.live("GET", "/api/v1/campaign").await;
    assert_eq!(
        shown.field("instant"),
        json!({ "commitment": plan.state().await.plan, "prizes": [PRIZE] })
    );
    let of_batch = campaign.entry(&phone(1), &campaign.code(batch)).await;
    assert_eq!(of_batch.field("instant_win"), "A kettle");
    assert_eq!(plan.given().await, [0], "one prize an entry");

    let winner = campaign.entry(&phone(2), &campaign.code(0)).await;
    assert_eq!(outcome(&winner), won());
    let next = campaign.entry(&phone(3), &campaign.code(1)).await;
    assert_eq!(outcome(&next), lost());
    assert_eq!(plan.given().await, [1]);
    let wins = plan.wins().await;
    let sources: Vec<_> = wins
        .iter()
        .map(|win| (win.source, win.moment.map(|m| m.prize)))
        .collect();
    assert_eq!(
        sources,
        [(WinSource::Batch, None), (WinSource::Moment, Some(0))]
    );
    assert_eq!(wins[1].submission_id.to_string(), id_of(&winner));
    let test = campaign.submit(&phone(4), &campaign.code(2)).await;
    assert_eq!(outcome(&test), lost(), "test mode has no plan");
}

#[tokio::test]
async fn five_hundred_entries_at_a_moment_are_one_winner() {
    let _turn = turn().await;
    let campaign = TestCampaign::plain().await;
    for batch in ["b", "c", "d", "e"] {
        campaign.mint(batch, BatchStatus::Active, None).await;
    }
    let plan = OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    let counted = crowd(&campaign, (0..500).map(|n| (n, n.into()))).await;
    assert_eq!(counted, counts(1, 499));
    assert_eq!((plan.given().await, plan.wins().await.len()), (vec![1], 1));
}

#[tokio::test]
async fn as_many_entries_as_open_moments_all_win() {
    let _turn = turn().await;
    let campaign = TestCampaign::plain().await;
    let plan = OpenPlan::due(&campaign, &[30, 20], NO_CAPS).await;
    let counted = crowd(&campaign, (0..50).map(|n| (n, n.into()))).await;
    assert_eq!(counted, counts(50, 0));
    let state = (plan.given().await, plan.wins().await.len());
    assert_eq!(state, (vec![30, 20], 50));
    let counted = crowd(&campaign, [(60, 60)]).await;
    assert_eq!(counted, counts(0, 1));
}

#[tokio::test]
async fn caps_hold_over_environments() {
    let _turn = turn().await;
    let campaign = TestCampaign::plain().await;
    let caps = Caps { day: 3, total: 2 };
    let plan = OpenPlan::due(&campaign, &[90], caps).await;
    // Two phones, twenty entries each.
    let entries = (0..40).map(|n: u32| (n % 2, n.into()));
    assert_eq!(crowd(&campaign, entries).await, counts(4, 36));
    assert_eq!(plan.given().await, [4]);

    let campaign = TestCampaign::plain().await;
    let caps = Caps { day: 1, total: 9 };
    let plan = OpenPlan::due(&campaign, &[90], caps).await;
    let entries = (0..10).map(|n: u32| (n % 2, n.into()));
    assert_eq!(crowd(&campaign, entries).await, counts(2, 8));
    assert_eq!(plan.given().await, [2]);
}

/// A stack whose calls to the database a proxy sees, with a campaign.
async fn intercepted() -> (TestCampaign, Interceptor) {
    let options = Options {
        clock: Clock::manual(Clock::system().now()),
        background: false,
        ..Options::default()
    };
    let (service, proxy) = Service::shared().intercepted_beside(options).await;
    (TestCampaign::on(&service, plain()).await, proxy)
}

#[tokio::test]
async fn entry_that_sees_no_open_moment_costs_what_it_cost() {
    let (campaign, proxy) = intercepted().await;
    let now = campaign.service.clock.now();
    let plan = OpenPlan::from_hour(&campaign, now, &[1], NO_CAPS).await;
    let mut code = 0;
    let mut cost = async || {
        code += 1;
        proxy.take_seen();
        let entry = campaign.entry(&phone(code), &campaign.code(code.into()));
        let outcome = outcome(&entry.await);
        let seen = proxy.take_seen();
        let calls = seen
            .calls
            .iter()
            .filter(|call| !call.contains("a key's limit"));
        (
            outcome == won(),
            calls.count(),
            seen.write_units,
            seen.capacity - seen.write_units,
        )
    };
    for _ in 0..4 {
        cost().await;
    }
    assert_eq!(cost().await, (false, 1, 9.0, 0.0), "a passer-by");
    // Within the age of caches.
    let moment = plan.schedule.all_moments()[0][0];
    campaign.advance(moment.since(campaign.service.clock.now()));
    for _ in 0..3 {
        plan.change(|state| state.open = false).await;
        campaign.advance(Duration::from_secs(6));
        cost().await;
    }
    plan.change(|state| state.open = true).await;
    campaign.advance(Duration::from_secs(6));
    let winner = cost().await;
    println!("winner in an idle environment: {winner:?}");
    assert!(winner.0, "{winner:?}");
    let after = [cost().await, cost().await, cost().await];
    assert!(after.contains(&(false, 1, 9.0, 0.0)), "{after:?}");
}

#[tokio::test]
async fn entry_that_loses_a_moment_pays_for_one_refused_claim() {
    let (campaign, proxy) = intercepted().await;
    OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    proxy.select(|_, body| body.contains(":due"));
    let loser = async { outcome(&campaign.entry(&phone(1), &campaign.code(0)).await) };
    // Calls, write and read units, without the key's limit.
    let cost = || {
        let seen = proxy.take_seen();
        let leases = u32::try_from(seen.leases()).expect("few");
        let calls = seen.calls.len() - seen.leases();
        let reads = seen.capacity - seen.write_units;
        (calls, seen.write_units - f64::from(leases), reads)
    };
    let winner = async {
        proxy.reached().await;
        proxy.stop();
        cost();
        let winner = outcome(&campaign.entry(&phone(2), &campaign.code(1)).await);
        let cost = cost();
        proxy.release();
        (winner, cost)
    };
    let (loser, (winner, paid)) = tokio::join!(loser, winner);
    assert_eq!((loser, winner), (lost(), won()));
    assert_eq!(paid, (2, 13.0, 1.0), "the state, and the entry");
    // Twelve for the refused claim, which tells the state.
    assert_eq!(cost(), (2, 21.0, 0.0));
}

#[tokio::test]
async fn prize_survives_every_crash_and_is_given_once() {
    let (campaign, _proxy) = intercepted().await;
    let service = campaign.service.clone();
    let mut killed = 0;
    for how in FaultKind::ALL {
        for call in 0.. {
            let campaign = TestCampaign::on(&service, plain()).await;
            let plan = OpenPlan::due(&campaign, &[1], NO_CAPS).await;
            let (cut, faults) = service
                .intercepted_beside(Options {
                    background: false,
                    ..Options::default()
                })
                .await;
            faults.arm(call, how);
            let over = TestCampaign {
                service: cut,
                ..campaign.clone()
            };
            let key = fresh_key();
            let entry = |campaign: &TestCampaign| {
                campaign
                    .live("POST", "/api/v1/submissions")
                    .header("idempotency-key", &key)
                    .json(&body(&phone(1), &campaign.code(0)))
            };
            faults.cut(entry(&over).send()).await;
            if !faults.was_made() {
                break;
            }
            killed += 1;
            let replayed = entry(&campaign).await;
            assert_eq!(outcome(&replayed), won(), "{how:?} at {call}");
            let given = (plan.given().await, plan.wins().await.len());
            assert_eq!(given, (vec![1], 1), "{how:?} at {call}");
        }
    }
    println!("{killed} crashes");
    assert!(killed >= 12, "{killed}");
}

#[tokio::test]
async fn throttled_claim_is_refused_and_wins_when_sent_again() {
    let (campaign, proxy) = intercepted().await;
    let plan = OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    let table = campaign.service.variable("INSTANT_TABLE");
    let disturbance = Disturbance {
        throttled_percent: 100,
        throttled_table: Some(table),
        ..Disturbance::default()
    };
    proxy.disturb(Random::new(7), disturbance);
    let entry = campaign.entry(&phone(1), &campaign.code(0));
    let refused = entry.clone().await;
    assert_eq!(refused.refusal(), "503 service_unavailable");
    assert_eq!(
        (
            plan_given(&proxy, &plan).await,
            refused.header("retry-after")
        ),
        (vec![0], Some("5"))
    );
    assert_eq!(outcome(&entry.await), won());
}

async fn plan_given(proxy: &Interceptor, plan: &OpenPlan) -> Vec<u32> {
    proxy.disturb_no_more();
    plan.given().await
}

#[tokio::test]
async fn conflict_over_the_state_is_tried_again() {
    let (campaign, proxy) = intercepted().await;
    OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    // Idempotency-Key, code, entrant, win, state, submission.
    proxy.play([Fault::Conflict(4), Fault::Throttled(4), Fault::Conflict(4)]);
    let winner = campaign.entry(&phone(1), &campaign.code(0)).await;
    assert_eq!((outcome(&winner), proxy.faults_left()), (won(), 0));
}

#[tokio::test]
async fn revoked_winners_prize_goes_to_the_next_entry() {
    let (campaign, _proxy) = intercepted().await;
    let plan = OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    let winner = campaign.entry(&phone(1), &campaign.code(0)).await;
    assert_eq!(outcome(&winner), won());
    let store = &campaign.service.tables.store;
    let id = id_of(&winner).parse().expect("an id");
    let before: Submission = store
        .submissions()
        .get(&plan.scope, id)
        .await
        .expect("it answers")
        .expect("it is there");
    let decision = OperatorDecision {
        by: "asha".to_owned(),
        at: campaign.service.clock.now(),
        why: None,
        confirmed: None,
        identity: None,
    };
    let after = before
        .corrected(Correction::REVOKE, decision)
        .expect("accepted");
    let win = plan.wins().await.remove(0);
    let revoked = win.revoked(after.updated_at).expect("open");
    let moment = win.moment.expect("a moment");
    let back = store.plans().give_back(&plan.scope, moment).await;
    let further = vec![
        store.wins().change(&win, &revoked),
        back.expect("it answers").expect("its plan counts"),
    ];
    let done = store.revoke(&before, &after, false, further).await;
    done.expect("it answers");
    assert_eq!(plan.given().await, [0]);
    campaign.advance(Duration::from_secs(6));
    let next = campaign.entry(&phone(2), &campaign.code(1)).await;
    assert_eq!((outcome(&next), plan.given().await), (won(), vec![1]));
}

#[tokio::test]
async fn stopped_plan_gives_nothing_until_it_starts() {
    let (campaign, _proxy) = intercepted().await;
    let plan = OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    plan.change(|state| state.open = false).await;
    let during = campaign.entry(&phone(1), &campaign.code(0)).await;
    assert_eq!(outcome(&during), lost());
    plan.change(|state| state.open = true).await;
    campaign.advance(Duration::from_secs(6));
    let after = campaign.entry(&phone(2), &campaign.code(1)).await;
    assert_eq!(outcome(&after), won());
}

/// Submits receipts of these phones and settles each at once; returns the outcomes.
async fn settled(campaign: &TestCampaign, receipts: &[(u32, &str)]) -> Vec<(Value, Value)> {
    let settler = Settler::new(&campaign.service);
    let key = &campaign.live_key;
    let mut outcomes = Vec::new();
    for (number, code) in receipts {
        let receipt = campaign.typed(key, code, TIME).await;
        let submitted = campaign.with_receipt(key, &phone(*number), "", &receipt);
        let submitted = submitted.await;
        assert_eq!(submitted.field("state"), "pending");
        campaign.advance(Duration::from_secs(5));
        let message = campaign.message(&id_of(&submitted));
        settler.deliver_to(Dependency::TaxAuthority, &message).await;
        outcomes.push(outcome(&campaign.shown(&submitted).await));
    }
    outcomes
}

#[tokio::test]
async fn receipt_wins_when_it_is_settled() {
    let service = Service::still();
    let campaign = TestCampaign::changed(&service, receipts_alone).await;
    let plan = OpenPlan::due(&campaign, &[1], NO_CAPS).await;
    let outcomes = settled(&campaign, &[(1, "GOOD010001"), (1, "GOOD010002")]).await;
    assert_eq!(outcomes, [won(), lost()]);
    assert_eq!(plan.wins().await[0].source, WinSource::Moment);
    let entrant = campaign.entrant(Environment::Live, 1).await;
    assert_eq!(entrant.total, 2);
}

#[tokio::test]
async fn caps_hold_for_receipts() {
    let service = Service::still();
    let campaign = TestCampaign::changed(&service, receipts_alone).await;
    let caps = Caps { day: 1, total: 1 };
    let plan = OpenPlan::due(&campaign, &[3], caps).await;
    let receipts = [(1, "GOOD010001"), (1, "GOOD010002"), (2, "GOOD010003")];
    let outcomes = settled(&campaign, &receipts).await;
    assert_eq!(outcomes, [won(), lost(), won()]);
    assert_eq!((plan.given().await, plan.wins().await.len()), (vec![2], 2));
}
