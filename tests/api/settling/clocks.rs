//! Steps where one environment's clock is half a minute ahead.

use std::time::Duration;

use common::clock::Clock;
use common::domain::settling::STEP_LEASE;
use common::runtime::sqs_batch::SqsBatchResponse;
use local::stack::Options;
use service_tests::campaign::TestCampaign;
use service_tests::interceptor::{FaultKind, Interceptor};
use service_tests::receipts::{Settler, id_of, receipts_alone};

use super::{enter, set_up};

const AHEAD: Duration = Duration::from_secs(30);
/// How long a worker can live.
const WORKER_TIMEOUT: Duration = Duration::from_secs(85);

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
    let submitted = enter(&campaign_ahead, 1, "GOOD010001").await;
    let message = campaign.message(&id_of(&submitted));
    let delivered = settler.deliver(&message).await;
    assert_eq!(
        delivered,
        SqsBatchResponse::default(),
        "the message does not come again"
    );
    assert_eq!(campaign.shown(&submitted).await.field("state"), "pending");
    assert_eq!(
        settler.settle_after(AHEAD - Duration::from_millis(1)).await,
        0
    );
    assert_eq!(settler.settle_after(Duration::from_millis(1)).await, 1);
    assert_eq!(campaign.shown(&submitted).await.field("state"), "accepted");
}

#[tokio::test]
async fn fast_clock_starts_no_step_whose_worker_can_live() {
    let (campaign, _) = set_up(receipts_alone).await;
    let submitted = enter(&campaign, 1, "GOOD010001").await;
    let faults = Interceptor::at(0, FaultKind::DiesBefore);
    let service = campaign
        .service
        .behind(&faults, &["TAX_AUTHORITY_URL"])
        .await;
    let message = campaign.message(&id_of(&submitted));
    faults.cut(Settler::new(&service).deliver(&message)).await;
    let clock = Clock::manual(campaign.service.clock.now().after(WORKER_TIMEOUT + AHEAD));
    let ahead = Settler::new(&campaign.service.seen_by(clock.clone()));
    assert_eq!(ahead.settle_due().await, 0, "the step is in progress");
    clock.advance(STEP_LEASE - WORKER_TIMEOUT - AHEAD);
    assert_eq!(ahead.settle_due().await, 1);
    assert_eq!(campaign.shown(&submitted).await.field("state"), "accepted");
}
