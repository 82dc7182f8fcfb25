//! Runs the function that its argument names, for tests with processes.

use common::runtime::lambda::{self, Served};
use count_changes::CountChanges;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use deliver_events::DeliverEvents;
use get_campaign::GetCampaign;
use publish_events::PublishEvents;
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use sweep_unsettled::SweepUnsettled;

fn main() -> Served {
    // Photos are decoded in a child process of this program.
    photo::serve_if_asked();
    match std::env::args().nth(1).as_deref() {
        Some("count-changes") => lambda::serve_events::<CountChanges>(),
        Some("create-receipt") => lambda::serve::<CreateReceipt>(),
        Some("create-submission") => lambda::serve::<CreateSubmission>(),
        Some("deliver-events") => lambda::serve_events::<DeliverEvents>(),
        Some("get-campaign") => lambda::serve::<GetCampaign>(),
        Some("publish-events") => lambda::serve_events::<PublishEvents>(),
        Some("settle-partners") => lambda::serve_events::<SettlePartners>(),
        Some("settle-receipts") => lambda::serve_events::<SettleReceipts>(),
        Some("sweep-unsettled") => lambda::serve_events::<SweepUnsettled>(),
        other => Err(format!("{other:?} is not one of the functions that tests start").into()),
    }
}
