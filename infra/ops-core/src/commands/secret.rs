//! `ops secret`.

use common::domain::timestamp::Timestamp;
use serde_json::json;

use crate::audit::Action;
use crate::cli::SecretCommand;
use crate::failure::Failure;
use crate::secret::{self, Rotated};
use crate::tables::Tables;
use crate::terminal::Report;

pub(crate) async fn run(
    command: SecretCommand,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report, Failure> {
    match command {
        SecretCommand::Rotate => {
            tables
                .audit
                .append(Action::new("secret.rotate"), now)
                .await?;
            let Rotated {
                version,
                is_new,
                books,
            } = secret::rotate(&tables.code_books).await?;
            let made = if is_new {
                "The deployment's secret has a new version"
            } else {
                "An earlier rotation was cut short and is finished now; run this again for a new version. The \
                 deployment's secret has had its version before"
            };
            let text = format!(
                "{made}: {version}. {books} code books are encrypted under it; codes and batches are what they were. \
                 Replace the copy of the secret that you keep."
            );
            Ok(Report::new(
                json!({ "secret_version": version, "is_new": is_new, "books": books }),
                text,
            ))
        }
    }
}
