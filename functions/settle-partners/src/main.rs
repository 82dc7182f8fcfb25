//! Settles submissions whose codes a partner judges, on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::lambda::Error> {
    common::lambda::serve_events::<settle_partners::SettlePartners>().await
}
