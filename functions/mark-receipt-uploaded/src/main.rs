#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), common::runtime::lambda::Error> {
    common::runtime::lambda::serve_events::<mark_receipt_uploaded::MarkReceiptUploaded>().await
}
