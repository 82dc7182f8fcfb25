//! A table with one text attribute as its partition key.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use futures_util::stream::{select_all, try_unfold};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;

use super::batch::Place;
use super::write::names_in;
use super::{During, Item, StoreResult, from_record, read_text, text};
use crate::aws::MAX_CONCURRENCY;
use crate::config::{ConfigError, Env};
use crate::domain::Scope;

macro_rules! store {
    ($(#[$doc:meta])* $name:ident $(, $module:ident)?) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            table: $crate::store::table::Table,
        }

        impl $name {
            pub fn from_env(
                env: &$crate::config::Env,
                client: &aws_sdk_dynamodb::Client,
            ) -> Result<Self, $crate::config::ConfigError> {
                let (variable, key) = ($($crate::store::$module::)?VARIABLE, $($crate::store::$module::)?KEY);
                let table = $crate::store::table::Table::from_env(env, client, variable, key)?;
                Ok(Self { table })
            }
        }
    };
}

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

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads consistently.
    pub(crate) async fn get(
        &self,
        key: impl Into<String>,
        action: &'static str,
    ) -> StoreResult<Option<Item>> {
        self.get_item(self.key(key), action).await
    }

    pub(crate) async fn get_item(
        &self,
        key: Item,
        action: &'static str,
    ) -> StoreResult<Option<Item>> {
        let get = self.client.get_item().table_name(&self.name);
        let get = get.set_key(Some(key)).consistent_read(true);
        let reply = Box::pin(get.send()).await;
        Ok(reply.during(action)?.item)
    }

    pub(crate) async fn find<T: DeserializeOwned>(
        &self,
        key: impl Into<String>,
        action: &'static str,
    ) -> StoreResult<Option<T>> {
        let item = self.get(key, action).await?;
        item.map(|item| from_record(item, action)).transpose()
    }

    pub(crate) fn place(&self, key: impl Into<String>) -> Place {
        Place {
            table: self.name.clone(),
            key_name: self.key_attribute,
            key: key.into(),
            sort: None,
        }
    }

    pub(super) fn key(&self, key: impl Into<String>) -> Item {
        Item::from([(self.key_attribute.to_owned(), text(key))])
    }

    pub(crate) async fn delete_found(
        &self,
        item: &Item,
        action: &'static str,
    ) -> StoreResult<bool> {
        let key = read_text(item, self.key_attribute).unwrap_or_default();
        self.delete(key).send(action).await
    }

    /// Reads the whole table.
    pub(crate) async fn clear(&self, scope: &Scope, action: &'static str) -> StoreResult<u64> {
        let delete = async |item| self.delete_found(&item, action).await;
        self.change_each(scope, action, delete).await
    }

    pub(crate) fn query<const N: usize>(
        &self,
        condition: &str,
        values: [(&str, AttributeValue); N],
    ) -> QueryFluentBuilder {
        let names: HashMap<_, _> = names_in(condition).collect();
        let values = values.map(|(name, value)| (name.to_owned(), value));
        self.client
            .query()
            .table_name(&self.name)
            .key_condition_expression(condition)
            .set_expression_attribute_names(Some(names).filter(|names| !names.is_empty()))
            .set_expression_attribute_values(Some(values.into()))
    }

    pub(crate) fn scan(&self) -> ScanFluentBuilder {
        self.client.scan().table_name(&self.name)
    }

    pub(crate) fn scan_scope(&self, scope: &Scope, filter: Option<String>) -> ScanFluentBuilder {
        let filter = filter.map_or_else(String::new, |filter| format!(" AND ({filter})"));
        self.scan()
            .filter_expression(format!("begins_with(#key, :scope){filter}"))
            .expression_attribute_names("#key", self.key_attribute)
            .expression_attribute_values(":scope", text(scope.key("")))
    }

    /// Counts changed records. Reads the whole table.
    pub(crate) async fn change_each<F>(
        &self,
        scope: &Scope,
        action: &'static str,
        change: impl Fn(Item) -> F,
    ) -> StoreResult<u64>
    where
        F: Future<Output = StoreResult<bool>>,
    {
        items(pages(self.scan_scope(scope, None), 1, action))
            .map_ok(change)
            .try_buffer_unordered(MAX_CONCURRENCY)
            .try_fold(0, async |sum, one| Ok(sum + u64::from(one)))
            .await
    }
}

pub(crate) fn pages(
    scan: ScanFluentBuilder,
    segments: i32,
    action: &'static str,
) -> impl Stream<Item = StoreResult<ScanOutput>> {
    let segment = move |number| {
        let scan = scan.clone().segment(number).total_segments(segments);
        let pages = scan.into_paginator().send();
        Box::pin(try_unfold(pages, move |mut pages| async move {
            // A task of its own: the call's timeout also runs while the stream is not polled.
            let reading = tokio::spawn(async move { (pages.try_next().await, pages) });
            let (page, pages) = reading.await.during(action)?;
            Ok(page.during(action)?.map(|page| (page, pages)))
        }))
    };
    select_all((0..segments).map(segment))
}

pub(crate) fn items(
    pages: impl Stream<Item = StoreResult<ScanOutput>>,
) -> impl Stream<Item = StoreResult<Item>> {
    pages
        .map_ok(|page| stream::iter(page.items.unwrap_or_default()).map(Ok))
        .try_flatten()
}

pub(crate) async fn list<T>(
    scan: ScanFluentBuilder,
    action: &'static str,
    read: impl Fn(Item) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    items(pages(scan, 1, action))
        .map(|item| read(item?))
        .try_collect()
        .await
}

pub(crate) async fn all(query: QueryFluentBuilder, action: &'static str) -> StoreResult<Vec<Item>> {
    let items = query.into_paginator().items().send();
    let items: Result<Vec<_>, _> = items.collect().await;
    items.during(action)
}

pub(crate) async fn count(query: QueryFluentBuilder, action: &'static str) -> StoreResult<u64> {
    let pages = query.select(Select::Count).into_paginator().send();
    let pages: Result<Vec<_>, _> = pages.collect().await;
    let counts = pages.during(action)?.into_iter().map(|page| page.count);
    Ok(counts.map(|count| u64::try_from(count).unwrap_or(0)).sum())
}
