//! Batches, like those of Lambda's event source mapping.

use std::time::Duration;

use common::clock::Clock;
use serde_json::{Value, json};

use crate::dynamodb::DynamoDb;

/// DynamoDB's own; the embedded database keeps changes. Marks are kept for a week.
const RETENTION: Duration = Duration::from_hours(24);

/// As in the template.
#[derive(Clone, Copy, Debug)]
pub struct StreamOptions {
    pub batch_size: u32,
    pub filter: fn(&Value) -> bool,
}

/// All changes before this place are handled.
pub struct StreamReader {
    database: DynamoDb,
    table: &'static str,
    options: StreamOptions,
    place: Option<Place>,
    next: Option<String>,
}

struct Place {
    stream: String,
    shard: String,
    iterator: String,
}

impl StreamReader {
    pub fn new(url: &str, table: &'static str, options: StreamOptions) -> Option<Self> {
        Some(Self {
            database: DynamoDb::new(url)?,
            table,
            options,
            place: None,
            next: None,
        })
    }

    /// Again until confirmed; `None` if there is none, or no answer.
    pub async fn read(&mut self) -> Option<Value> {
        self.next = None;
        if self.place.is_none() {
            self.place = self.beginning().await;
        }
        let Place {
            stream,
            shard,
            iterator,
        } = self.place.as_ref()?;
        let call = json!({ "ShardIterator": iterator, "Limit": self.options.batch_size });
        let mut reply = self.call("GetRecords", &call).await?;
        self.next = Some(reply.get("NextShardIterator")?.as_str()?.to_owned());
        let records = reply.get_mut("Records")?.as_array_mut()?;
        let oldest =
            Clock::system().now().as_seconds() - i64::try_from(RETENTION.as_secs()).ok()?;
        let created = |record: &Value| {
            record
                .pointer("/dynamodb/ApproximateCreationDateTime")?
                .as_f64()
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::as_conversions,
            reason = "seconds since 1970"
        )]
        records.retain(|record| created(record).is_some_and(|created| created >= oldest as f64));
        records.retain(self.options.filter);
        records
            .iter_mut()
            .for_each(|record| record["eventSourceARN"] = json!(stream));
        if records.is_empty() {
            return None;
        }
        Some(json!({ "Records": records, "shardId": shard, "eventSourceARN": stream, "state": {} }))
    }

    pub fn confirm(&mut self) {
        if let (Some(place), Some(next)) = (&mut self.place, self.next.take()) {
            place.iterator = next;
        }
    }

    async fn beginning(&self) -> Option<Place> {
        let text = |value: Option<&Value>| value?.as_str().map(str::to_owned);
        let listed = self
            .call("ListStreams", &json!({ "TableName": self.table }))
            .await?;
        let stream = text(listed.pointer("/Streams/0/StreamArn"))?;
        let described = self
            .call("DescribeStream", &json!({ "StreamArn": stream }))
            .await?;
        let shard = text(described.pointer("/StreamDescription/Shards/0/ShardId"))?;
        let from =
            json!({ "StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON" });
        let iterator = text(
            self.call("GetShardIterator", &from)
                .await?
                .get("ShardIterator"),
        )?;
        Some(Place {
            stream,
            shard,
            iterator,
        })
    }

    async fn call(&self, operation: &str, body: &Value) -> Option<Value> {
        let operation = format!("DynamoDBStreams_20120810.{operation}");
        self.database.call(&operation, body).await.ok()
    }
}
