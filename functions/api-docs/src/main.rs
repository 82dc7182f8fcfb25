use common::runtime::lambda;

fn main() -> lambda::Served {
    lambda::serve_handler(api_docs::ApiDocs::new)
}
