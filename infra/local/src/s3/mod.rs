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
use jiff::Timestamp;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tokio::sync::mpsc;

use crate::loopback::{Loopback, Served, WallClock};
use crate::s3::service::Objects;
use crate::s3::store::Store;

/// Bytes of the largest object that is taken, 16 MiB; a larger one is refused with `EntityTooLarge`.
pub const MOST_OBJECT_BYTES: usize = 16 * 1024 * 1024;

/// How an S3 is started.
pub struct Options {
    /// The buckets; no others can be made.
    pub buckets: Vec<String>,
    /// Where objects are kept, this S3's alone; in memory when absent.
    pub folder: Option<PathBuf>,
    /// The one access key whose signatures are accepted.
    pub access_key: String,
    /// Its secret.
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
    pub time: Timestamp,
}

/// An S3 that serves. It stops when told to, and when it is dropped.
pub struct S3 {
    endpoint: String,
    served: Served,
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
        service.set_auth(SimpleAuth::from_single(options.access_key, options.secret_key));

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
