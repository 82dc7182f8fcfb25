//! The days of plans of instant prizes, logged in the evidence when they end.

use std::time::Duration;

use common::aws::evidence;
use common::domain::digest::Digest;
use common::domain::instant::PlanChange;
use common::runtime::event_handler::EventHandler;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::moments::{NO_CAPS, OpenPlan};
use service_tests::service::Service;
use sweep_unsettled::{SweepUnsettled, Tick};

use crate::retention::sweeper;

const MINUTE: Duration = Duration::from_mins(1);

/// A plan of 20 prizes whose day ends in a minute, with a stop, and an entry that won.
async fn played() -> (TestCampaign, OpenPlan) {
    let campaign = TestCampaign::on(&Service::still(), plain()).await;
    let now = campaign.service.clock.now();
    let plan = OpenPlan::from_hour(&campaign, now.before(59 * MINUTE), &[20], NO_CAPS).await;
    let first = plan.schedule.plan().header().days[0].start();
    plan.change(|state| {
        let turns = [
            (true, first.before(MINUTE)),
            (false, first.after(MINUTE)),
            (true, first.after(2 * MINUTE)),
        ];
        let by = "asha".to_owned();
        state.changes = turns
            .map(|(open, at)| PlanChange {
                at,
                open,
                by: by.clone(),
            })
            .to_vec();
    })
    .await;
    campaign.advance(Duration::from_secs(6));
    let reply = campaign.entry(&phone(1), &campaign.code(1)).await;
    assert_eq!(reply.field("instant_win"), "Prize 0", "{}", reply.text);
    (campaign, plan)
}

async fn sweep(sweeper: &SweepUnsettled) {
    sweeper.handle(Tick::default()).await.expect("it sweeps");
}

fn key(plan: &OpenPlan) -> String {
    let folder = evidence::plans_folder(&plan.scope);
    format!("{folder}{}/days/0", plan.schedule.plan().commitment())
}

async fn logged(service: &Service, plan: &OpenPlan) -> Option<String> {
    let get = service.aws().s3().get_object().key(key(plan));
    let bucket = service.variable(evidence::VARIABLE);
    let object = get.bucket(bucket).send().await.ok()?;
    let bytes = object.body.collect().await.expect("bytes").to_vec();
    Some(String::from_utf8(bytes).expect("text"))
}

#[tokio::test]
async fn day_is_logged_once_ten_minutes_after_its_end() {
    let (campaign, plan) = played().await;
    let service = &campaign.service;
    let (sweeper, day) = (sweeper(service), &plan.schedule.plan().header().days[0]);
    let ten_minutes_after = day.end().after(10 * MINUTE);
    let wait = ten_minutes_after.since(service.clock.now());
    campaign.advance(wait.saturating_sub(Duration::from_millis(1)));
    sweep(&sweeper).await;
    assert_eq!(
        logged(service, &plan).await,
        None,
        "entries may be on their way"
    );
    campaign.advance(Duration::from_millis(1));
    sweep(&sweeper).await;

    let plans = service.tables.store.plans();
    let stored = plans.get(&plan.scope, plan.schedule.plan().commitment());
    let stored = stored.await.expect("it answers").expect("a plan");
    let won = plan.wins().await.remove(0);
    let at = |minutes: u32| day.start().after(minutes * MINUTE).as_millis();
    let lines = format!(
        "{},{},{},0\nstart,{}\nstop,{}\n",
        won.accepted_at.as_millis(),
        stored.reference_digest(won.reference),
        stored.pseudonym(&won.entrant_id),
        at(2),
        at(1)
    );
    let digest = Digest::from_parts(&[lines.as_bytes()]).to_string();
    assert_eq!(logged(service, &plan).await, Some(digest));

    let delete = service.aws().s3().delete_object().key(key(&plan));
    let deleted = delete.bucket(service.variable(evidence::VARIABLE)).send();
    deleted.await.expect("the local storage locks nothing");
    sweep(&sweeper).await;
    assert_eq!(
        logged(service, &plan).await,
        None,
        "it remembers, and asks nothing"
    );
}

#[tokio::test]
async fn logged_day_stays_when_its_wins_change() {
    let (campaign, plan) = played().await;
    let service = &campaign.service;
    campaign.advance(12 * MINUTE);
    sweep(&sweeper(service)).await;
    let first = logged(service, &plan).await;
    assert!(first.is_some());
    let wins = service.tables.store.wins().clear(&plan.scope).await;
    assert_eq!(wins.expect("it answers"), 1);
    // Another environment.
    sweep(&sweeper(service)).await;
    assert_eq!(logged(service, &plan).await, first);
}

#[tokio::test]
async fn day_is_logged_although_a_reveal_began() {
    let (campaign, plan) = played().await;
    // Any operator could write it.
    plan.change(|state| state.rows.push(Digest::from_parts(&[])))
        .await;
    campaign.advance(12 * MINUTE);
    sweep(&sweeper(&campaign.service)).await;
    assert!(logged(&campaign.service, &plan).await.is_some());
}
