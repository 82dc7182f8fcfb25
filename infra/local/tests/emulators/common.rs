//! Fixtures: emulators, SDK clients for them, and a plain HTTP client.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sdk_s3::config::{BehaviorVersion, Region, RequestChecksumCalculation, retry::RetryConfig};
use axum::http::{Request, Response};
use chrono::DateTime;
use common::upstream::http_client;
use local::loopback::WallClock;
use local::s3::{self, ObjectCreated, S3};
use local::sqs::{self, QueueOptions, Sqs};
use tokio::sync::mpsc;

pub(crate) const BUCKET: &str = "receipts";
pub(crate) const SECRET: &str = "a secret of the tests";
/// 2026-01-02T03:04:05Z
pub(crate) const NOW: i64 = 1_767_323_045;

pub(crate) fn wall_clock() -> WallClock {
    Arc::new(|| DateTime::from_timestamp_secs(NOW).unwrap())
}

fn credentials(secret: &str) -> Credentials {
    Credentials::new("local", secret, None, None, "tests")
}

/// Maximum size of an object.
pub(crate) const MAX_OBJECT_BYTES: usize = 1024 * 1024;

pub(crate) struct Storage {
    pub(crate) s3: S3,
    pub(crate) client: aws_sdk_s3::Client,
    pub(crate) created: mpsc::UnboundedReceiver<ObjectCreated>,
}

pub(crate) async fn storage() -> Storage {
    storage_in(None).await
}

pub(crate) async fn storage_in(folder: Option<&Path>) -> Storage {
    let (sender, created) = mpsc::unbounded_channel();
    let s3 = S3::serve(s3::S3Options {
        buckets: vec![BUCKET.to_owned()],
        folder: folder.map(Path::to_owned),
        max_object_bytes: MAX_OBJECT_BYTES,
        secret_key: SECRET.to_owned(),
        created: sender,
        now: wall_clock(),
        port: 0,
    })
    .await
    .unwrap();
    let client = s3_client(&s3, SECRET, RequestChecksumCalculation::WhenRequired);
    Storage {
        s3,
        client,
        created,
    }
}

pub(crate) fn s3_client(
    s3: &S3,
    secret: &str,
    checksums: RequestChecksumCalculation,
) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("af-south-1"))
        .credentials_provider(credentials(secret))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .request_checksum_calculation(checksums)
        .force_path_style(true)
        .endpoint_url(s3.endpoint())
        .build();
    aws_sdk_s3::Client::from_conf(config)
}

/// A queue `work`, whose messages move to the queue `dead` after three receives.
pub(crate) async fn queues() -> (Sqs, aws_sdk_sqs::Client) {
    let queue = |name: &str, dead_letter| QueueOptions {
        name: name.to_owned(),
        visibility: Duration::from_secs(30),
        dead_letter,
    };
    let sqs = Sqs::serve(sqs::SqsOptions {
        queues: vec![
            queue("work", Some(("dead".to_owned(), 3))),
            queue("dead", None),
        ],
        now: wall_clock(),
        port: 0,
    })
    .await
    .unwrap();
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("af-south-1"))
        .credentials_provider(credentials(SECRET))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .endpoint_url(sqs.endpoint())
        .build();
    (sqs, aws_sdk_sqs::Client::from_conf(config))
}

/// Sends a request unchanged.
pub(crate) async fn send(request: Request<&'static str>) -> Response<String> {
    let client = http_client::builder().unwrap().build().unwrap();
    let reply = client.execute(request.try_into().unwrap()).await.unwrap();
    let mut response = Response::builder().status(reply.status());
    response.headers_mut().unwrap().clone_from(reply.headers());
    response.body(reply.text().await.unwrap()).unwrap()
}

/// Waits for something that must happen soon.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what)
        .await
        .expect("it takes too long")
}
