//! A table with one text attribute as its partition key.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::stream::{select_all, try_unfold};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_dynamo::aws_sdk_dynamodb_1::to_item;

use super::batch::Place;
use super::write::{Write, names_in};
use super::{During, Item, StoreError, read_text, text};
use crate::aws::MAX_CONCURRENCY;
use crate::config::{ConfigError, Env};
use crate::domain::scope::Scope;

/// A table's type, from the `VARIABLE` and `KEY` of its module or another.
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
    ) -> Result<Option<Item>, StoreError> {
        self.get_item(self.key(key), action).await
    }

    pub(crate) async fn get_item(
        &self,
        key: Item,
        action: &'static str,
    ) -> Result<Option<Item>, StoreError> {
        let get = self.client.get_item().table_name(&self.name);
        let get = get.set_key(Some(key)).consistent_read(true);
        let reply = Box::pin(get.send()).await;
        Ok(reply.during(action)?.item)
    }

    pub(crate) fn place(&self, key: impl Into<String>) -> Place {
        Place {
            table: self.name.clone(),
            key_name: self.key_attribute,
            key: key.into(),
        }
    }

    pub(crate) fn put(&self, key: impl Into<String>, record: &impl Serialize) -> Write {
        Write::put(&self.client, &self.name, self.key(key), to_item(record))
    }

    pub(crate) fn put_item(&self, key: impl Into<String>, attributes: Item) -> Write {
        Write::put(&self.client, &self.name, self.key(key), Ok(attributes))
    }

    pub(crate) fn update(&self, key: impl Into<String>) -> Write {
        Write::update(&self.client, &self.name, self.key(key))
    }

    pub(crate) fn delete(&self, key: impl Into<String>) -> Write {
        Write::delete(&self.client, &self.name, self.key(key))
    }

    pub(crate) fn check(&self, key: impl Into<String>) -> Write {
        Write::check(&self.client, &self.name, self.key(key))
    }

    fn key(&self, key: impl Into<String>) -> Item {
        Item::from([(self.key_attribute.to_owned(), text(key))])
    }

    pub(crate) async fn delete_found(
        &self,
        item: &Item,
        action: &'static str,
    ) -> Result<bool, StoreError> {
        let key = read_text(item, self.key_attribute).unwrap_or_default();
        self.delete(key).send(action).await
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

    /// Counts records that `change` changed. Reads the whole table.
    pub(crate) async fn change_each<F>(
        &self,
        scope: &Scope,
        action: &'static str,
        change: impl Fn(Item) -> F,
    ) -> Result<u64, StoreError>
    where
        F: Future<Output = Result<bool, StoreError>>,
    {
        items(pages(self.scan_scope(scope, None), 1, action))
            .map_ok(change)
            .try_buffer_unordered(MAX_CONCURRENCY)
            .try_fold(0, async |sum, one| Ok(sum + u64::from(one)))
            .await
    }
}

/// Pages of segments read at once, unordered.
pub(crate) fn pages(
    scan: ScanFluentBuilder,
    segments: i32,
    action: &'static str,
) -> impl Stream<Item = Result<ScanOutput, StoreError>> {
    let segment = move |number| {
        let scan = scan.clone().segment(number).total_segments(segments);
        let pages = scan.into_paginator().send();
        Box::pin(try_unfold(pages, move |mut pages| async move {
            let page = pages.try_next().await;
            let page = page.during(action)?;
            Ok(page.map(|page| (page, pages)))
        }))
    };
    select_all((0..segments).map(segment))
}

pub(crate) fn items(
    pages: impl Stream<Item = Result<ScanOutput, StoreError>>,
) -> impl Stream<Item = Result<Item, StoreError>> {
    pages
        .map_ok(|page| stream::iter(page.items.unwrap_or_default()).map(Ok))
        .try_flatten()
}

pub(crate) async fn list<T>(
    scan: ScanFluentBuilder,
    action: &'static str,
    read: impl Fn(Item) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    items(pages(scan, 1, action))
        .map(|item| read(item?))
        .try_collect()
        .await
}

pub(crate) async fn all(
    query: QueryFluentBuilder,
    action: &'static str,
) -> Result<Vec<Item>, StoreError> {
    let items = query.into_paginator().items().send();
    let items: Result<Vec<_>, _> = items.collect().await;
    items.during(action)
}
