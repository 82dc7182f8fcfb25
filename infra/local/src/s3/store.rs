//! Objects under one lock: one of several concurrent first writes succeeds.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use common::lock::Mutex;
use s3s::crypto::{Checksum, Md5};
use s3s::{S3Error, S3Result, s3_error};
use serde::{Deserialize, Serialize};

use super::files::Folder;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Object {
    pub(super) key: String,
    pub(super) content_type: String,
    pub(super) etag: String,
    /// Bytes.
    pub(super) size: i64,
    pub(super) last_modified: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub(super) enum Condition {
    None,
    Missing,
    Is(String),
}

struct Stored {
    object: Arc<Object>,
    bytes: Option<Bytes>,
}

#[derive(Default)]
struct Bucket {
    folder: Option<Folder>,
    stored: BTreeMap<String, Stored>,
}

pub(super) struct Store(Mutex<BTreeMap<String, Bucket>>);

impl Store {
    pub(super) fn open(names: &[&str], folder: Option<PathBuf>) -> io::Result<Self> {
        let open = |name: &&str| {
            let folder = folder.as_ref().map(|folder| folder.join(name));
            let bucket = folder.map_or_else(|| Ok(Bucket::default()), Bucket::open);
            Ok(((*name).to_owned(), bucket?))
        };
        let buckets: io::Result<_> = names.iter().map(open).collect();
        Ok(Self(Mutex::new(buckets?)))
    }

    pub(super) fn put(
        &self,
        bucket: &str,
        object: Object,
        bytes: Bytes,
        condition: Condition,
    ) -> S3Result<()> {
        self.with(bucket, |bucket| {
            match (condition, bucket.stored.get(&object.key)) {
                (Condition::None, _) | (Condition::Missing, None) => {}
                (Condition::Is(_), None) => return Err(no_such_key()),
                (Condition::Is(etag), Some(stored)) if stored.object.etag == etag => {}
                (Condition::Missing | Condition::Is(_), Some(_)) => {
                    return Err(s3_error!(
                        PreconditionFailed,
                        "At least one of the pre-conditions you specified did not hold"
                    ));
                }
            }
            let bytes = match &bucket.folder {
                Some(folder) => {
                    folder
                        .write(&object, &bytes)
                        .map_err(S3Error::internal_error)?;
                    None
                }
                None => Some(bytes),
            };
            let object = Arc::new(object);
            bucket
                .stored
                .insert(object.key.clone(), Stored { object, bytes });
            Ok(())
        })
    }

    pub(super) fn get(&self, bucket: &str, key: &str) -> S3Result<(Arc<Object>, Bytes)> {
        self.with(bucket, |bucket| {
            let stored = bucket.stored.get(key).ok_or_else(no_such_key)?;
            let bytes = match (&stored.bytes, &bucket.folder) {
                (Some(bytes), _) => bytes.clone(),
                (None, Some(folder)) => folder.read(key).map_err(S3Error::internal_error)?,
                (None, None) => return Err(no_such_key()),
            };
            Ok((Arc::clone(&stored.object), bytes))
        })
    }

    pub(super) fn delete(&self, bucket: &str, key: &str) -> S3Result<()> {
        self.with(bucket, |bucket| {
            if bucket.stored.contains_key(key)
                && let Some(folder) = &bucket.folder
            {
                folder.delete(key).map_err(S3Error::internal_error)?;
            }
            bucket.stored.remove(key);
            Ok(())
        })
    }

    /// In key order; true if there are more.
    pub(super) fn list(
        &self,
        bucket: &str,
        prefix: &str,
        after: &str,
        limit: usize,
    ) -> S3Result<(Vec<Arc<Object>>, bool)> {
        self.with(bucket, |bucket| {
            let objects = bucket.stored.values().map(|stored| &stored.object);
            let mut matching = objects
                .filter(|object| object.key.starts_with(prefix) && object.key.as_str() > after);
            let page = matching.by_ref().take(limit).cloned().collect();
            Ok((page, matching.next().is_some()))
        })
    }

    fn with<T>(&self, bucket: &str, work: impl FnOnce(&mut Bucket) -> S3Result<T>) -> S3Result<T> {
        // Each object is written by one insertion, so a panic leaves only whole objects.
        let mut buckets = self.0.lock();
        let bucket = buckets.get_mut(bucket);
        work(bucket.ok_or_else(|| s3_error!(NoSuchBucket, "The specified bucket does not exist"))?)
    }
}

impl Bucket {
    fn open(path: PathBuf) -> io::Result<Self> {
        let folder = Folder::open(path)?;
        let objects = folder.objects()?.into_iter().map(Arc::new);
        let stored = |object: Arc<Object>| {
            let bytes = None;
            (object.key.clone(), Stored { object, bytes })
        };
        Ok(Self {
            stored: objects.map(stored).collect(),
            folder: Some(folder),
        })
    }
}

fn no_such_key() -> S3Error {
    s3_error!(NoSuchKey, "The specified key does not exist.")
}

pub(crate) fn etag(bytes: &[u8]) -> String {
    hex::encode(Md5::checksum(bytes))
}
