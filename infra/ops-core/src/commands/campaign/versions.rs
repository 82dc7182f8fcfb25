//! `ops campaign history`, `archive` and `unarchive`.

use common::domain::scope::CampaignSlug;
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::campaigns::versions::{self, PastChange};
use crate::failure::Failure;
use crate::format::{local_time, or_dash, table};
use crate::tables::Tables;
use crate::terminal::Report;

/// Shown in one line.
const SHOWN_FIELDS: usize = 4;

pub(super) async fn history(
    tables: &Tables,
    slug: &CampaignSlug,
    limit: u16,
    now: Timestamp,
) -> Result<Report, Failure> {
    let changes = versions::history(tables, slug, usize::from(limit), now).await?;
    let row = |past: &PastChange| {
        let PastChange { version, .. } = past;
        let change = version.change.as_ref();
        vec![
            version.revision.to_string(),
            or_dash(change.map(|change| local_time(change.at, version.campaign.timezone))),
            or_dash(change.and_then(|change| change.by.as_ref())),
            in_words(past),
        ]
    };
    let json = |past: &PastChange| {
        let change = past.version.change.as_ref();
        json!({
            "revision": past.version.revision,
            "at": change.map(|change| change.at.to_string()),
            "by": change.and_then(|change| change.by.as_ref()),
            "archived": past.version.campaign.archived,
            "differences": past.differences,
        })
    };
    let text = if changes.is_empty() {
        format!("{slug} has no history: it was not changed since versions are kept.")
    } else {
        let rows: Vec<_> = changes.iter().map(row).collect();
        format!(
            "{}\n`ops campaign show {slug} --yaml --revision N` prints one as a file.",
            table(&["REVISION", "WHEN", "BY", "CHANGED"], &rows)
        )
    };
    let json: Vec<Value> = changes.iter().map(json).collect();
    Ok(Report::new(json!({ "slug": slug, "history": json }), text))
}

fn in_words(past: &PastChange) -> String {
    let version = &past.version;
    let Some(differences) = &past.differences else {
        let is_new = version.change.is_some() && version.revision == 1;
        return if is_new { "created" } else { "not known" }.to_owned();
    };
    let names = differences.iter().take(SHOWN_FIELDS);
    let names: Vec<_> = names.map(|one| one.field.as_str()).collect();
    match differences.len() {
        // Archiving changes no field of a file.
        0 if version.campaign.archived => "archived".to_owned(),
        0 => "unarchived".to_owned(),
        1..=SHOWN_FIELDS => names.join(", "),
        count => format!("{} and {} more", names.join(", "), count - SHOWN_FIELDS),
    }
}

pub(super) async fn archive(
    tables: &Tables,
    slug: &CampaignSlug,
    archived: bool,
    now: Timestamp,
) -> Result<Report, Failure> {
    let change = super::change(tables, now).await?;
    let changed = versions::set_archived(tables, slug, archived, change).await?;
    let text = match (changed, archived) {
        (false, true) => format!("{slug} is archived already"),
        (false, false) => format!("{slug} is not archived"),
        (true, true) => format!(
            "{slug} archived; `ops campaign list --all` still lists it, `ops campaign unarchive {slug}` takes it back"
        ),
        (true, false) => {
            format!("{slug} unarchived; its window and its pause switch are as they were")
        }
    };
    let json = json!({ "slug": slug, "archived": archived, "changed": changed });
    Ok(Report::new(json, text))
}
