//! A table with one text attribute as its key: the calls that every table needs.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::builders::{ConditionCheckBuilder, DeleteBuilder, PutBuilder, UpdateBuilder};
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure, Update};

use super::batch::{BatchGet, BatchItems, Found};
use super::{Item, StoreError, text};
use crate::config::{ConfigError, Env};

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
        Ok(Self { client: client.clone(), name: env.required(variable)?, key_attribute })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Reads a record consistently.
    pub(crate) async fn get(
        &self,
        key: impl Into<String>,
        action: &'static str,
    ) -> Result<Option<Item>, StoreError> {
        let get = self.client.get_item().table_name(&self.name).key(self.key_attribute, text(key));
        let reply = Box::pin(get.consistent_read(true).send()).await.map_err(StoreError::during(action))?;
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
        Delete::builder().table_name(&self.name).key(self.key_attribute, text(key))
    }

    /// A condition in a transaction, on a record that is not written.
    pub(crate) fn check(&self, key: impl Into<String>) -> ConditionCheckBuilder {
        ConditionCheck::builder().table_name(&self.name).key(self.key_attribute, text(key))
    }

    /// An update outside a transaction.
    pub(crate) fn update_item(&self, key: impl Into<String>) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.name).key(self.key_attribute, text(key))
    }

    /// A put outside a transaction.
    pub(crate) fn put_item(&self, item: Item) -> PutItemFluentBuilder {
        self.client.put_item().table_name(&self.name).set_item(Some(item))
    }

    pub(crate) fn delete_item(&self, key: impl Into<String>) -> DeleteItemFluentBuilder {
        self.client.delete_item().table_name(&self.name).key(self.key_attribute, text(key))
    }

    pub(crate) fn query(&self, index: &str) -> QueryFluentBuilder {
        self.client.query().table_name(&self.name).index_name(index)
    }

    pub(crate) fn scan(&self) -> ScanFluentBuilder {
        self.client.scan().table_name(&self.name)
    }
}
