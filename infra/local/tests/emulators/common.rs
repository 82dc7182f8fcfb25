//! Emulators, SDK clients for them, and a plain HTTP client.

use std::path::Path;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Region, RequestChecksumCalculation};
use aws_sdk_s3::operation::get_object::builders::GetObjectFluentBuilder;
use aws_sdk_s3::operation::head_object::builders::HeadObjectFluentBuilder;
use aws_sdk_s3::operation::list_objects_v2::builders::ListObjectsV2FluentBuilder;
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::primitives::ByteStream;
use axum::http::{Request, Response};
use bytes::Bytes;
use common::clock::Clock;
use common::domain::Timestamp;
use common::upstream::http_client;
use local::loopback::Server;
use local::s3::{self, ObjectCreated, S3Options};
use local::sqs::{Sqs, SqsOptions};
use tokio::sync::mpsc;

pub(crate) const BUCKET: &str = "receipts";
pub(crate) const SECRET: &str = "a secret of the tests";
/// 2026-01-02T03:04:05Z
pub(crate) const NOW: i64 = 1_767_323_045;

pub(crate) fn credentials(user: &str, secret: &str) -> Credentials {
    Credentials::new(user, secret, None, None, "tests")
}

pub(crate) const MAX_OBJECT_BYTES: usize = 1024 * 1024;

pub(crate) struct Storage {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) created: mpsc::UnboundedReceiver<ObjectCreated>,
}

impl Storage {
    pub(crate) fn put(&self, key: &str) -> PutObjectFluentBuilder {
        self.client.put_object().bucket(BUCKET).key(key)
    }

    pub(crate) fn get(&self, key: &str) -> GetObjectFluentBuilder {
        self.client.get_object().bucket(BUCKET).key(key)
    }

    pub(crate) fn head(&self, key: &str) -> HeadObjectFluentBuilder {
        self.client.head_object().bucket(BUCKET).key(key)
    }

    pub(crate) fn list(&self) -> ListObjectsV2FluentBuilder {
        self.client.list_objects_v2().bucket(BUCKET)
    }

    pub(crate) async fn store(&self, key: &str, content: &'static str) {
        let put = self.put(key).content_type("text/plain");
        put.body(body(content)).send().await.unwrap();
    }

    pub(crate) async fn content(&self, key: &str) -> Bytes {
        let got = self.get(key).send().await.unwrap();
        got.body.collect().await.unwrap().into_bytes()
    }

    pub(crate) async fn delete(&self, key: &str) {
        let delete = self.client.delete_object().bucket(BUCKET).key(key);
        delete.send().await.unwrap();
    }

    pub(crate) async fn keys(&self, prefix: &str) -> Vec<String> {
        let listed = self.list().prefix(prefix).send().await.unwrap();
        let keys = listed.contents().iter().map(|object| object.key().unwrap());
        keys.map(str::to_owned).collect()
    }
}

pub(crate) fn body(content: &'static str) -> ByteStream {
    ByteStream::from_static(content.as_bytes())
}

pub(crate) async fn storage() -> Storage {
    storage_in(None).await
}

pub(crate) async fn storage_in(folder: Option<&Path>) -> Storage {
    let (sender, created) = mpsc::unbounded_channel();
    let server = s3::serve(S3Options {
        buckets: &[BUCKET],
        folder: folder.map(Path::to_owned),
        max_object_bytes: MAX_OBJECT_BYTES,
        secret_key: SECRET,
        created: sender,
        clock: Clock::manual(Timestamp::from_millis(NOW * 1_000)),
    })
    .await
    .unwrap();
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("af-south-1"))
        .credentials_provider(credentials("local", SECRET))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
        .force_path_style(true)
        .endpoint_url(&server.url)
        .build();
    Storage {
        client: Client::from_conf(config),
        server,
        created,
    }
}

/// Messages of `work` move to the dead letters after three receives of 30 seconds.
pub(crate) async fn queues() -> (Sqs, aws_sdk_sqs::Client) {
    let sqs = Sqs::serve(SqsOptions {
        queues: &["work"],
        visibility: Duration::from_secs(30),
        max_receives: 3,
    });
    let sqs = sqs.await.unwrap();
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("af-south-1"))
        .credentials_provider(credentials("local", SECRET))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .retry_config(RetryConfig::disabled())
        .endpoint_url(&sqs.server.url)
        .build();
    (sqs, aws_sdk_sqs::Client::from_conf(config))
}

pub(crate) async fn send(request: Request<&'static str>) -> Response<String> {
    let client = http_client::builder().unwrap().build().unwrap();
    let reply = client.execute(request.try_into().unwrap()).await.unwrap();
    let mut response = Response::builder().status(reply.status());
    response.headers_mut().unwrap().clone_from(reply.headers());
    response.body(reply.text().await.unwrap()).unwrap()
}

/// Waits for what must happen soon.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what)
        .await
        .expect("it takes too long")
}
