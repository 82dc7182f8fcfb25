//! Reads a submission, on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::lambda::Error> {
    common::lambda::serve::<get_submission::GetSubmission>().await
}
