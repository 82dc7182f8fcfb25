//! Reads a receipt, on AWS Lambda.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::lambda::Error> {
    common::lambda::serve::<get_receipt::GetReceipt>().await
}
