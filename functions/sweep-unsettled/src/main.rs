use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve_events::<sweep_unsettled::SweepUnsettled>()
}
