//! The S3 operations that the service uses; all others are answered with `NotImplemented`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, ETag, ETagCondition, GetObjectInput, GetObjectOutput,
    HeadObjectInput, HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Metadata,
    Object as Entry, PutObjectInput, PutObjectOutput, StreamingBlob, Timestamp,
};
use s3s::{Body, S3Error, S3Request, S3Response, S3Result, s3_error};
use tokio::sync::mpsc;

use crate::loopback::WallClock;
use crate::s3::store::{self, Object, S3Refusal, Store, Write};
use crate::s3::{ObjectCreated, body};

/// S3's default content type.
const NO_TYPE: &str = "binary/octet-stream";
/// Keys per page, both default and maximum.
const PAGE: usize = 1000;

pub(super) struct Objects {
    pub(super) store: Arc<Store>,
    pub(super) created: mpsc::UnboundedSender<ObjectCreated>,
    pub(super) now: WallClock,
    pub(super) max_object_bytes: usize,
}

impl Objects {
    /// Runs work on the store on a blocking thread. Once started it completes, even if the caller disconnects.
    async fn store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, S3Refusal> + Send + 'static,
    ) -> S3Result<T> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(S3Error::internal_error)?.map_err(refused)
    }
}

#[async_trait::async_trait]
impl s3s::S3 for Objects {
    async fn put_object(
        &self,
        mut request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        let write = write(&request.input)?;
        let bytes = body::read(&mut request, self.max_object_bytes).await?;
        let PutObjectInput {
            bucket,
            key,
            content_type,
            metadata,
            ..
        } = request.input;
        let object = Object {
            key,
            content_type: content_type.unwrap_or_else(|| NO_TYPE.to_owned()),
            metadata: metadata.unwrap_or_default().into_iter().collect(),
            etag: store::etag(&bytes),
            size: u64::try_from(bytes.len()).map_err(S3Error::internal_error)?,
            last_modified: (self.now)(),
        };
        let created = self.created.clone();
        let etag = ETag::Strong(object.etag.clone());
        self.store(move |store| {
            let event = event(&bucket, &object);
            store.put(&bucket, object, bytes, write)?;
            // An error means that no one listens.
            let _ = created.send(event);
            Ok(())
        })
        .await?;
        Ok(S3Response::new(PutObjectOutput {
            e_tag: Some(etag),
            ..Default::default()
        }))
    }

    async fn get_object(
        &self,
        request: S3Request<GetObjectInput>,
    ) -> S3Result<S3Response<GetObjectOutput>> {
        let GetObjectInput {
            bucket, key, range, ..
        } = request.input;
        let (object, bytes) = self.store(move |store| store.get(&bucket, &key)).await?;
        let (bytes, content_range) = match range {
            Some(range) => {
                let (part, place) = part(&bytes, range)?;
                (part, Some(place))
            }
            None => (bytes, None),
        };
        Ok(S3Response::new(GetObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(length(bytes.len())?),
            content_range,
            content_type: Some(object.content_type.clone()),
            e_tag: Some(ETag::Strong(object.etag.clone())),
            last_modified: Some(last_modified(&object)),
            metadata: metadata(&object.metadata),
            body: Some(StreamingBlob::from(Body::from(bytes))),
            ..Default::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let HeadObjectInput { bucket, key, .. } = request.input;
        let object = self.store(move |store| store.head(&bucket, &key)).await?;
        Ok(S3Response::new(HeadObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(length(object.size)?),
            content_type: Some(object.content_type.clone()),
            e_tag: Some(ETag::Strong(object.etag.clone())),
            last_modified: Some(last_modified(&object)),
            metadata: metadata(&object.metadata),
            ..Default::default()
        }))
    }

    async fn delete_object(
        &self,
        request: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        let DeleteObjectInput { bucket, key, .. } = request.input;
        self.store(move |store| store.delete(&bucket, &key)).await?;
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    /// The continuation token is the last key of the previous page.
    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        if input.delimiter.is_some() {
            return Err(s3_error!(
                NotImplemented,
                "The local S3 lists by prefix, without a delimiter"
            ));
        }
        let most = match input.max_keys {
            Some(most) => usize::try_from(most)
                .map_err(|_| s3_error!(InvalidArgument))?
                .min(PAGE),
            None => PAGE,
        };
        let after = input
            .continuation_token
            .clone()
            .or_else(|| input.start_after.clone())
            .unwrap_or_default();
        let (bucket, prefix) = (
            input.bucket.clone(),
            input.prefix.clone().unwrap_or_default(),
        );
        let (objects, more) = self
            .store(move |store| store.list(&bucket, &prefix, &after, most))
            .await?;
        let next = objects
            .last()
            .filter(|_| more)
            .map(|object| object.key.clone());
        Ok(S3Response::new(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: input.prefix,
            start_after: input.start_after,
            continuation_token: input.continuation_token,
            max_keys: Some(i32::try_from(most).map_err(S3Error::internal_error)?),
            key_count: Some(i32::try_from(objects.len()).map_err(S3Error::internal_error)?),
            is_truncated: Some(next.is_some()),
            next_continuation_token: next,
            contents: Some(
                objects
                    .iter()
                    .map(|object| entry(object))
                    .collect::<S3Result<_>>()?,
            ),
            ..Default::default()
        }))
    }
}

/// The write condition of a PUT; only a part of S3's conditions is supported.
fn write(input: &PutObjectInput) -> S3Result<Write> {
    match (&input.if_none_match, &input.if_match) {
        (None, None) => Ok(Write::Always),
        (Some(ETagCondition::Any), None) => Ok(Write::First),
        (None, Some(ETagCondition::ETag(ETag::Strong(etag)))) => Ok(Write::Over(etag.clone())),
        (_, _) => Err(s3_error!(
            NotImplemented,
            "The conditions of a PUT are If-None-Match: * or If-Match with an ETag"
        )),
    }
}

/// A range of the bytes, and its `Content-Range`. An empty object has no range.
fn part(bytes: &Bytes, range: s3s::dto::Range) -> S3Result<(Bytes, String)> {
    let whole = u64::try_from(bytes.len()).map_err(S3Error::internal_error)?;
    let place = range.check(whole)?;
    if place.is_empty() {
        return Err(s3_error!(InvalidRange));
    }
    let start = usize::try_from(place.start).map_err(S3Error::internal_error)?;
    let end = usize::try_from(place.end).map_err(S3Error::internal_error)?;
    let last = place.end.saturating_sub(1);
    Ok((
        bytes.slice(start..end),
        format!("bytes {}-{last}/{whole}", place.start),
    ))
}

fn event(bucket: &str, object: &Object) -> ObjectCreated {
    ObjectCreated {
        bucket: bucket.to_owned(),
        key: object.key.clone(),
        size: object.size,
        etag: object.etag.clone(),
        time: object.last_modified,
    }
}

fn entry(object: &Object) -> S3Result<Entry> {
    Ok(Entry {
        key: Some(object.key.clone()),
        size: Some(length(object.size)?),
        e_tag: Some(ETag::Strong(object.etag.clone())),
        last_modified: Some(last_modified(object)),
        ..Default::default()
    })
}

fn length<L>(length: L) -> S3Result<i64>
where
    i64: TryFrom<L, Error: std::error::Error + Send + Sync + 'static>,
{
    i64::try_from(length).map_err(S3Error::internal_error)
}

fn last_modified(object: &Object) -> Timestamp {
    Timestamp::from(SystemTime::from(object.last_modified))
}

fn metadata(metadata: &BTreeMap<String, String>) -> Option<Metadata> {
    let metadata: Metadata = metadata.clone().into_iter().collect();
    Some(metadata).filter(|metadata| !metadata.is_empty())
}

fn refused(refusal: S3Refusal) -> S3Error {
    match refusal {
        S3Refusal::NoSuchBucket => s3_error!(NoSuchBucket, "The specified bucket does not exist"),
        S3Refusal::NoSuchKey => s3_error!(NoSuchKey, "The specified key does not exist."),
        S3Refusal::Exists => {
            s3_error!(
                PreconditionFailed,
                "At least one of the pre-conditions you specified did not hold"
            )
        }
        S3Refusal::Io(error) => S3Error::internal_error(error),
    }
}
