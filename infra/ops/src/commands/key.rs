//! `ops key`.

use common::domain::campaign::Zone;
use common::domain::moment::Moment;
use common::domain::scope::Scope;
use common::store::api_keys::ApiKeyRecord;
use serde_json::{Value, json};

use super::or_nothing;
use crate::cli::KeyCommand;
use crate::console::Report;
use crate::failure::Failure;
use crate::keys::{self, IssuedKey};
use crate::tables::Tables;
use crate::words::{local_time, table};

/// Characters of a label.
const LABEL_CHARS: std::ops::RangeInclusive<usize> = 1..=100;

pub(crate) async fn run(command: KeyCommand, tables: &Tables, now: Moment) -> Result<Report, Failure> {
    match command {
        KeyCommand::Issue { scope, label, per_minute } => {
            let label = label.as_deref().map(checked_label).transpose()?;
            let issued = keys::issue(tables, &Scope::from(scope), label, per_minute, now).await?;
            Ok(report_issued(&issued))
        }
        KeyCommand::List { campaign } => {
            let zone = tables.campaign(&campaign).await?.timezone;
            Ok(report_list(&tables.api_keys.list(&campaign).await?, &zone))
        }
        KeyCommand::Revoke { key_id } => {
            let revoked = keys::revoke(tables, &key_id, now).await?;
            let text = format!("{} revoked; callers see it within 5 seconds", revoked.key_id);
            Ok(Report::new(as_json(&revoked), text))
        }
    }
}

fn checked_label(label: &str) -> Result<&str, Failure> {
    let label = label.trim();
    if LABEL_CHARS.contains(&label.chars().count()) && !label.chars().any(char::is_control) {
        Ok(label)
    } else {
        Err(Failure::new("label_invalid", "a label is 1 to 100 characters on one line; shorten --label"))
    }
}

/// The key alone on standard output, so that a script can take it.
fn report_issued(issued: &IssuedKey) -> Report {
    let IssuedKey { key, record } = issued;
    let mut json = as_json(record);
    if let Some(fields) = json.as_object_mut() {
        fields.insert("key".to_owned(), json!(key));
    }
    let note = format!(
        "This is the only time that the key is shown; only its digest is kept. Store it on the caller's server.\n\
         Its id is {}: `ops key revoke {}` ends it. It works in {} of {}, {} requests a minute.",
        record.key_id, record.key_id, record.scope.environment, record.scope.campaign, record.per_minute
    );
    Report { note: Some(note), ..Report::new(json, key.clone()) }
}

fn report_list(keys: &[ApiKeyRecord], zone: &Zone) -> Report {
    let row = |key: &ApiKeyRecord| {
        vec![
            key.key_id.clone(),
            key.scope.environment.to_string(),
            key.per_minute.to_string(),
            local_time(key.created_at, zone),
            or_nothing(key.revoked_at.map(|moment| local_time(moment, zone))),
            or_nothing(key.label.as_ref()),
        ]
    };
    let text = if keys.is_empty() {
        "The campaign has no keys yet; `ops key issue` makes one.".to_owned()
    } else {
        let rows: Vec<_> = keys.iter().map(row).collect();
        let times = format!("CREATED ({})", zone.name());
        table(&["KEY-ID", "ENVIRONMENT", "PER MINUTE", &times, "REVOKED", "LABEL"], &rows)
    };
    let json: Vec<Value> = keys.iter().map(as_json).collect();
    Report::new(json!({ "keys": json }), text)
}

fn as_json(key: &ApiKeyRecord) -> Value {
    json!({
        "key_id": key.key_id,
        "campaign": key.scope.campaign,
        "environment": key.scope.environment,
        "label": key.label,
        "per_minute": key.per_minute,
        "created_at": key.created_at.to_string(),
        "revoked_at": key.revoked_at.map(|moment| moment.to_string()),
    })
}
