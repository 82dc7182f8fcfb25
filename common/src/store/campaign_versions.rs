//! Each campaign's configuration after every change. Revisions count up, so versions are found by
//! key. The pause switch makes a revision without a version.

use serde::{Deserialize, Serialize};

use super::batch::BatchGet;
use super::campaigns::{Campaigns, StoredCampaign};
use super::write::Write;
use super::{StoreResult, from_record, transaction};
use crate::domain::{Campaign, CampaignSlug, Timestamp};

pub const KEY: &str = "version";
pub const VARIABLE: &str = "CAMPAIGN_VERSIONS_TABLE";

const READING: &str = "reading a campaign's versions";

const BATCH: u64 = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignVersion {
    pub revision: u64,
    pub change: Option<CampaignChange>,
    pub campaign: Campaign,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignChange {
    pub at: Timestamp,
    pub by: Option<String>,
}

store! {
    CampaignVersions
}

impl CampaignVersions {
    pub async fn get(
        &self,
        slug: &CampaignSlug,
        revision: u64,
    ) -> StoreResult<Option<CampaignVersion>> {
        self.table.find(item_key(slug, revision), READING).await
    }

    pub async fn newest(
        &self,
        slug: &CampaignSlug,
        up_to: u64,
        limit: usize,
    ) -> StoreResult<Vec<CampaignVersion>> {
        let mut versions = Vec::new();
        let mut end = up_to + 1;
        while end > 0 && versions.len() < limit {
            let start = end.saturating_sub(BATCH);
            let mut batch = BatchGet::default();
            (start..end)
                .for_each(|revision| batch.add(&self.table.place(item_key(slug, revision))));
            let items = batch.send(self.table.client(), READING).await?;
            for revision in (start..end).rev() {
                let place = self.table.place(item_key(slug, revision));
                if let Some(item) = items.find(&place).item() {
                    versions.push(from_record(item.clone(), READING)?);
                }
            }
            end = start;
        }
        versions.truncate(limit);
        Ok(versions)
    }

    pub async fn write(
        &self,
        campaigns: &Campaigns,
        before: Option<&StoredCampaign>,
        campaign: &Campaign,
        change: CampaignChange,
    ) -> StoreResult<bool> {
        let slug = &campaign.slug;
        let mut items = Vec::new();
        let mut revision = 1;
        if let Some(StoredCampaign {
            campaign,
            revision: latest,
            ..
        }) = before
        {
            revision = latest + 1;
            if self.get(slug, *latest).await?.is_none() {
                let version = CampaignVersion {
                    revision: *latest,
                    change: None,
                    campaign: campaign.clone(),
                };
                items.push(self.put(slug, &version));
            }
        }
        // After a restore of the campaigns alone, later versions exist.
        while self.get(slug, revision).await?.is_some() {
            revision += 1;
        }
        let version = CampaignVersion {
            revision,
            change: Some(change),
            campaign: campaign.clone(),
        };
        items.push(self.put(slug, &version));
        items.push(campaigns.write(before, campaign, revision));
        transaction::write_all(items, "writing a campaign's version").await
    }

    fn put(&self, slug: &CampaignSlug, version: &CampaignVersion) -> Write {
        let key = item_key(slug, version.revision);
        self.table.put(key, version).when_absent(KEY)
    }
}

fn item_key(slug: &CampaignSlug, revision: u64) -> String {
    // Slugs have no `#`.
    format!("{slug}#{revision}")
}
