use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve::<check_code::CheckCode>()
}
