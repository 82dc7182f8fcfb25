use super::diff::{ChangeRow, differences, rows};
use super::{Facts, versions};
use crate::prelude::*;

#[derive(Clone, Debug)]
pub struct Meanwhile {
    pub rows: Vec<ChangeRow>,
    /// The last one's time and operator, if known.
    pub last: Option<(Timestamp, String)>,
    /// The stored revision.
    pub revision: u64,
}

/// `since` is the revision that the operator saw.
pub async fn meanwhile(
    tables: &Tables,
    slug: &CampaignSlug,
    since: u64,
    now: Timestamp,
) -> Result<Meanwhile> {
    let stored = versions::stored(tables, slug).await?;
    let versions = &tables.campaign_versions;
    let seen = versions.newest(slug, since, 1).await?;
    let latest = versions.newest(slug, stored.revision, 1).await?;
    let changed = latest
        .first()
        .and_then(|latest| latest.change.clone())
        .and_then(|change| Some((change.at, change.by?)));
    let paused = stored.pause.map(|pause| (pause.at, pause.by));
    let rows = match seen.first() {
        Some(seen) => {
            let differences =
                differences(Some(&seen.campaign), &stored.campaign, &Facts::new(now))?;
            rows(&differences, &stored.campaign)
        }
        None => Vec::new(),
    };
    Ok(Meanwhile {
        rows,
        last: changed.into_iter().chain(paused).max(),
        revision: stored.revision,
    })
}
