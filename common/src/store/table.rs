//! A table with one text attribute as its key: the calls that every table needs.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::builders::{
    ConditionCheckBuilder, DeleteBuilder, PutBuilder, UpdateBuilder,
};
use aws_sdk_dynamodb::types::{
    ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure, Update,
};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::batch::{BatchGet, BatchItems, Found};
use super::{Item, StoreError, read_text, text};
use crate::config::{ConfigError, Env};
use crate::domain::scope::Scope;

/// Records of one scope that are changed at once.
const MAX_CONCURRENCY: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Table {
    client: Client,
    name: String,
    key_attribute: &'static str,
}

impl Table {
    pub(crate) fn from_env(
        env: &Env,
        client: &Client,
        variable: &'static str,
        key_attribute: &'static str,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            client: client.clone(),
            name: env.required(variable)?,
            key_attribute,
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn key_attribute(&self) -> &'static str {
        self.key_attribute
    }

    /// Reads a record consistently.
    pub(crate) async fn get(
        &self,
        key: impl Into<String>,
        action: &'static str,
    ) -> Result<Option<Item>, StoreError> {
        let get = self
            .client
            .get_item()
            .table_name(&self.name)
            .key(self.key_attribute, text(key));
        let reply = Box::pin(get.consistent_read(true).send())
            .await
            .map_err(StoreError::during(action))?;
        Ok(reply.item)
    }

    pub(crate) fn add_to(&self, batch: &mut BatchGet, key: impl Into<String>) {
        batch.add(&self.name, self.key_attribute, key);
    }

    pub(crate) fn find_in<'a>(&self, items: &'a BatchItems, key: &str) -> Found<'a> {
        items.find(&self.name, self.key_attribute, key)
    }

    /// An update in a transaction. If its condition fails, it returns the record.
    pub(crate) fn update(&self, key: impl Into<String>) -> UpdateBuilder {
        Update::builder()
            .table_name(&self.name)
            .key(self.key_attribute, text(key))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// A put in a transaction.
    pub(crate) fn put(&self, item: Item) -> PutBuilder {
        Put::builder().table_name(&self.name).set_item(Some(item))
    }

    /// A delete in a transaction.
    pub(crate) fn delete(&self, key: impl Into<String>) -> DeleteBuilder {
        Delete::builder()
            .table_name(&self.name)
            .key(self.key_attribute, text(key))
    }

    /// A condition in a transaction, on a record that is not written.
    pub(crate) fn check(&self, key: impl Into<String>) -> ConditionCheckBuilder {
        ConditionCheck::builder()
            .table_name(&self.name)
            .key(self.key_attribute, text(key))
    }

    /// An update outside a transaction.
    pub(crate) fn update_item(&self, key: impl Into<String>) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(&self.name)
            .key(self.key_attribute, text(key))
    }

    /// A put outside a transaction.
    pub(crate) fn put_item(&self, item: Item) -> PutItemFluentBuilder {
        self.client
            .put_item()
            .table_name(&self.name)
            .set_item(Some(item))
    }

    pub(crate) fn delete_item(&self, key: impl Into<String>) -> DeleteItemFluentBuilder {
        self.client
            .delete_item()
            .table_name(&self.name)
            .key(self.key_attribute, text(key))
    }

    /// Deletes a record that a scan has read.
    pub(crate) async fn delete_found(
        &self,
        item: &Item,
        action: &'static str,
    ) -> Result<bool, StoreError> {
        let key = read_text(item, self.key_attribute).unwrap_or_default();
        self.delete_item(key)
            .send()
            .await
            .map(|_| true)
            .map_err(StoreError::during(action))
    }

    pub(crate) fn query(&self, index: &str) -> QueryFluentBuilder {
        self.client.query().table_name(&self.name).index_name(index)
    }

    /// A query of the table itself.
    pub(crate) fn query_items(&self) -> QueryFluentBuilder {
        self.client.query().table_name(&self.name)
    }

    pub(crate) fn scan(&self) -> ScanFluentBuilder {
        self.client.scan().table_name(&self.name)
    }

    /// Runs `change` on every record of a scope, and returns how often it changed one. Reads the whole table.
    pub(crate) async fn change_each<F>(
        &self,
        scope: &Scope,
        action: &'static str,
        change: impl Fn(Item) -> F,
    ) -> Result<u64, StoreError>
    where
        F: Future<Output = Result<bool, StoreError>>,
    {
        let scan = self
            .scan()
            .filter_expression("begins_with(#key, :scope)")
            .expression_attribute_names("#key", self.key_attribute)
            .expression_attribute_values(":scope", text(scope.key("")));
        let mut pages = scan.into_paginator().send();
        let mut changed = 0;
        while let Some(page) = pages.next().await {
            let items = page
                .map_err(StoreError::during(action))?
                .items
                .unwrap_or_default();
            let changes =
                stream::iter(items.into_iter().map(&change)).buffer_unordered(MAX_CONCURRENCY);
            changed += changes
                .try_fold(0, async |sum, one| Ok(sum + u64::from(one)))
                .await?;
        }
        Ok(changed)
    }

    /// Reads the records whose keys begin with a prefix, out of the whole table, in parallel segments. `page` is given the
    /// records of each page, and how many the page looked at.
    pub(crate) async fn read_whole(
        &self,
        segments: i32,
        prefix: &str,
        action: &'static str,
        page: &(dyn Fn(Vec<Item>, u64) + Sync),
    ) -> Result<(), StoreError> {
        let read = |segment| async move {
            let mut pages = self
                .scan()
                .segment(segment)
                .total_segments(segments)
                .filter_expression("begins_with(#key, :prefix)")
                .expression_attribute_names("#key", self.key_attribute)
                .expression_attribute_values(":prefix", text(prefix))
                .consistent_read(true)
                .into_paginator()
                .send();
            while let Some(reply) = pages.next().await {
                let reply = reply.map_err(StoreError::during(action))?;
                let looked_at = u64::try_from(reply.scanned_count).unwrap_or(0);
                page(reply.items.unwrap_or_default(), looked_at);
            }
            Ok(())
        };
        try_join_all((0..segments).map(read)).await.map(drop)
    }
}
