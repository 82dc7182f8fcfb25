//! Settles submissions, on AWS Lambda.

fn main() -> Result<(), common::lambda::Error> {
    // Photos are read in a process of their own, which is this program again.
    settle_submission::read_photo_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(common::lambda::serve_events::<settle_submission::SettleSubmission>())
}
