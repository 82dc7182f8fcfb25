//! The `campaigns` table: configurations by slug.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put};
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{
    from_attribute_value, from_item, to_attribute_value, to_item,
};

use super::batch::{BatchGet, BatchItems};
use super::record_version::FIRST;
use super::table::Table;
use super::{Item, StoreError, condition_held, number, read_number, required, transaction};
use crate::config::{ConfigError, Env};
use crate::domain::campaign::Campaign;
use crate::domain::scope::CampaignSlug;
use crate::domain::timestamp::Timestamp;

/// The partition key.
pub const KEY: &str = "slug";
/// The environment variable that names the table.
pub const VARIABLE: &str = "CAMPAIGNS_TABLE";

const WRITING: &str = "writing a campaign";

/// The attribute with the last change of the pause switch.
const PAUSE_CHANGE: &str = "pause_change";

/// A change of the pause switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseChange {
    /// Whether it paused the campaign.
    pub paused: bool,
    /// The time of the change.
    pub at: Timestamp,
    /// The name that the operator gave.
    pub by: String,
    /// The operator's reason; `None` if none was given.
    pub why: Option<String>,
}

/// A campaign with the revision that a change replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCampaign {
    /// The campaign.
    pub campaign: Campaign,
    /// Counts its changes.
    pub revision: u64,
    /// The last change of the pause switch, unless a campaign file made it.
    pub pause: Option<PauseChange>,
}

/// The campaigns.
#[derive(Clone, Debug)]
pub struct Campaigns {
    table: Table,
}

impl Campaigns {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// A campaign; `None` if it does not exist.
    pub async fn get(&self, slug: &CampaignSlug) -> Result<Option<Campaign>, StoreError> {
        const ACTION: &str = "reading a campaign";
        self.table
            .get(slug.as_str(), ACTION)
            .await?
            .map(|item| read(item, ACTION))
            .transpose()
    }

    /// A campaign with the revision that a change of it is conditional on.
    pub async fn get_stored(
        &self,
        slug: &CampaignSlug,
    ) -> Result<Option<StoredCampaign>, StoreError> {
        const ACTION: &str = "reading a campaign";
        let Some(item) = self.table.get(slug.as_str(), ACTION).await? else {
            return Ok(None);
        };
        let revision = required(read_number(&item, "revision"), ACTION)?;
        let pause = item
            .get(PAUSE_CHANGE)
            .cloned()
            .map(from_attribute_value)
            .transpose();
        let pause = pause.map_err(StoreError::during(ACTION))?;
        Ok(Some(StoredCampaign {
            campaign: read(item, ACTION)?,
            revision,
            pause,
        }))
    }

    /// Adds a campaign to a batch.
    pub(crate) fn add_to(&self, batch: &mut BatchGet, slug: &CampaignSlug) {
        self.table.add_to(batch, slug.as_str());
    }

    /// A campaign among the items of a batch; `None` if it does not exist.
    pub(crate) fn find_in(
        &self,
        items: &BatchItems,
        slug: &CampaignSlug,
    ) -> Result<Option<Campaign>, StoreError> {
        let item = self.table.find_in(items, slug.as_str()).item().cloned();
        item.map(|item| read(item, "reading a campaign"))
            .transpose()
    }

    /// All campaigns by slug. For operators: reads the whole table.
    pub async fn list(&self) -> Result<Vec<Campaign>, StoreError> {
        const ACTION: &str = "listing campaigns";
        let mut pages = self.table.scan().into_paginator().items().send();
        let mut campaigns: Vec<Campaign> = Vec::new();
        while let Some(item) = pages.next().await {
            let item = item.map_err(StoreError::during(ACTION))?;
            campaigns.push(read(item, ACTION)?);
        }
        campaigns.sort_by(|a, b| a.slug.cmp(&b.slug));
        Ok(campaigns)
    }

    /// Replaces `before`. False if the campaign was changed, or created, in the meantime.
    pub async fn replace(
        &self,
        before: Option<&StoredCampaign>,
        campaign: &Campaign,
    ) -> Result<bool, StoreError> {
        let revision = before.map_or(0, |before| before.revision) + 1;
        let put = self.put(before, campaign, revision)?;
        transaction::write_one(self.table.client(), transaction::put(put), WRITING).await
    }

    /// The part of a transaction that writes a campaign over the one that it was made from.
    ///
    /// A timeline of two operators: both see revision 3; the first writes revision 4; the second's condition fails, so
    /// no operator overwrites a change that they have not seen. The pause switch counts as a change.
    pub(crate) fn put(
        &self,
        before: Option<&StoredCampaign>,
        campaign: &Campaign,
        revision: u64,
    ) -> Result<Put, StoreError> {
        let mut item = FIRST.mark(to_item(campaign).map_err(StoreError::during(WRITING))?);
        item.insert("revision".to_owned(), number(revision));
        let pause = before.and_then(|before| before.pause.as_ref());
        if let Some(pause) = pause.filter(|pause| pause.paused == campaign.paused) {
            let pause = to_attribute_value(pause).map_err(StoreError::during(WRITING))?;
            item.insert(PAUSE_CHANGE.to_owned(), pause);
        }
        let put = self.table.put(item);
        let put = match before {
            None => put.condition_expression("attribute_not_exists(slug)"),
            Some(StoredCampaign { revision, .. }) => put
                .condition_expression("revision = :before")
                .expression_attribute_values(":before", number(revision)),
        };
        put.build().map_err(StoreError::during(WRITING))
    }

    /// Turns the pause switch. False if there is no such campaign.
    pub async fn set_paused(
        &self,
        slug: &CampaignSlug,
        change: &PauseChange,
    ) -> Result<bool, StoreError> {
        const ACTION: &str = "turning the pause switch";
        let stored = to_attribute_value(change).map_err(StoreError::during(ACTION))?;
        let sent = self
            .table
            .update_item(slug.as_str())
            .update_expression(format!(
                "SET paused = :paused, {PAUSE_CHANGE} = :change ADD revision :one"
            ))
            .condition_expression("attribute_exists(slug)")
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":paused", AttributeValue::Bool(change.paused))
            .expression_attribute_values(":change", stored)
            .send()
            .await;
        condition_held(sent, ACTION)
    }
}

fn read(item: Item, action: &'static str) -> Result<Campaign, StoreError> {
    FIRST.check(&item, action)?;
    from_item(item).map_err(StoreError::during(action))
}
