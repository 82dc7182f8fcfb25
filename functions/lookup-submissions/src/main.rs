use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve::<lookup_submissions::LookupSubmissions>()
}
