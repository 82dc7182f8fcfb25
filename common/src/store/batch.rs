use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::KeysAndAttributes;

use tokio::time::Instant;

use super::transaction::ThrottlingRetries;
use super::{During, Item, StoreError, StoreResult, read_text, text};

#[derive(Debug)]
pub(crate) struct Place {
    pub(super) table: String,
    pub(super) key_name: &'static str,
    pub(super) key: String,
    /// Attribute and value of a sort key.
    pub(super) sort: Option<(&'static str, &'static str)>,
}

#[derive(Debug, Default)]
pub struct BatchGet {
    keys: HashMap<String, Vec<Item>>,
}

#[derive(Clone, Debug, Default)]
pub struct BatchItems {
    asked: HashMap<String, Vec<Item>>,
    found: HashMap<String, Vec<Item>>,
}

impl BatchGet {
    /// DynamoDB refuses a batch with the same item twice.
    pub(crate) fn add(&mut self, place: &Place) {
        let mut key = Item::from([(place.key_name.to_owned(), text(&place.key))]);
        key.extend(
            place
                .sort
                .map(|(name, value)| (name.to_owned(), text(value))),
        );
        let keys = self.keys.entry(place.table.clone());
        keys.or_default().push(key);
    }

    /// Reads consistently; an empty batch sends nothing.
    pub async fn send(self, client: &Client, action: &'static str) -> StoreResult<BatchItems> {
        self.send_until(client, action, None).await
    }

    /// Throttled reads are repeated until the deadline, then fail as [`StoreError::is_throttled`].
    pub(crate) async fn send_until(
        self,
        client: &Client,
        action: &'static str,
        deadline: Option<Instant>,
    ) -> StoreResult<BatchItems> {
        let mut items = BatchItems {
            asked: self.keys.clone(),
            ..BatchItems::default()
        };
        let keys = |(table, keys)| {
            let keys = KeysAndAttributes::builder()
                .set_keys(Some(keys))
                .consistent_read(true)
                .build();
            keys.map(|keys| (table, keys)).during(action)
        };
        let mut requested = self
            .keys
            .into_iter()
            .map(keys)
            .collect::<Result<HashMap<_, _>, _>>()?;
        let mut throttling = ThrottlingRetries::until(deadline);
        while !requested.is_empty() {
            let sending = Box::pin(
                client
                    .batch_get_item()
                    .set_request_items(Some(requested.clone()))
                    .send(),
            );
            match throttling.run(sending).await.during(action)? {
                Ok(reply) => {
                    for (table, found) in reply.responses.unwrap_or_default() {
                        items.found.entry(table).or_default().extend(found);
                    }
                    requested = reply.unprocessed_keys.unwrap_or_default();
                }
                Err(error) => {
                    let error = StoreError::new(action, error);
                    if !error.is_throttled() {
                        return Err(error);
                    }
                }
            }
            if !requested.is_empty() {
                throttling.backoff().await.during(action)?;
            }
        }
        Ok(items)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    NotAsked,
    Absent,
    Item(&'a Item),
}

impl<'a> Found<'a> {
    pub(crate) fn item(self) -> Option<&'a Item> {
        match self {
            Self::NotAsked | Self::Absent => None,
            Self::Item(item) => Some(item),
        }
    }
}

impl BatchItems {
    pub(crate) fn find(&self, place: &Place) -> Found<'_> {
        let has_key = |item: &&Item| read_text(item, place.key_name) == Some(place.key.as_str());
        let asked = self.asked.get(&place.table).into_iter().flatten();
        if !asked.into_iter().any(|item| has_key(&item)) {
            return Found::NotAsked;
        }
        let mut found = self.found.get(&place.table).into_iter().flatten();
        found.find(has_key).map_or(Found::Absent, Found::Item)
    }
}
