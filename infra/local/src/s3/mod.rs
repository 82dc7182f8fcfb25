//! The embedded S3: buckets in memory or in a folder, signatures checked like AWS, and an event for every object that
//! is written.

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

pub(crate) use self::store::etag;
use crate::loopback::{Loopback, Served, WallClock};
use crate::s3::service::Objects;
use crate::s3::store::Store;
use crate::sts::is_access_key;

/// Maximum size of an object of the stack: the openings of a draw of a million entrants have 60 MB.
pub const MAX_OBJECT_BYTES: usize = 256 * 1024 * 1024;

pub struct S3Options {
    /// The buckets; no others can be created.
    pub buckets: Vec<String>,
    /// The folder for objects, used by this S3 alone; `None` keeps them in memory.
    pub folder: Option<PathBuf>,
    /// The secret key of all access keys.
    pub secret_key: String,
    /// Receives an event for each object written; the receiver may be dropped.
    pub created: mpsc::UnboundedSender<ObjectCreated>,
    /// The time stored with objects. Signatures expire by the machine's clock.
    pub now: WallClock,
    /// Maximum size of an object; a larger one is refused with `EntityTooLarge`.
    pub max_object_bytes: usize,
    /// The port; 0 picks a free one.
    pub port: u16,
}

/// An object was written, like `s3:ObjectCreated:Put`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCreated {
    pub bucket: String,
    /// The raw key; S3's own events URL-encode it.
    pub key: String,
    /// In bytes.
    pub size: u64,
    /// The MD5 of the content in hexadecimal, without quotes.
    pub etag: String,
    pub time: DateTime<Utc>,
}

/// A serving S3. It stops when told to or when dropped.
pub struct S3 {
    endpoint: String,
    served: Served,
}

/// The secret key of every user that the local STS names.
struct Keys(SecretKey);

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        match is_access_key(access_key) {
            true => Ok(self.0.clone()),
            false => Err(s3_error!(
                InvalidAccessKeyId,
                "The access key is not one of this stack."
            )),
        }
    }
}

impl S3 {
    /// Starts an S3 and returns once it listens. Bucket names are part of the path.
    ///
    /// # Errors
    /// If the port is taken, a bucket name is invalid, or the folder is unusable or holds something else.
    pub async fn serve(options: S3Options) -> io::Result<Self> {
        let store = Store::open(options.buckets, options.folder)?;
        let objects = Objects {
            store: Arc::new(store),
            created: options.created,
            now: options.now,
            max_object_bytes: options.max_object_bytes,
        };
        let mut service = S3ServiceBuilder::new(objects);
        service.set_auth(Keys(options.secret_key.into()));

        let loopback = Loopback::bind(options.port).await?;
        let endpoint = loopback.endpoint.clone();
        let router = Router::new()
            .fallback(browser::serve)
            .with_state(service.build());
        Ok(Self {
            endpoint,
            served: loopback.serve(router),
        })
    }

    /// The base URL, without a trailing slash.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits for requests in flight, then stops.
    pub async fn stop(self) {
        self.served.stop().await;
    }
}
