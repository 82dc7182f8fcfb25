//! Starts a receipt, on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::lambda::Error> {
    common::lambda::serve::<create_receipt::CreateReceipt>().await
}
