//! Calls for prizes of winning moments.

use std::time::Duration;

use common::domain::settling::Dependency;
use common::runtime::event_handler::EventHandler;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::moments::{NO_CAPS, OpenPlan};
use service_tests::partners::{judged_by, simulated};
use service_tests::receipts::{Settler, TIME, id_of, receipts_alone};
use service_tests::service::Service;
use sweep_unsettled::Tick;

use super::submit;
use crate::retention::sweeper;

/// Prizes of winning moments: of an idle environment, of a receipt, and of a partner's late answer.
pub(super) async fn win(service: &Service) {
    let codes = TestCampaign::on(service, plain()).await;
    OpenPlan::due(&codes, &[2], NO_CAPS).await;
    for number in 1..=2 {
        submit(&codes, &phone(number), &codes.code(number.into())).await;
        codes.advance(Duration::from_secs(6));
    }
    let partner = simulated(|_| {}).await;
    let late = TestCampaign::changed(service, judged_by(partner.url())).await;
    let receipts = TestCampaign::changed(service, receipts_alone).await;
    for campaign in [&late, &receipts] {
        OpenPlan::due(campaign, &[1], NO_CAPS).await;
    }
    let asked = submit(&late, &phone(1), "DOWN-1").await;
    let id = receipts.typed(&receipts.live_key, "GOOD010001", TIME).await;
    let typed = receipts
        .with_receipt(&receipts.live_key, &phone(1), "", &id)
        .await;
    late.advance(Duration::from_secs(60));
    let settler = Settler::new(service);
    for (campaign, sent, dependency) in [
        (&late, &asked, Dependency::Partner),
        (&receipts, &typed, Dependency::TaxAuthority),
    ] {
        let message = campaign.message(&id_of(sent));
        let mut shown = campaign.shown(sent).await;
        for _ in 0..20 {
            if shown.field("terminal") == true {
                break;
            }
            settler.deliver_to(dependency, &message).await;
            campaign.advance(Duration::from_secs(60));
            shown = campaign.shown(sent).await;
        }
        assert_eq!(shown.field("instant_win"), "Prize 0", "{}", shown.text);
    }
    late.advance(Duration::from_secs(600));
    let swept = sweeper(service).handle(Tick::default()).await;
    swept.expect("it looks for plans that are not armed, and logs days");
}
