//! The embedded S3: buckets in memory or in a folder, signatures checked as AWS checks them, and a
//! notification for every object that is written.

mod body;
mod browser;
mod files;
mod service;
mod store;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use chrono::{DateTime, Utc};
use s3s::auth::{S3Auth, SecretKey};
use s3s::service::S3ServiceBuilder;
use s3s::{S3Result, s3_error};
use tokio::sync::mpsc;

use crate::loopback::{Loopback, Served, WallClock};
use crate::s3::service::Objects;
use crate::s3::store::Store;

/// Bytes of the largest object that is taken, 16 MiB; a larger one is refused with `EntityTooLarge`.
pub const MAX_OBJECT_BYTES: usize = 16 * 1024 * 1024;

/// How an S3 is started.
pub struct Options {
    /// The buckets; no others can be made.
    pub buckets: Vec<String>,
    /// Where objects are kept, this S3's alone; in memory when absent.
    pub folder: Option<PathBuf>,
    /// What the access keys begin with whose signatures are accepted.
    pub access_keys: String,
    /// The secret of all of them.
    pub secret_key: String,
    /// Where written objects are announced. Nobody has to listen.
    pub created: mpsc::UnboundedSender<ObjectCreated>,
    /// The time that objects are stored with. Signatures expire by the machine's clock.
    pub now: WallClock,
    /// The port; 0 picks a free one.
    pub port: u16,
}

/// An object was written: what `s3:ObjectCreated:Put` tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCreated {
    /// The bucket.
    pub bucket: String,
    /// The key as it is; S3's own events have it URL-encoded.
    pub key: String,
    /// Bytes.
    pub size: u64,
    /// The MD5 of the content in hexadecimal, without quotes.
    pub etag: String,
    /// When it was written.
    pub time: DateTime<Utc>,
}

/// An S3 that serves. It stops when told to, and when it is dropped.
pub struct S3 {
    endpoint: String,
    served: Served,
}

/// The keys that sign requests.
struct Keys {
    prefix: String,
    secret: SecretKey,
}

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        match access_key.starts_with(&self.prefix) {
            true => Ok(self.secret.clone()),
            false => Err(s3_error!(InvalidAccessKeyId, "The access key is not one of this stack.")),
        }
    }
}

impl S3 {
    /// Starts an S3 and returns once it listens. Buckets are part of the path.
    ///
    /// # Errors
    /// When the port is taken, a bucket cannot be named so, or the folder cannot be used or holds
    /// something else.
    pub async fn serve(options: Options) -> io::Result<Self> {
        let store = Store::open(options.buckets, options.folder)?;
        let objects = Objects { store: Arc::new(store), created: options.created, now: options.now };
        let mut service = S3ServiceBuilder::new(objects);
        service.set_auth(Keys { prefix: options.access_keys, secret: options.secret_key.into() });

        let loopback = Loopback::bind(options.port).await?;
        let endpoint = loopback.endpoint.clone();
        let router = Router::new().fallback(browser::serve).with_state(service.build());
        Ok(Self { endpoint, served: loopback.serve(router) })
    }

    /// Where it serves, without a slash at the end.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Lets the requests under way finish, then stops.
    pub async fn stop(self) {
        self.served.stop().await;
    }
}
