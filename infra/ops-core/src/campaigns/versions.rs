//! Earlier versions of a campaign, and its archiving.

use common::domain::campaign::{Campaign, CampaignStatus};
use common::domain::scope::CampaignSlug;
use common::domain::timestamp::Timestamp;
use common::store::campaign_versions::{CampaignChange, CampaignVersion};
use common::store::campaigns::StoredCampaign;

use super::diff::{FieldChange, differences};
use super::{Facts, changed_by_another};
use crate::audit::Action;
use crate::failure::Failure;
use crate::tables::{Tables, unknown_campaign};

/// A version, and how it differs from the one before.
#[derive(Debug)]
pub(crate) struct PastChange {
    pub(crate) version: CampaignVersion,
    /// `None` if the version before is not known.
    pub(crate) differences: Option<Vec<FieldChange>>,
}

/// A campaign's versions, newest first, at most `most`.
pub(crate) async fn history(
    tables: &Tables,
    slug: &CampaignSlug,
    most: usize,
    now: Timestamp,
) -> Result<Vec<PastChange>, Failure> {
    let stored = stored(tables, slug).await?;
    // One more, to compare the oldest that is shown with.
    let versions = tables
        .campaign_versions
        .newest(slug, stored.revision, most + 1)
        .await?;
    let facts = Facts {
        now,
        live_codes: 0,
        entries: 0,
        over_limit: None,
    };
    let mut changes = Vec::new();
    for (index, version) in versions.iter().enumerate().take(most) {
        let before = versions.get(index + 1).map(|before| &before.campaign);
        let compared = before.map(|before| differences(Some(before), &version.campaign, &facts));
        changes.push(PastChange {
            version: version.clone(),
            differences: compared.transpose()?,
        });
    }
    Ok(changes)
}

/// A version of a campaign.
pub(crate) async fn version(
    tables: &Tables,
    slug: &CampaignSlug,
    revision: u64,
) -> Result<Campaign, Failure> {
    let version = tables.campaign_versions.get(slug, revision).await?;
    version.map(|version| version.campaign).ok_or_else(|| {
        let message = format!(
            "`{slug}` has no version {revision}; `ops campaign history {slug}` shows those that it has"
        );
        Failure::new("version_unknown", message)
    })
}

/// Archives or unarchives a campaign. Returns false if there was nothing to change.
pub(crate) async fn set_archived(
    tables: &Tables,
    slug: &CampaignSlug,
    archived: bool,
    change: CampaignChange,
) -> Result<bool, Failure> {
    let before = stored(tables, slug).await?;
    if before.campaign.archived == archived {
        return Ok(false);
    }
    match before.campaign.status(change.at) {
        CampaignStatus::Live | CampaignStatus::NotStarted if archived => {
            let message = format!(
                "`{slug}` takes entries, or will: end it with window.end in its file, or pause it, before you archive it"
            );
            return Err(Failure::new("campaign_not_over", message));
        }
        CampaignStatus::Live
        | CampaignStatus::NotStarted
        | CampaignStatus::Paused
        | CampaignStatus::Ended => {}
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
    match tables
        .campaign_versions
        .write(&tables.campaigns, Some(&before), &campaign, change)
        .await?
    {
        true => Ok(true),
        false => Err(changed_by_another(slug)),
    }
}

pub(super) async fn stored(
    tables: &Tables,
    slug: &CampaignSlug,
) -> Result<StoredCampaign, Failure> {
    tables
        .campaigns
        .get_stored(slug)
        .await?
        .ok_or_else(|| unknown_campaign(slug))
}
