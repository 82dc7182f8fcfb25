use serde::{Deserialize, Serialize};

use super::batch::{BatchGet, BatchItems};
use super::table::list;
use super::write::Write;
use super::{Item, StoreResult, from_record, number, transaction};
use crate::domain::campaign::PublishedPlan;
use crate::domain::webhook::Endpoint;
use crate::domain::{Campaign, CampaignSlug, Environment, Scope, Timestamp};

pub const KEY: &str = "slug";
pub const VARIABLE: &str = "CAMPAIGNS_TABLE";

const READING: &str = "reading a campaign";
const REVISION: &str = "revision";
const PAUSE_CHANGE: &str = "pause_change";
const WEBHOOKS: &str = "webhooks";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseChange {
    pub paused: bool,
    pub at: Timestamp,
    pub by: String,
    pub why: Option<String>,
}

/// Changes replace this revision.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredCampaign {
    #[serde(flatten)]
    pub campaign: Campaign,
    pub revision: u64,
    /// `None` if a campaign file made the last change.
    #[serde(rename = "pause_change")]
    pub pause: Option<PauseChange>,
    #[serde(skip)]
    item: Item,
}

store! {
    Campaigns
}

impl Campaigns {
    pub async fn get(&self, slug: &CampaignSlug) -> StoreResult<Option<Campaign>> {
        self.table.find(slug.as_str(), READING).await
    }

    pub async fn get_stored(&self, slug: &CampaignSlug) -> StoreResult<Option<StoredCampaign>> {
        let item = self.table.get(slug.as_str(), READING).await?;
        let stored = item.map(|item| {
            let stored = from_record(item.clone(), READING)?;
            Ok(StoredCampaign { item, ..stored })
        });
        stored.transpose()
    }

    pub(crate) fn add_to(&self, batch: &mut BatchGet, slug: &CampaignSlug) {
        batch.add(&self.table.place(slug.as_str()));
    }

    pub(crate) fn find_in(
        &self,
        items: &BatchItems,
        slug: &CampaignSlug,
    ) -> StoreResult<Option<Campaign>> {
        let item = items.find(&self.table.place(slug.as_str())).item();
        item.cloned().map(read).transpose()
    }

    /// Ordered by slug. Reads the whole table.
    pub async fn list(&self) -> StoreResult<Vec<Campaign>> {
        let mut campaigns = list(self.table.scan(), "listing campaigns", read).await?;
        campaigns.sort_by(|a, b| a.slug.cmp(&b.slug));
        Ok(campaigns)
    }

    pub async fn replace(
        &self,
        before: Option<&StoredCampaign>,
        campaign: &Campaign,
    ) -> StoreResult<bool> {
        let revision = before.map_or(0, |before| before.revision) + 1;
        let write = self.write(before, campaign, revision);
        transaction::write_one(write, "writing a campaign").await
    }

    /// A timeline of two operators, one perhaps with the pause switch: both see revision 3; the
    /// first writes revision 4; the second's condition fails.
    pub(crate) fn write(
        &self,
        before: Option<&StoredCampaign>,
        campaign: &Campaign,
        revision: u64,
    ) -> Write {
        let slug = campaign.slug.as_str();
        let Some(before) = before else {
            let put = self.table.put(slug, campaign).set(REVISION, revision);
            return put.when_absent(KEY);
        };
        let as_stored = Campaign {
            webhooks: before.campaign.webhooks,
            instant_plan_test: before.campaign.instant_plan_test.clone(),
            instant_plan_live: before.campaign.instant_plan_live.clone(),
            ..campaign.clone()
        };
        let update = self
            .table
            .update(slug)
            .merge(&before.item, Some(&before.campaign), &as_stored)
            .set(REVISION, revision)
            .when_equal(REVISION, before.revision);
        let is_kept = before.campaign.paused == campaign.paused;
        update.remove((!is_kept).then_some(PAUSE_CHANGE))
    }

    /// Part of adding an endpoint, refused if the scope has [`Endpoint::MAX_PER_SCOPE`].
    pub(crate) fn add_webhook(&self, scope: &Scope) -> Write {
        let count = webhooks_of(scope.environment);
        self.count_webhook(scope, 1)
            .when(&format!(
                "attribute_not_exists(#{count}) OR #{count} < :max"
            ))
            .bind(":max", Endpoint::MAX_PER_SCOPE)
    }

    pub(crate) fn remove_webhook(&self, scope: &Scope) -> Write {
        let update = self.count_webhook(scope, -1);
        update.when("#webhooks > :none").bind(":none", 0)
    }

    /// No revision: the counts are no part of a campaign's file.
    fn count_webhook(&self, scope: &Scope, change: i32) -> Write {
        let update = self.table.update(scope.campaign.as_str());
        let update = update.when_present(KEY).add(WEBHOOKS, number(change));
        update.add(webhooks_of(scope.environment), number(change))
    }

    /// Part of publishing a plan. No revision: it is no part of a campaign's file.
    pub fn record_plan(&self, scope: &Scope, plan: &PublishedPlan) -> Write {
        let update = self.table.update(scope.campaign.as_str());
        let name = match scope.environment {
            Environment::Test => "instant_plan_test",
            Environment::Live => "instant_plan_live",
        };
        update.when_present(KEY).set(name, plan)
    }

    /// False if there is no such campaign.
    pub async fn set_paused(&self, slug: &CampaignSlug, change: &PauseChange) -> StoreResult<bool> {
        self.table
            .update(slug.as_str())
            .set("paused", change.paused)
            .set(PAUSE_CHANGE, change)
            .add(REVISION, number(1))
            .when_present(KEY)
            .send("turning the pause switch")
            .await
    }
}

fn webhooks_of(environment: Environment) -> &'static str {
    match environment {
        Environment::Test => "webhooks_test",
        Environment::Live => "webhooks_live",
    }
}

fn read(item: Item) -> StoreResult<Campaign> {
    from_record(item, READING)
}
