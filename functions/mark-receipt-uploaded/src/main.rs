use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve_events::<mark_receipt_uploaded::MarkReceiptUploaded>()
}
