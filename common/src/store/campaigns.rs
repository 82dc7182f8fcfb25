//! The `campaigns` table: configurations by slug.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};

use super::batch::{BatchGet, BatchItems};
use super::record_version::FIRST;
use super::table::Table;
use super::{Item, StoreError, condition_held};
use crate::config::{ConfigError, Env};
use crate::domain::campaign::Campaign;
use crate::domain::scope::CampaignSlug;

/// The partition key.
pub const KEY: &str = "slug";
/// The environment variable that names the table.
pub const VARIABLE: &str = "CAMPAIGNS_TABLE";

/// The campaigns.
#[derive(Clone, Debug)]
pub struct Campaigns {
    table: Table,
}

impl Campaigns {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { table: Table::from_env(env, client, VARIABLE, KEY)? })
    }

    /// A campaign; `None` if it does not exist.
    pub async fn get(&self, slug: &CampaignSlug) -> Result<Option<Campaign>, StoreError> {
        const ACTION: &str = "reading a campaign";
        self.table.get(slug.as_str(), ACTION).await?.map(|item| read(item, ACTION)).transpose()
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
        item.map(|item| read(item, "reading a campaign")).transpose()
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

    /// Replaces `before`. False if the pause switch was changed, or the campaign was created, in the meantime.
    pub async fn replace(&self, before: Option<&Campaign>, campaign: &Campaign) -> Result<bool, StoreError> {
        const ACTION: &str = "writing a campaign";
        let item = FIRST.mark(to_item(campaign).map_err(StoreError::during(ACTION))?);
        let put = self.table.put_item(item);
        let put = match before {
            None => put.condition_expression("attribute_not_exists(slug)"),
            Some(before) => put
                .condition_expression("paused = :paused")
                .expression_attribute_values(":paused", AttributeValue::Bool(before.paused)),
        };
        condition_held(put.send().await, ACTION)
    }

    /// Sets the pause switch. False if there is no such campaign.
    pub async fn set_paused(&self, slug: &CampaignSlug, paused: bool) -> Result<bool, StoreError> {
        let sent = self
            .table
            .update_item(slug.as_str())
            .update_expression("SET paused = :paused")
            .condition_expression("attribute_exists(slug)")
            .expression_attribute_values(":paused", AttributeValue::Bool(paused))
            .send()
            .await;
        condition_held(sent, "turning the pause switch")
    }
}

fn read(item: Item, action: &'static str) -> Result<Campaign, StoreError> {
    FIRST.check(&item, action)?;
    from_item(item).map_err(StoreError::during(action))
}
