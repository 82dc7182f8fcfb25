use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve::<create_receipt::CreateReceipt>()
}
