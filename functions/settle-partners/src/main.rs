use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve_events::<settle_partners::SettlePartners>()
}
