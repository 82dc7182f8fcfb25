//! Steps where one environment's clock is half a minute ahead.

use std::time::Duration;

use common::aws::settle_queue::SettleMessage;
use common::clock::Clock;
use common::domain::settling::STEP_LEASE;
use common::runtime::sqs_batch::SqsBatchResponse;
use local::stack::Options;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};

use super::{set_up, status, submit_typed};

const AHEAD: Duration = Duration::from_secs(30);
/// How long a worker can live.
const WORKER_TIMEOUT: Duration = Duration::from_secs(85);

fn message(campaign: &TestCampaign, submitted: &Reply) -> SettleMessage {
    let scope = campaign.live_scope();
    SettleMessage {
        scope,
        submission_id: id_of(submitted).parse().expect("an id"),
    }
}

#[tokio::test]
async fn sweep_settles_what_a_fast_clock_skipped() {
    let (campaign, settler) = set_up(receipts_alone).await;
    let clock = Clock::manual(campaign.service.clock.now().after(AHEAD));
    let ahead = campaign.service.beside(Options {
        clock,
        background: false,
        ..Options::default()
    });
    let campaign_ahead = TestCampaign {
        service: ahead,
        ..campaign.clone()
    };
    let submitted = submit_typed(&campaign_ahead, &phone(1), "", "GOOD010001", TIME).await;
    let delivered = settler.deliver(&message(&campaign, &submitted)).await;
    assert_eq!(
        delivered,
        SqsBatchResponse::default(),
        "the message does not come again"
    );
    assert_eq!(status(&campaign, &submitted).await[0], "pending");
    assert_eq!(
        settler.settle_after(AHEAD - Duration::from_millis(1)).await,
        0
    );
    assert_eq!(settler.settle_after(Duration::from_millis(1)).await, 1);
    assert_eq!(status(&campaign, &submitted).await[0], "accepted");
}

#[tokio::test]
async fn fast_clock_starts_no_step_whose_worker_can_live() {
    let (campaign, _) = set_up(receipts_alone).await;
    let submitted = submit_typed(&campaign, &phone(1), "", "GOOD010001", TIME).await;
    let fault_injection = Interceptor::at(0, FaultKind::DiesBefore);
    let authority = campaign
        .service
        .env
        .required("TAX_AUTHORITY_URL")
        .expect("the stack sets it");
    let cut = (
        "TAX_AUTHORITY_URL".to_owned(),
        fault_injection.in_front_of(&authority).await,
    );
    let env = campaign
        .service
        .env
        .clone()
        .overridden_by([cut].into_iter().collect());
    let victim = Settler::new(&campaign.service.with_env(env));
    let message = message(&campaign, &submitted);
    tokio::select! {
        _ = victim.deliver(&message) => {}
        () = fault_injection.death() => {}
    }
    let clock = Clock::manual(campaign.service.clock.now().after(WORKER_TIMEOUT + AHEAD));
    let ahead = Settler::new(&campaign.service.seen_by(clock.clone()));
    assert_eq!(ahead.settle_due().await, 0, "the step is in progress");
    clock.advance(STEP_LEASE - WORKER_TIMEOUT - AHEAD);
    assert_eq!(ahead.settle_due().await, 1);
    assert_eq!(status(&campaign, &submitted).await[0], "accepted");
}
