//! Fills the tables: submits once, then copies the records under other names.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use common::domain::ids::SubmissionId;
use common::domain::key_encryption::DeploymentSecret;
use common::domain::phone::Phone;
use common::domain::scope::{Environment, Scope};
use common::random;
use futures_util::{StreamExt, stream};
use service_tests::campaign::{fresh_key, phone};
use service_tests::service::{DEPLOYMENT_SECRET, entrant_id};

use crate::operations::submission;
use crate::world::World;

/// First number of phones and codes, far from those of measurements.
const FIRST: u32 = 5_000_000;
/// DynamoDB's limit of a BatchWriteItem.
const BATCH: usize = 25;
const MAX_CONCURRENCY: usize = 4;

type Item = HashMap<String, AttributeValue>;

/// One submission's records, and the number of copies.
pub(crate) struct Records {
    client: Client,
    scope: Scope,
    /// Each with its table.
    originals: Vec<(String, Item)>,
    names: [String; 5],
    filled: u32,
}

impl Records {
    /// Submits the entry to copy; `variables` name the tables.
    pub(crate) async fn of(world: &World, variables: &[&'static str]) -> Self {
        let shop = &world.plain;
        let scope = shop.campaign.scope(Environment::Test);
        let ask = submission(&phone(FIRST), &shop.campaign.code(u64::from(FIRST)));
        let reply = world.direct_caller().send(&shop.free_key, &ask).await;
        let id = reply["id"].as_str().expect("an id");
        let mut records = Self {
            client: world.direct.dynamodb(),
            names: names(&scope, FIRST, id.parse().expect("an id")),
            scope,
            originals: Vec::new(),
            filled: 1,
        };
        let sent = ask.headers.into_iter();
        let mut keys = sent.filter(|(name, _)| *name == "idempotency-key");
        records.names[4] = keys.next().expect("it has one").1;
        for variable in variables {
            let table = world.direct.env.required(variable);
            let table = table.expect("the stack sets every variable");
            let item = records.find(&table).await;
            records.originals.push((table, item));
        }
        records
    }

    /// Copies until there are this many submissions.
    pub(crate) async fn fill_up_to(&mut self, submissions: u32) {
        let ids: Vec<_> = (self.filled..submissions)
            .map(|copy| (FIRST + copy, random::submission_id()))
            .collect();
        for (table, original) in &self.originals {
            let copies = ids
                .iter()
                .map(|(number, id)| self.copy(original, *number, *id));
            put_all(&self.client, table, copies).await;
        }
        self.filled = submissions;
    }

    /// A copy under other names.
    fn copy(&self, original: &Item, number: u32, id: SubmissionId) -> Item {
        let mut copy = original.clone();
        let names = names(&self.scope, number, id);
        copy.values_mut()
            .for_each(|value| rename(value, &self.names, &names));
        if let Some(encrypted) = copy.get_mut("phone") {
            let secret = DeploymentSecret::new(DEPLOYMENT_SECRET).expect("long enough");
            let phone = secret.encrypt_phone(&self.scope, id, &parsed(number), random::bytes());
            let phone = serde_json::to_value(phone).expect("JSON");
            *encrypted = AttributeValue::S(phone.as_str().expect("text").to_owned());
        }
        copy
    }

    /// The item with one of the names.
    async fn find(&self, table: &str) -> Item {
        let scan = self.client.scan().table_name(table);
        let mut items = scan.into_paginator().items().send();
        let is_named = |value: &AttributeValue| {
            let is_in = |text: &String| self.names.iter().any(|name| text.contains(name.as_str()));
            value.as_s().is_ok_and(is_in)
        };
        while let Some(item) = items.next().await {
            let item = item.expect("the table answers");
            if item.values().any(is_named) {
                return item;
            }
        }
        panic!("the submission left nothing in {table}")
    }
}

fn parsed(number: u32) -> Phone {
    phone(number).parse().expect("a phone")
}

/// Entrant, code, id, reference and Idempotency-Key.
fn names(scope: &Scope, number: u32, id: SubmissionId) -> [String; 5] {
    [
        entrant_id(scope, &parsed(number)).as_str().to_owned(),
        format!("minted#{number}"),
        id.to_string(),
        id.reference().symbols(),
        fresh_key(),
    ]
}

fn rename(value: &mut AttributeValue, from: &[String; 5], to: &[String; 5]) {
    match value {
        AttributeValue::S(text) => {
            for (from, to) in from.iter().zip(to) {
                if text.contains(from.as_str()) {
                    *text = text.replace(from.as_str(), to);
                }
            }
        }
        AttributeValue::L(values) => values.iter_mut().for_each(|value| rename(value, from, to)),
        AttributeValue::M(values) => values
            .values_mut()
            .for_each(|value| rename(value, from, to)),
        // Other types contain no names.
        _ => {}
    }
}

async fn put_all(client: &Client, table: &str, items: impl Iterator<Item = Item>) {
    let puts = items.map(|item| {
        let put = PutRequest::builder().set_item(Some(item)).build();
        WriteRequest::builder()
            .put_request(put.expect("an item"))
            .build()
    });
    let write = async |puts: Vec<WriteRequest>| {
        let batch = client.batch_write_item().request_items(table, puts);
        let written = batch.send().await.expect("the batch is written");
        let left = written.unprocessed_items.unwrap_or_default();
        assert!(left.is_empty(), "the embedded database takes whole batches");
    };
    stream::iter(puts)
        .chunks(BATCH)
        .for_each_concurrent(MAX_CONCURRENCY, write)
        .await;
}
