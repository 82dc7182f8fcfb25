//! `ops campaign history`, `archive` and `unarchive`.

use common::domain::scope::CampaignSlug;
use common::domain::timestamp::Timestamp;
use common::store::campaign_versions::{CampaignChange, CampaignVersion};
use serde_json::{Value, json};

use crate::campaigns::FieldChange;
use crate::campaigns::versions::{self, PastChange};
use crate::failure::Failure;
use crate::format::{local_time, or_dash, table};
use crate::tables::Tables;
use crate::terminal::Report;

/// Names of changed fields that one line shows.
const SHOWN_FIELDS: usize = 4;

pub(super) async fn history(
    tables: &Tables,
    slug: &CampaignSlug,
    limit: u16,
    now: Timestamp,
) -> Result<Report, Failure> {
    let changes = versions::history(tables, slug, usize::from(limit), now).await?;
    let row = |PastChange {
                   version,
                   differences,
               }: &PastChange| {
        let change = version.change.as_ref();
        vec![
            version.revision.to_string(),
            or_dash(change.map(|change| local_time(change.at, version.campaign.timezone))),
            or_dash(change.and_then(|change| change.by.as_ref())),
            in_words(differences.as_deref(), version),
        ]
    };
    let rows: Vec<_> = changes.iter().map(row).collect();
    let json = |PastChange {
                    version,
                    differences,
                }: &PastChange| {
        let change = version.change.as_ref();
        json!({
            "revision": version.revision,
            "at": change.map(|change| change.at.to_string()),
            "by": change.and_then(|change| change.by.as_ref()),
            "archived": version.campaign.archived,
            "differences": differences,
        })
    };
    let json: Vec<Value> = changes.iter().map(json).collect();
    let text = if rows.is_empty() {
        format!("{slug} has no history: it was not changed since versions are kept.")
    } else {
        format!(
            "{}\n`ops campaign show {slug} --yaml --revision N` prints one as a file.",
            table(&["REVISION", "WHEN", "BY", "CHANGED"], &rows)
        )
    };
    Ok(Report::new(json!({ "slug": slug, "history": json }), text))
}

fn in_words(differences: Option<&[FieldChange]>, version: &CampaignVersion) -> String {
    let Some(differences) = differences else {
        let is_new = version.change.is_some() && version.revision == 1;
        return if is_new { "created" } else { "not known" }.to_owned();
    };
    if differences.is_empty() {
        // No field of a file.
        return if version.campaign.archived {
            "archived"
        } else {
            "unarchived"
        }
        .to_owned();
    }
    let names: Vec<_> = differences
        .iter()
        .take(SHOWN_FIELDS)
        .map(|one| one.field.as_str())
        .collect();
    let more = differences.len().saturating_sub(SHOWN_FIELDS);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", names.join(", "))
}

pub(super) async fn archive(
    tables: &Tables,
    slug: &CampaignSlug,
    archived: bool,
    change: CampaignChange,
) -> Result<Report, Failure> {
    let changed = versions::set_archived(tables, slug, archived, change).await?;
    let word = if archived { "archived" } else { "unarchived" };
    let text = match (changed, archived) {
        (false, true) => format!("{slug} is archived already"),
        (false, false) => format!("{slug} is not archived"),
        (true, true) => {
            format!(
                "{slug} {word}; `ops campaign list --all` still lists it, `ops campaign unarchive {slug}` takes it back"
            )
        }
        (true, false) => format!("{slug} {word}; its window and its pause switch are as they were"),
    };
    Ok(Report::new(
        json!({ "slug": slug, "archived": archived, "changed": changed }),
        text,
    ))
}
