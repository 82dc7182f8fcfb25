use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use futures_util::{Stream, StreamExt};
use serde::{Deserialize, Serialize};

use super::table::{Table, pages};
use super::{During, Item, SEGMENTS, StoreResult, UnreadableRecord, read_text};

/// 1 MB, DynamoDB's own limit, takes tens of megabytes once read.
const PAGE_RECORDS: i32 = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    Start,
    After(String),
    End,
}

#[derive(Debug)]
pub struct TablePage<T> {
    pub records: Vec<T>,
    /// Unreadable records that may belong to the result.
    pub unreadable: Vec<UnreadableRecord>,
    /// Records read, including other campaigns'.
    pub read: u64,
}

impl<T> TablePage<T> {
    fn new(reply: ScanOutput, read: impl Fn(Item) -> StoreResult<T>) -> StoreResult<Self> {
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for item in reply.items.unwrap_or_default() {
            match read(item) {
                Ok(record) => records.push(record),
                Err(error) => unreadable.push(error.into_unreadable()?),
            }
        }
        Ok(Self {
            records,
            unreadable,
            read: reply.scanned_count.try_into().unwrap_or(0),
        })
    }
}

impl Table {
    /// Segments are read at once, so in no order.
    pub(super) fn read_all<T, F: Fn(Item) -> StoreResult<T>>(
        &self,
        scan: ScanFluentBuilder,
        action: &'static str,
        read: F,
    ) -> impl Stream<Item = StoreResult<TablePage<T>>> + use<T, F> {
        let scan = scan.consistent_read(true).limit(PAGE_RECORDS);
        pages(scan, SEGMENTS, action).map(move |reply| TablePage::new(reply?, &read))
    }

    pub(super) async fn read_page<T>(
        &self,
        scan: ScanFluentBuilder,
        position: Position,
        action: &'static str,
        read: impl Fn(Item) -> StoreResult<T>,
    ) -> StoreResult<(TablePage<T>, Position)> {
        let start = match position {
            Position::After(key) => Some(self.key(key)),
            Position::Start | Position::End => None,
        };
        let scan = scan.consistent_read(true).limit(PAGE_RECORDS);
        let reply = scan.set_exclusive_start_key(start).send().await;
        let reply = reply.during(action)?;
        let last = reply.last_evaluated_key.as_ref();
        let last = last.and_then(|key| read_text(key, self.key_attribute()));
        let position = last.map_or(Position::End, |key| Position::After(key.to_owned()));
        Ok((TablePage::new(reply, read)?, position))
    }
}
