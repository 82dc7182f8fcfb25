//! Settles submissions with a receipt, on AWS Lambda.

fn main() -> Result<(), common::runtime::lambda::Error> {
    // Photos are read in a process of their own, which is this program again.
    settle_receipts::read_photo_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(common::runtime::lambda::serve_events::<settle_receipts::SettleReceipts>())
}
