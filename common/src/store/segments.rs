//! Reads a whole table in segments, page by page, so that the read can be resumed.

use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use serde::{Deserialize, Serialize};

use super::table::Table;
use super::{During, Item, SEGMENTS, StoreResult, UnreadableRecord, read_text, text};

/// A page of 1 MB, DynamoDB's own limit, takes tens of megabytes once read.
const PAGE_RECORDS: i32 = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    number: i32,
    segments: i32,
    position: Position,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Position {
    Start,
    After(String),
    End,
}

#[derive(Debug)]
pub struct SegmentPage<T> {
    pub records: Vec<T>,
    /// Unreadable records that may belong to the result.
    pub unreadable: Vec<UnreadableRecord>,
    /// Records read, including other campaigns'.
    pub read: u64,
    pub segment: Segment,
}

impl Segment {
    pub fn all() -> Vec<Self> {
        let segment = |number| Self {
            number,
            segments: SEGMENTS,
            position: Position::Start,
        };
        (0..SEGMENTS).map(segment).collect()
    }

    pub fn whole() -> Self {
        Self {
            number: 0,
            segments: 1,
            position: Position::Start,
        }
    }

    pub fn is_read(&self) -> bool {
        self.position == Position::End
    }
}

impl Table {
    pub(super) async fn read_page<T>(
        &self,
        scan: ScanFluentBuilder,
        segment: Segment,
        action: &'static str,
        read: impl Fn(Item) -> StoreResult<T>,
    ) -> StoreResult<SegmentPage<T>> {
        let start = match &segment.position {
            Position::After(key) => {
                Some(Item::from([(self.key_attribute().to_owned(), text(key))]))
            }
            Position::Start => None,
            Position::End => {
                return Ok(SegmentPage {
                    records: Vec::new(),
                    unreadable: Vec::new(),
                    read: 0,
                    segment,
                });
            }
        };
        let reply = scan
            .consistent_read(true)
            .segment(segment.number)
            .total_segments(segment.segments)
            .limit(PAGE_RECORDS)
            .set_exclusive_start_key(start)
            .send()
            .await
            .during(action)?;
        let last = reply
            .last_evaluated_key
            .as_ref()
            .and_then(|key| read_text(key, self.key_attribute()));
        let position = last.map_or(Position::End, |key| Position::After(key.to_owned()));
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for item in reply.items.unwrap_or_default() {
            match read(item) {
                Ok(record) => records.push(record),
                Err(error) => unreadable.push(error.into_unreadable()?),
            }
        }
        Ok(SegmentPage {
            records,
            unreadable,
            read: reply.scanned_count.try_into().unwrap_or(0),
            segment: Segment {
                position,
                ..segment
            },
        })
    }
}
