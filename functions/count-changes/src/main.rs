//! The function on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::runtime::lambda::Error> {
    common::runtime::lambda::serve_events::<count_changes::CountChanges>().await
}
