use std::sync::Arc;

use common::aws::deployment_secret::SecretVersion;

use crate::cli::SecretCommand;
use crate::codes::book;
use crate::prelude::*;

pub(crate) async fn run(command: SecretCommand, tables: &Tables, now: Timestamp) -> Result<Report> {
    match command {
        SecretCommand::Rotate => rotate(tables, now).await,
    }
}

async fn rotate(tables: &Tables, now: Timestamp) -> Result<Report> {
    let action = Action::new("secret.rotate");
    tables.audit.append(action, now).await?;
    let books = &tables.code_books;
    let mut secret = books.secrets().current().await?;
    let mut encrypted = encrypt_all(tables, &secret).await?;
    let is_new = encrypted == Encrypted::default();
    if is_new {
        let new = hex::encode(random::bytes::<32>());
        secret = books.secrets().rotate(&new).await?;
        encrypted = encrypt_all(tables, &secret).await?;
    }
    let made = if is_new {
        "The deployment's secret has a new version"
    } else {
        "An earlier rotation was cut short and is finished now; run this again for a new version. The \
         deployment's secret has had its version before"
    };
    let version = &secret.id;
    let text = format!(
        "{made}: {version}. {} code books and {} webhooks' secrets are encrypted under it; codes, batches and these secrets are \
         what they were. Replace the copy of the secret that you keep.",
        encrypted.books, encrypted.webhooks
    );
    let json = json!({
        "secret_version": version, "is_new": is_new, "books": encrypted.books, "webhooks": encrypted.webhooks,
    });
    Ok(Report::new(json, text))
}

/// Records that were under another version.
#[derive(Default, PartialEq, Eq)]
struct Encrypted {
    books: usize,
    webhooks: usize,
}

async fn encrypt_all(tables: &Tables, secret: &Arc<SecretVersion>) -> Result<Encrypted> {
    let (books, endpoints) = (&tables.code_books, &tables.webhook_endpoints);
    let mut encrypted = Encrypted::default();
    for scope in books.scopes().await? {
        let reencrypt = || async { Ok(books.reencrypt(&scope, secret).await) };
        encrypted.books += usize::from(book::until_saved(reencrypt).await?);
    }
    for endpoint in endpoints.list_all().await? {
        encrypted.webhooks += usize::from(endpoints.reencrypt(&endpoint, secret).await?);
    }
    Ok(encrypted)
}
