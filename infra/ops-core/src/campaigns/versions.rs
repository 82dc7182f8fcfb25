use common::store::campaign_versions::CampaignVersion;
use common::store::campaigns::StoredCampaign;

use super::diff::{FieldChange, differences};
use super::{Facts, check_written};
use crate::prelude::*;
use crate::tables::unknown_campaign;

#[derive(Debug)]
pub(crate) struct PastChange {
    pub(crate) version: CampaignVersion,
    /// `None` if the previous version is unknown.
    pub(crate) differences: Option<Vec<FieldChange>>,
}

/// Newest first.
pub(crate) async fn history(
    tables: &Tables,
    slug: &CampaignSlug,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<PastChange>> {
    let stored = stored(tables, slug).await?;
    // One more, to compare the oldest shown one with.
    let versions = tables
        .campaign_versions
        .newest(slug, stored.revision, limit + 1)
        .await?;
    let facts = Facts::new(now);
    let mut changes = Vec::new();
    for (index, version) in versions.iter().enumerate().take(limit) {
        let before = versions.get(index + 1).map(|before| &before.campaign);
        let compared = before.map(|before| differences(Some(before), &version.campaign, &facts));
        changes.push(PastChange {
            version: version.clone(),
            differences: compared.transpose()?,
        });
    }
    Ok(changes)
}

pub(crate) async fn version(
    tables: &Tables,
    slug: &CampaignSlug,
    revision: u64,
) -> Result<Campaign> {
    let version = tables.campaign_versions.get(slug, revision).await?;
    version.map(|version| version.campaign).ok_or_else(|| {
        failure!(
            "version_unknown",
            "`{slug}` has no version {revision}; `ops campaign history {slug}` shows those that it has"
        )
    })
}

pub(crate) async fn set_archived(
    tables: &Tables,
    slug: &CampaignSlug,
    archived: bool,
    change: CampaignChange,
) -> Result<bool> {
    let before = stored(tables, slug).await?;
    if before.campaign.archived == archived {
        return Ok(false);
    }
    let status = before.campaign.status(change.at);
    if archived && matches!(status, CampaignStatus::Live | CampaignStatus::NotStarted) {
        bail!(
            "campaign_not_over",
            "`{slug}` takes entries, or will: end it with window.end in its file, or pause it, before you archive it"
        );
    }
    let campaign = Campaign {
        archived,
        ..before.campaign.clone()
    };
    let name = if archived {
        "campaign.archive"
    } else {
        "campaign.unarchive"
    };
    tables
        .audit
        .append(Action::new(name).in_campaign(slug), change.at)
        .await?;
    let written =
        tables
            .campaign_versions
            .write(&tables.campaigns, Some(&before), &campaign, change);
    check_written(slug, written.await?).map(|()| true)
}

pub async fn stored(tables: &Tables, slug: &CampaignSlug) -> Result<StoredCampaign> {
    tables
        .campaigns
        .get_stored(slug)
        .await?
        .ok_or_else(|| unknown_campaign(slug))
}
