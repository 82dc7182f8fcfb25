use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve_events::<deliver_events::DeliverEvents>()
}
