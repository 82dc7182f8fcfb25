fn main() -> Result<(), common::runtime::lambda::Error> {
    // Photos are read in a child process, which runs this same program.
    photo::serve_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(common::runtime::lambda::serve_events::<
        settle_receipts::SettleReceipts,
    >())
}
