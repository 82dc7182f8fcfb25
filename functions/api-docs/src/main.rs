use common::config::Env;
use common::runtime::lambda;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    lambda::serve_function(api_docs::ApiDocs::new(lambda::responder(
        &Env::from_process(),
    )?))
    .await
}
