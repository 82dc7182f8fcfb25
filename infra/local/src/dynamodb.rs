//! The embedded DynamoDB, and calls without the SDK: streams have another.

use std::io;
use std::path::Path;
use std::time::Duration;

use common::upstream::http_client;
use dynoxide::Database;
use serde_json::Value;

use crate::loopback::{Loopback, Server, stopped};

const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Keeps data in `folder`, or in memory.
pub async fn serve(folder: Option<&Path>) -> io::Result<Server> {
    let database = match folder {
        Some(folder) => Database::new(&folder.join("dynamodb.sqlite").to_string_lossy()),
        None => Database::memory(),
    };
    let database = database.map_err(|error| io::Error::other(error.to_string()))?;
    let serve = |listener, stopping| async move {
        let sweeping = tokio::spawn(sweep(database.clone()));
        // Its requests show a failure.
        let _ = dynoxide::server::serve_with_shutdown(listener, database, stopped(stopping)).await;
        sweeping.abort();
    };
    Ok(Loopback::bind(0).await?.serve_with(serve))
}

async fn sweep(database: Database) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        let database = database.clone();
        // Left to the next sweep.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

/// The database only checks that there is one.
const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=local/20260101/af-south-1/dynamodb/aws4_request, \
                         SignedHeaders=host, Signature=0";
/// A stream's batch has at most 1,000 records with two images of 400 KB.
const MAX_BYTES: usize = 1_000_000_000;
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct DynamoDb {
    client: reqwest::Client,
    url: String,
}

impl DynamoDb {
    pub(crate) fn new(url: &str) -> Option<Self> {
        let client = http_client::builder().ok()?.timeout(TIMEOUT).build().ok()?;
        let url = url.to_owned();
        Some(Self { client, url })
    }

    /// Such as `DynamoDB_20120810.CreateTable`. An error is the reply, or null.
    pub(crate) async fn call(&self, operation: &str, body: &Value) -> Result<Value, Value> {
        let request = self.client.post(&self.url).body(body.to_string());
        let request = request
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", operation)
            .header("authorization", SIGNATURE)
            .header("x-amz-date", "20260101T000000Z");
        let reply = request.send().await.map_err(|_| Value::Null)?;
        let is_ok = reply.status().is_success();
        let bytes = http_client::read(reply, MAX_BYTES).await;
        let bytes = bytes.map_err(|_| Value::Null)?;
        let reply = serde_json::from_slice(&bytes).unwrap_or_default();
        if is_ok { Ok(reply) } else { Err(reply) }
    }
}
