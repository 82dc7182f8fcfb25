//! Counts changes by hand, and compares numbers with records.

use std::sync::atomic::AtomicU64;

use common::clock::Clock;
use common::config::Env;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use common::runtime::event_handler::EventHandler;
use count_changes::CountChanges;
use count_changes::stream_batch::StreamBatchResponse;
use local::streams::StreamReader;
use local::workers::stream_readers;
use ops_core::statistics::Difference;
use serde_json::Value;

use crate::service::connect;

pub struct Counter {
    function: CountChanges,
    readers: Vec<StreamReader>,
}

impl Counter {
    pub fn new(env: &Env, clock: &Clock) -> Self {
        Self {
            function: connect(env, clock, "count-changes"),
            readers: stream_readers(env),
        }
    }

    /// The next batch of each stream.
    pub async fn next_batches(&mut self) -> Vec<Value> {
        let mut batches = Vec::new();
        for reader in &mut self.readers {
            batches.extend(reader.read().await);
            reader.confirm();
        }
        batches
    }

    pub async fn count(&self, batch: &Value) -> StreamBatchResponse {
        let batch = serde_json::from_value(batch.clone()).expect("a batch");
        Box::pin(self.function.handle(batch))
            .await
            .expect("a reply")
    }

    pub async fn count_all(&mut self) {
        loop {
            let batches = self.next_batches().await;
            if batches.is_empty() {
                return;
            }
            for batch in batches {
                assert_eq!(self.count(&batch).await, StreamBatchResponse::default());
            }
        }
    }
}

/// Counters unlike a count of all records.
pub async fn differences(env: &Env, scope: &Scope) -> Vec<Difference> {
    let tables = ops_core::connection::tables(env)
        .await
        .expect("the stack sets every variable");
    let read = AtomicU64::new(0);
    let found = Box::pin(ops_core::statistics::verify(
        &tables,
        scope,
        &read,
        Timestamp::MAX,
    ))
    .await
    .expect("the tables answer");
    assert!(found.counters > 0, "something is counted");
    found.differences
}
