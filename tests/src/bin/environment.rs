//! A function by name, for tests that need its environments as processes: built by `cargo test`, with all that tests are.

fn main() -> Result<(), common::runtime::lambda::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match std::env::args().nth(1).as_deref() {
        Some("create-submission") => {
            runtime.block_on(common::runtime::lambda::serve::<create_submission::CreateSubmission>())
        }
        Some("get-campaign") => {
            runtime.block_on(common::runtime::lambda::serve::<get_campaign::GetCampaign>())
        }
        other => Err(format!("{other:?} is not one of the functions that tests start").into()),
    }
}
