//! Deliveries that failed or wait. Records expire after 31 days.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use futures_util::TryStreamExt;

use super::table::{self, items, pages};
use super::write::Write;
use super::{During, Item, StoreResult, from_record, number, readable, text};
use crate::aws::concurrently;
use crate::domain::Timestamp;
use crate::domain::webhook::{Delivery, DeliveryStatus, EndpointId};

pub const KEY: &str = "delivery";
pub const VARIABLE: &str = "WEBHOOK_DELIVERIES_TABLE";
/// Partition `endpoint`, sort `next_at`.
pub const BY_ENDPOINT: &str = "by-endpoint";

const ATTEMPTS: &str = "attempts";
const NEXT: &str = "next_at";
const READING: &str = "reading a delivery";

store! {
    WebhookDeliveries
}

impl WebhookDeliveries {
    pub async fn get(&self, key: &str) -> StoreResult<Option<Delivery>> {
        self.table.find(key, READING).await
    }

    /// Replaces an earlier record of the event, if that one is over; one that waits stays.
    pub async fn keep(&self, delivery: &Delivery) -> StoreResult<()> {
        let put = self.table.put(delivery.key(), delivery);
        let put = put.expires(delivery.expires_at()).when_absent(NEXT);
        put.send("keeping a delivery").await.map(drop)
    }

    /// `None` if another worker has it. A timeline of two messages for one delivery: both workers
    /// read one try; the first writes two tries and the lease; the second's condition fails, so the
    /// event is sent once.
    pub async fn lease(&self, read: &Delivery, now: Timestamp) -> StoreResult<Option<Delivery>> {
        let leased = Delivery {
            attempts: read.attempts.saturating_add(1),
            next_at: Some(now.after(Delivery::LEASE)),
            ..read.clone()
        };
        let update = self.change(read, &leased);
        let is_leased = update.send("leasing a delivery").await?;
        Ok(is_leased.then_some(leased))
    }

    /// False if the record changed.
    pub async fn replace(&self, before: &Delivery, after: &Delivery) -> StoreResult<bool> {
        self.change(before, after).send("changing a delivery").await
    }

    fn change(&self, before: &Delivery, after: &Delivery) -> Write {
        let update = self.table.update(before.key());
        let update = update.change(Some(before), after);
        let update = update.expires(after.expires_at());
        let update = update.when_equal(ATTEMPTS, before.attempts);
        match before.next_at {
            Some(next) => update.when_equal(NEXT, next),
            None => update.when_absent(NEXT),
        }
    }

    /// Also if they are over; longest due first. The index lags.
    pub async fn due(
        &self,
        endpoint: &EndpointId,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<Delivery>> {
        const ACTION: &str = "listing due deliveries";
        let query = self.waiting(endpoint, " AND #next_at <= :now");
        let query = query.expression_attribute_values(":now", number(now.as_millis()));
        let mut items = query.into_paginator().items().send();
        let mut due = Vec::new();
        while due.len() < limit
            && let Some(item) = items.try_next().await.during(ACTION)?
        {
            due.extend(readable::<Delivery>(item, ACTION));
        }
        Ok(due)
    }

    /// Plans those of a later time for now, but for tries under way; at most `limit`.
    pub async fn hasten(
        &self,
        endpoint: &EndpointId,
        now: Timestamp,
        limit: usize,
    ) -> StoreResult<Vec<Delivery>> {
        const ACTION: &str = "listing planned deliveries";
        let leased = now.after(Delivery::LEASE);
        let query = self.waiting(endpoint, " AND #next_at > :leased");
        let query = query.expression_attribute_values(":leased", number(leased.as_millis()));
        let mut items = query.into_paginator().items().send();
        let mut hastened = Vec::new();
        while hastened.len() < limit
            && let Some(item) = items.try_next().await.during(ACTION)?
        {
            let Some(planned) = readable::<Delivery>(item, ACTION) else {
                continue;
            };
            let due = Delivery {
                next_at: Some(now),
                ..planned.clone()
            };
            hastened.extend(self.replace(&planned, &due).await?.then_some(due));
        }
        Ok(hastened)
    }

    /// Includes those whose time has not come.
    pub async fn count_waiting(&self, endpoint: &EndpointId) -> StoreResult<u64> {
        table::count(self.waiting(endpoint, ""), "counting deliveries").await
    }

    fn waiting(&self, endpoint: &EndpointId, condition: &str) -> QueryFluentBuilder {
        let endpoint = (":endpoint", text(endpoint.as_str()));
        let condition = format!("#endpoint = :endpoint{condition}");
        self.table
            .query(&condition, [endpoint])
            .index_name(BY_ENDPOINT)
    }

    /// Newest first; only those that were not delivered, if asked. Reads the whole table.
    pub async fn list(
        &self,
        endpoint: &EndpointId,
        failed_only: bool,
        limit: usize,
    ) -> StoreResult<Vec<Delivery>> {
        let read = |item| from_record(item, READING);
        let items = self.all(endpoint, "listing deliveries").await?;
        let found = items.into_iter().map(read);
        let mut found: Vec<Delivery> = found.collect::<Result<_, _>>()?;
        found.retain(|one| !failed_only || one.status != DeliveryStatus::Delivered);
        found.sort_by_key(|one| std::cmp::Reverse(one.created_at));
        found.truncate(limit);
        Ok(found)
    }

    /// Reads the whole table.
    pub async fn delete_all(&self, endpoint: &EndpointId) -> StoreResult<usize> {
        const ACTION: &str = "deleting deliveries";
        let items = self.all(endpoint, ACTION).await?;
        let deletions = items
            .iter()
            .map(|item| self.table.delete_found(item, ACTION));
        Ok(concurrently(deletions).await?.len())
    }

    async fn all(&self, endpoint: &EndpointId, action: &'static str) -> StoreResult<Vec<Item>> {
        let scan = self
            .table
            .scan()
            .filter_expression("begins_with(#key, :endpoint)")
            .expression_attribute_names("#key", KEY)
            .expression_attribute_values(":endpoint", text(format!("{endpoint}#")));
        items(pages(scan, 1, action)).try_collect().await
    }
}
