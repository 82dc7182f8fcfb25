use common::runtime::lambda;

fn main() -> lambda::Served {
    // Photos are read in a child process, which runs this same program.
    photo::serve_if_asked();
    lambda::serve_events::<settle_receipts::SettleReceipts>()
}
