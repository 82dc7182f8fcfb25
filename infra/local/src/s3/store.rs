//! The objects. All operations hold one lock, so that exactly one of several concurrent first writes succeeds.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::s3::files::{self, Folder};

/// An object's metadata.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Object {
    pub(super) key: String,
    pub(super) content_type: String,
    /// Values of `x-amz-meta-` headers, by name without the prefix.
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) etag: String,
    pub(super) size: u64,
    pub(super) last_modified: DateTime<Utc>,
}

/// The condition of a write.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Always,
    /// Only if no object has the key.
    First,
    /// Only over the object with this ETag.
    Over(String),
}

#[derive(Debug)]
pub(super) enum S3Refusal {
    NoSuchBucket,
    NoSuchKey,
    /// A first write, but an object exists; or a write over another object than the one that is there.
    Exists,
    Io(io::Error),
}

impl From<io::Error> for S3Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Where an object's bytes are.
enum Content {
    Memory(Bytes),
    File,
}

struct Stored {
    object: Arc<Object>,
    content: Content,
}

#[derive(Default)]
struct Bucket {
    folder: Option<Folder>,
    /// By key, in listing order.
    stored: BTreeMap<String, Stored>,
}

pub(super) struct Store {
    buckets: Mutex<BTreeMap<String, Bucket>>,
}

impl Store {
    /// Opens the buckets, and loads their objects from the folder.
    pub(super) fn open(names: Vec<String>, folder: Option<PathBuf>) -> io::Result<Self> {
        let mut buckets = BTreeMap::new();
        for name in names {
            if !s3s::path::check_bucket_name(&name) {
                let message = format!("{name:?} is not a bucket name");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            let bucket = match &folder {
                Some(folder) => Bucket::open(Folder::open(folder.join(&name))?)?,
                None => Bucket::default(),
            };
            buckets.insert(name, bucket);
        }
        Ok(Self {
            buckets: Mutex::new(buckets),
        })
    }

    pub(super) fn put(
        &self,
        bucket: &str,
        object: Object,
        bytes: Bytes,
        write: Write,
    ) -> Result<(), S3Refusal> {
        let mut buckets = self.lock();
        let bucket = buckets.get_mut(bucket).ok_or(S3Refusal::NoSuchBucket)?;
        match (write, bucket.stored.get(&object.key)) {
            (Write::Always, _) | (Write::First, None) => {}
            (Write::Over(_), None) => return Err(S3Refusal::NoSuchKey),
            (Write::Over(etag), Some(stored)) if stored.object.etag == etag => {}
            (Write::First | Write::Over(_), Some(_)) => return Err(S3Refusal::Exists),
        }
        let content = match &bucket.folder {
            Some(folder) => {
                folder.write(&object, &bytes)?;
                Content::File
            }
            None => Content::Memory(bytes),
        };
        bucket.stored.insert(
            object.key.clone(),
            Stored {
                object: Arc::new(object),
                content,
            },
        );
        Ok(())
    }

    pub(super) fn head(&self, bucket: &str, key: &str) -> Result<Arc<Object>, S3Refusal> {
        let buckets = self.lock();
        let bucket = buckets.get(bucket).ok_or(S3Refusal::NoSuchBucket)?;
        bucket
            .stored
            .get(key)
            .map(|stored| Arc::clone(&stored.object))
            .ok_or(S3Refusal::NoSuchKey)
    }

    pub(super) fn get(&self, bucket: &str, key: &str) -> Result<(Arc<Object>, Bytes), S3Refusal> {
        let buckets = self.lock();
        let bucket = buckets.get(bucket).ok_or(S3Refusal::NoSuchBucket)?;
        let stored = bucket.stored.get(key).ok_or(S3Refusal::NoSuchKey)?;
        let bytes = match (&stored.content, &bucket.folder) {
            (Content::Memory(bytes), _) => bytes.clone(),
            (Content::File, Some(folder)) => folder.read(key)?,
            (Content::File, None) => return Err(S3Refusal::NoSuchKey),
        };
        Ok((Arc::clone(&stored.object), bytes))
    }

    /// Deletes an object, if it exists.
    pub(super) fn delete(&self, bucket: &str, key: &str) -> Result<(), S3Refusal> {
        let mut buckets = self.lock();
        let bucket = buckets.get_mut(bucket).ok_or(S3Refusal::NoSuchBucket)?;
        if !bucket.stored.contains_key(key) {
            return Ok(());
        }
        if let Some(folder) = &bucket.folder {
            folder.delete(key)?;
        }
        bucket.stored.remove(key);
        Ok(())
    }

    /// The objects with a prefix after a key, in key order, and whether there are more than the limit.
    pub(super) fn list(
        &self,
        bucket: &str,
        prefix: &str,
        after: &str,
        most: usize,
    ) -> Result<(Vec<Arc<Object>>, bool), S3Refusal> {
        let buckets = self.lock();
        let bucket = buckets.get(bucket).ok_or(S3Refusal::NoSuchBucket)?;
        let mut matching = bucket
            .stored
            .values()
            .map(|stored| &stored.object)
            .filter(|object| object.key.starts_with(prefix) && object.key.as_str() > after);
        let page = matching.by_ref().take(most).cloned().collect();
        Ok((page, matching.next().is_some()))
    }

    /// A panic while writing leaves only whole objects: each is written by one insertion.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bucket {
    fn open(folder: Folder) -> io::Result<Self> {
        let objects = folder.objects()?;
        let stored = objects.into_iter().map(|object| {
            (
                object.key.clone(),
                Stored {
                    object: Arc::new(object),
                    content: Content::File,
                },
            )
        });
        Ok(Self {
            stored: stored.collect(),
            folder: Some(folder),
        })
    }
}

/// S3's ETag of an object uploaded in one part.
pub(crate) fn etag(bytes: &[u8]) -> String {
    use s3s::crypto::{Checksum, Md5};
    files::hexadecimal(Md5::checksum(bytes).as_ref())
}
