//! Looks a phone's submissions up, on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::lambda::Error> {
    common::lambda::serve::<lookup_submissions::LookupSubmissions>().await
}
