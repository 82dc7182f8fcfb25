#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::runtime::lambda::Error> {
    common::runtime::lambda::serve::<create_receipt::CreateReceipt>().await
}
