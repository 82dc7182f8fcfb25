//! `ops secret`.

use common::aws::deployment_secret::DeploymentSecrets;
use common::domain::scope::Environment;
use common::store::code_books::CodeBooks;
use serde_json::json;
use service_tests::text::text_of;

use crate::draw::stored::records;
use crate::support::{Stack, chai, live};

async fn keys(books: &CodeBooks, environment: Environment) -> String {
    let stored = books
        .get(&chai(environment))
        .await
        .expect("it is read")
        .expect("a book");
    let keys = [&stored.book.minting_key, &stored.book.digest_key].into_iter();
    keys.map(|key| format!("{:?}", key.expose())).collect()
}

/// Each book's version of the secret.
async fn versions(stack: &Stack) -> Vec<String> {
    let books = records(stack, "code_books").await.into_iter();
    let version = books.map(|book| book["secret_version"].as_s().expect("text").clone());
    version.collect()
}

#[tokio::test]
async fn rotation_encrypts_every_book_and_keeps_its_keys() {
    let stack = Stack::with_chai().await;
    // A warm function, which has secret and book.
    let warm = stack.tables().code_books;
    let before = keys(&warm, Environment::Live).await;

    let rotated = stack.json("secret rotate").await;
    assert_eq!(rotated["books"], 2);
    assert_eq!(rotated["is_new"], true);
    let version = text_of(&rotated["secret_version"]);
    assert_eq!(versions(&stack).await, [version, version]);
    assert_eq!(
        keys(&warm, Environment::Live).await,
        before,
        "it fetches the new version"
    );
    assert_eq!(
        keys(&stack.tables().code_books, Environment::Live).await,
        before,
        "so does a new one"
    );
    let said = stack.fine("secret rotate").await;
    assert_contains!(
        said,
        "2 code books and 0 webhooks' secrets are encrypted under it"
    );
    assert_lacks!(said, version);
}

#[tokio::test]
async fn rotation_that_was_cut_short_is_finished_first() {
    let stack = Stack::with_chai().await;
    let tables = stack.tables();
    let before = keys(&tables.code_books, Environment::Test).await;
    let secrets = DeploymentSecrets::from_env(&stack.env, &stack.aws()).expect("a name");
    let new = secrets
        .rotate(&"n".repeat(64))
        .await
        .expect("it is replaced");
    // Meanwhile, functions read books under both versions.
    tables
        .code_books
        .reencrypt(&live(), &new)
        .await
        .expect("written");
    for books in [&tables.code_books, &stack.tables().code_books] {
        assert_eq!(keys(books, Environment::Test).await, before);
        keys(books, Environment::Live).await;
    }

    let finished = stack.json("secret rotate").await;
    assert_eq!(
        finished,
        json!({ "secret_version": new.id, "is_new": false, "books": 1, "webhooks": 0 })
    );
    assert_eq!(versions(&stack).await, [new.id.as_str(), &new.id]);
    assert_eq!(stack.json("secret rotate").await["is_new"], true);
    assert_eq!(keys(&tables.code_books, Environment::Test).await, before);
}
