//! Fills the tables: submits once through the API, then copies all the records of that submission under other names.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use common::aws::Aws;
use common::random;
use common::store::{codes, entrants, idempotency_keys, submissions};
use futures_util::{StreamExt, stream};
use service_tests::campaign::{fresh_key, phone};

use crate::operations::submission;
use crate::world::World;

/// Numbers of copied phones and codes start here, far from those of measurements.
const FIRST: u32 = 5_000_000;
/// Items in one BatchWriteItem: DynamoDB's limit.
const BATCH: usize = 25;
/// Concurrent batches.
const MAX_CONCURRENCY: usize = 4;

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The records of one submission, and the number of copies in the tables.
pub(crate) struct Records {
    client: Client,
    /// Each with its table.
    originals: Vec<(String, Item)>,
    names: [String; 5],
    filled: u32,
}

impl Records {
    /// Submits the entry to copy.
    pub(crate) async fn of(world: &World) -> Self {
        let client = Aws::for_function(&world.direct.env)
            .expect("the stack sets every variable")
            .dynamodb();
        let shop = &world.plain;
        let ask = submission(&phone(FIRST), &shop.campaign.code(u64::from(FIRST)));
        let reply = world.direct_caller().send(&shop.free_key, &ask).await;
        let idempotency_key = ask
            .headers
            .iter()
            .find(|(name, _)| *name == "idempotency-key");
        let names = [
            phone(FIRST),
            format!("minted#{FIRST}"),
            reply["id"].as_str().expect("an id").to_owned(),
            reply["ref"].as_str().expect("a reference").replace('-', ""),
            idempotency_key.expect("it has one").1.clone(),
        ];
        let mut originals = Vec::new();
        for variable in [
            codes::VARIABLE,
            submissions::VARIABLE,
            entrants::VARIABLE,
            idempotency_keys::VARIABLE,
        ] {
            let table = world
                .direct
                .env
                .required(variable)
                .expect("the stack sets every variable");
            let item = find(&client, &table, &names).await;
            originals.push((table, item));
        }
        Self {
            client,
            originals,
            names,
            filled: 1,
        }
    }

    /// Adds copies until there are this many submissions.
    pub(crate) async fn fill_up_to(&mut self, submissions: u32) {
        let names: Vec<[String; 5]> = (self.filled..submissions)
            .map(|copy| names(FIRST + copy))
            .collect();
        for (table, original) in &self.originals {
            let copies = names.iter().map(|names| copy(original, &self.names, names));
            put_all(&self.client, table, copies).await;
        }
        self.filled = submissions;
    }
}

/// A copy of an item under other names.
pub(crate) fn copy<const N: usize>(original: &Item, from: &[String; N], to: &[String; N]) -> Item {
    let mut copy = original.clone();
    copy.values_mut().for_each(|value| rename(value, from, to));
    copy
}

/// Writes items, in batches.
pub(crate) async fn put_all(client: &Client, table: &str, items: impl Iterator<Item = Item>) {
    let puts = items.map(|item| {
        let put = PutRequest::builder()
            .set_item(Some(item))
            .build()
            .expect("an item");
        WriteRequest::builder().put_request(put).build()
    });
    let write = async |puts: Vec<WriteRequest>| {
        let sent = client
            .batch_write_item()
            .request_items(table, puts)
            .send()
            .await;
        let left = sent
            .expect("the batch is written")
            .unprocessed_items
            .unwrap_or_default();
        assert!(left.is_empty(), "the embedded database takes whole batches");
    };
    stream::iter(puts)
        .chunks(BATCH)
        .for_each_concurrent(MAX_CONCURRENCY, write)
        .await;
}

/// Phone, code, id, reference and Idempotency-Key of a copy.
fn names(number: u32) -> [String; 5] {
    let id = random::submission_id();
    [
        phone(number),
        format!("minted#{number}"),
        id.to_string(),
        id.reference().symbols(),
        fresh_key(),
    ]
}

/// The item of a table that contains one of the names.
async fn find(client: &Client, table: &str, names: &[String; 5]) -> Item {
    let mut items = client
        .scan()
        .table_name(table)
        .into_paginator()
        .items()
        .send();
    while let Some(item) = items.next().await {
        let item = item.expect("the table answers");
        let named = |value: &AttributeValue| {
            value
                .as_s()
                .is_ok_and(|text| names.iter().any(|name| text.contains(name.as_str())))
        };
        if item.values().any(named) {
            return item;
        }
    }
    panic!("the submission left nothing in {table}")
}

fn rename<const N: usize>(value: &mut AttributeValue, from: &[String; N], to: &[String; N]) {
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
