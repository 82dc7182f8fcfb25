//! `ops campaign history` and `archive`.

use crate::campaigns::versions::{self, PastChange};
use crate::prelude::*;

/// Shown in one line.
const SHOWN_FIELDS: usize = 4;

pub(super) async fn history(
    tables: &Tables,
    slug: &CampaignSlug,
    limit: u16,
    now: Timestamp,
) -> Result<Report> {
    let changes = versions::history(tables, slug, usize::from(limit), now).await?;
    let json = |past: &PastChange| {
        let change = past.version.change.as_ref();
        json!({
            "revision": past.version.revision,
            "at": change.map(|change| change.at),
            "by": change.and_then(|change| change.by.as_ref()),
            "archived": past.version.campaign.archived,
            "changed": in_words(past),
            "differences": past.differences,
        })
    };
    let zone = changes.first().map(|past| past.version.campaign.timezone);
    let json: Vec<Value> = changes.iter().map(json).collect();
    let columns = [
        ("REVISION", "/revision"),
        ("WHEN", "/at"),
        ("BY", "/by"),
        ("CHANGED", "/changed"),
    ];
    let text = match zone {
        None => format!("{slug} has no history: it was not changed since versions are kept."),
        Some(zone) => format!(
            "{}\n`ops campaign show {slug} --yaml --revision N` prints one as a file.",
            table(&columns, &json, zone)
        ),
    };
    Ok(Report::new(json!({ "slug": slug, "history": json }), text))
}

fn in_words(past: &PastChange) -> String {
    let version = &past.version;
    let Some(differences) = &past.differences else {
        let is_new = version.change.is_some() && version.revision == 1;
        return if is_new { "created" } else { "not known" }.to_owned();
    };
    let names: Vec<_> = differences.iter().map(|one| &one.field).collect();
    match names.is_empty() {
        // Archiving changes no field of a file.
        true if version.campaign.archived => "archived".to_owned(),
        true => "unarchived".to_owned(),
        false => shortened(&names, SHOWN_FIELDS),
    }
}

pub(super) async fn archive(
    tables: &Tables,
    slug: &CampaignSlug,
    archived: bool,
    now: Timestamp,
) -> Result<Report> {
    let change = super::change(tables, now).await?;
    let changed = versions::set_archived(tables, slug, archived, change).await?;
    let text = match (changed, archived) {
        (false, true) => format!("{slug} is archived already"),
        (false, false) => format!("{slug} is not archived"),
        (true, true) => format!(
            "{slug} archived; `ops campaign list --all` still lists it, `ops campaign archive --undo {slug}` takes it back"
        ),
        (true, false) => {
            format!("{slug} unarchived; its window and its pause switch are as they were")
        }
    };
    let json = json!({ "slug": slug, "archived": archived, "changed": changed });
    Ok(Report::new(json, text))
}
