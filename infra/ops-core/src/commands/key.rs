use common::config::Stage;
use common::store::api_keys::ApiKeyRecord;

use crate::cli::KeyCommand;
use crate::keys::{self, IssuedKey, RolledKey};
use crate::prelude::*;

pub(crate) async fn run(
    command: KeyCommand,
    env: &Env,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let tables = &connection::tables(env).await?;
    match command {
        KeyCommand::Issue {
            scope,
            label,
            per_minute,
            valid_for,
        } => {
            let (scope, label) = (
                Scope::from(scope),
                label.as_deref().map(keys::validate_label).transpose()?,
            );
            let issued =
                keys::issue(tables, &scope, label, per_minute, valid_for.map(hours), now).await?;
            Ok(with_staging_note(report_issued(&issued), &issued, env))
        }
        KeyCommand::List { campaign } => {
            let zone = tables.campaign(&campaign).await?.timezone;
            Ok(report_list(&tables.api_keys.list(&campaign).await?, zone))
        }
        KeyCommand::Set { key_id, per_minute } => {
            let changed = keys::set_per_minute(tables, &key_id, per_minute, now).await?;
            Ok(Report::new(
                of_record(&changed),
                keys::limit_in_words(&changed),
            ))
        }
        KeyCommand::Roll {
            key_id,
            old_valid_for,
        } => {
            let rolled = keys::roll(tables, &key_id, hours(old_valid_for), now).await?;
            Ok(report_rolled(&rolled))
        }
        KeyCommand::Revoke { key_id } => revoke(tables, &key_id, now, terminal).await,
    }
}

async fn revoke(
    tables: &Tables,
    key_id: &str,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let key = keys::find(tables, key_id).await?;
    if key.revoked_at.is_some() {
        return Ok(Report::new(
            of_record(&key),
            format!("{key_id} was revoked before; nothing changes"),
        ));
    }
    let ApiKeyRecord {
        key_id,
        scope,
        label,
        ..
    } = key;
    let label = label
        .map(|label| format!(" ({})", printable(&label)))
        .unwrap_or_default();
    let question = format!(
        "Revoke the {} key {key_id}{label} of {}? Calls with it are refused within 5 seconds.",
        scope.environment, scope.campaign
    );
    terminal.confirm_typed(&question, &key_id)?;
    let revoked = keys::revoke(tables, &key_id, now).await?;
    let text = format!(
        "{} revoked; callers see it within 5 seconds",
        revoked.key_id
    );
    Ok(Report::new(of_record(&revoked), text))
}

/// A live key is useless on a staging stack.
fn with_staging_note(mut report: Report, issued: &IssuedKey, env: &Env) -> Report {
    if issued.record.scope.environment.is_live()
        && matches!(Stage::from_env(env), Ok(Stage::Staging))
    {
        let note = report.note.get_or_insert_default();
        note.push('\n');
        note.push_str(keys::USELESS_ON_STAGING);
    }
    report
}

fn hours(number: u16) -> Duration {
    Duration::from_hours(number.into())
}

/// Standard output has only the key, for scripts.
fn report_issued(issued: &IssuedKey) -> Report {
    let IssuedKey { key, record, zone } = issued;
    let json = extended(of_record(record), [("key", json!(key))]);
    let until = record.valid_until.map(|until| {
        format!(
            "\nIt works until {}, and is refused as revoked from then on.",
            zoned_time(until, *zone)
        )
    });
    let note = format!(
        "This is the only time that the key is shown; only its digest is kept. Store it on the caller's server.\n\
         Its id is {}: `ops key revoke {}` ends it. It works in {} of {}, {} requests a minute.{}",
        record.key_id,
        record.key_id,
        record.scope.environment,
        record.scope.campaign,
        record.per_minute,
        until.unwrap_or_default()
    );
    Report::new(json, key.clone()).with_note(note)
}

fn report_rolled(rolled: &RolledKey) -> Report {
    let RolledKey { new, old } = rolled;
    let mut report = report_issued(new);
    let until = old.valid_until;
    let more = [
        ("old_key_id", json!(old.key_id)),
        (
            "old_valid_until",
            json!(until.map(|until| until.to_string())),
        ),
    ];
    report.json = extended(report.json, more);
    let until = or_dash(until.map(|until| zoned_time(until, new.zone)));
    let old = &old.key_id;
    let note = format!(
        "{old} works until {until}, and is refused as revoked from then on; `ops key revoke {old}` ends it at once."
    );
    report.note = Some(format!("{}\n{note}", report.note.unwrap_or_default()));
    report
}

fn report_list(keys: &[ApiKeyRecord], zone: Tz) -> Report {
    let keys: Vec<_> = keys.iter().map(of_record).collect();
    let created = format!("CREATED ({})", zone.name());
    let columns = [
        ("KEY-ID", "/key_id"),
        ("ENVIRONMENT", "/environment"),
        ("PER MINUTE", "/per_minute"),
        (&created, "/created_at"),
        ("VALID UNTIL", "/valid_until"),
        ("REVOKED", "/revoked_at"),
        ("LABEL", "/label"),
    ];
    let text = match keys.is_empty() {
        true => "The campaign has no keys yet; `ops key issue` makes one.".to_owned(),
        false => table(&columns, &keys, zone),
    };
    Report::new(json!({ "keys": keys }), text)
}
