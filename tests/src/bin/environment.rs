//! Runs the function that its argument names, for tests with processes.

use common::runtime::lambda::{self, Error};
use count_changes::CountChanges;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use get_campaign::GetCampaign;
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;
use sweep_unsettled::SweepUnsettled;

fn main() -> Result<(), Error> {
    // Photos are decoded in a child process of this program.
    photo::serve_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match std::env::args().nth(1).as_deref() {
            Some("count-changes") => lambda::serve_events::<CountChanges>().await,
            Some("create-receipt") => lambda::serve::<CreateReceipt>().await,
            Some("create-submission") => lambda::serve::<CreateSubmission>().await,
            Some("get-campaign") => lambda::serve::<GetCampaign>().await,
            Some("settle-partners") => lambda::serve_events::<SettlePartners>().await,
            Some("settle-receipts") => lambda::serve_events::<SettleReceipts>().await,
            Some("sweep-unsettled") => lambda::serve_events::<SweepUnsettled>().await,
            other => Err(format!("{other:?} is not one of the functions that tests start").into()),
        }
    })
}
