use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve_events::<count_changes::CountChanges>()
}
