use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve_events::<publish_events::PublishEvents>()
}
