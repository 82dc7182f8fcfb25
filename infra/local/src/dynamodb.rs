//! The embedded DynamoDB, and calls to it without the SDK: that of streams is a separate crate, and the template has the
//! tables in JSON.

use std::io;
use std::path::Path;
use std::time::Duration;

use common::upstream::http_client;
use dynoxide::Database;
use serde_json::Value;

use crate::loopback::{Loopback, Server, stopped};

/// Interval of the deletion of expired items. Nothing depends on it: every read checks expiry itself.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Starts a database and returns once it listens; it is in a file in `folder`, or in memory.
///
/// # Errors
/// If it cannot listen, or the file cannot be opened.
pub async fn serve(folder: Option<&Path>) -> io::Result<Server> {
    let database = match folder {
        Some(folder) => Database::new(&folder.join("dynamodb.sqlite").to_string_lossy()),
        None => Database::memory(),
    };
    let database = database.map_err(|error| io::Error::other(error.to_string()))?;
    let serve = |listener, stopping| async move {
        let sweeping = tokio::spawn(sweep(database.clone()));
        // Any failure of the server shows in the requests that fail.
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
        // The next sweep deletes items that this one could not.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

/// A dummy: the embedded database only checks that there is one.
const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=local/20260101/af-south-1/dynamodb/aws4_request, \
                         SignedHeaders=host, Signature=0";
/// More than any reply: a batch of a stream has at most 1,000 records with two images of 400 KB.
const MAX_BYTES: usize = 1_000_000_000;
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct DynamoDb {
    client: reqwest::Client,
    url: String,
}

impl DynamoDb {
    /// `None` when no client can be made.
    pub(crate) fn new(url: &str) -> Option<Self> {
        let client = http_client::builder().ok()?.timeout(TIMEOUT).build().ok()?;
        let url = url.to_owned();
        Some(Self { client, url })
    }

    /// Calls an operation, such as `DynamoDB_20120810.CreateTable`. An error is the database's reply; null without one.
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
