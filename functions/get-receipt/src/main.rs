use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve::<get_receipt::GetReceipt>()
}
