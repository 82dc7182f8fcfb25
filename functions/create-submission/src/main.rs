//! Enters a consumer, on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::lambda::Error> {
    common::lambda::serve::<create_submission::CreateSubmission>().await
}
