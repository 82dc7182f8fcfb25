//! `ops migrate`.

use common::clock::Clock;
use serde_json::json;

use crate::audit::Action;
use crate::failure::Failure;
use crate::migrate;
use crate::tables::Tables;
use crate::terminal::Report;

pub(crate) async fn run(tables: &Tables, clock: &Clock) -> Result<Report, Failure> {
    tables.audit.append(Action::new("records.migrate"), clock.now()).await?;
    let phones = migrate::run(tables).await?;
    let migrated = json!({ "phones": phones });
    // It can take long, and `ops numbers verify --correct` has to know when it ended.
    tables.audit.append(Action::new("records.migrated").with(migrated.clone()), clock.now()).await?;
    let text = match phones {
        0 => "Every record has the form of this release already.".to_owned(),
        phones => format!("{phones} records no longer hold a phone number in clear."),
    };
    Ok(Report::new(migrated, text))
}
