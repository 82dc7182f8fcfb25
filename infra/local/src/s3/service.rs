//! Other operations get `NotImplemented`.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use common::clock::Clock;
use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, ETag, ETagCondition, GetObjectInput, GetObjectOutput,
    HeadObjectInput, HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object as Entry,
    PutObjectInput, PutObjectOutput, StreamingBlob, Timestamp,
};
use s3s::{Body, S3Error, S3Request, S3Response, S3Result, s3_error};
use tokio::sync::mpsc;

use super::store::{Condition, Object, Store, etag};
use super::{ObjectCreated, body};

const NO_TYPE: &str = "binary/octet-stream";
/// Default and maximum.
const MAX_KEYS: i32 = 1000;

pub(super) struct Objects {
    pub(super) store: Arc<Store>,
    pub(super) created: mpsc::UnboundedSender<ObjectCreated>,
    pub(super) clock: Clock,
    pub(super) max_object_bytes: usize,
}

impl Objects {
    /// Runs to its end, even if the caller disconnects.
    async fn store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> S3Result<T> + Send + 'static,
    ) -> S3Result<T> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(S3Error::internal_error)?
    }
}

#[async_trait::async_trait]
impl s3s::S3 for Objects {
    async fn put_object(
        &self,
        mut request: S3Request<PutObjectInput>,
    ) -> S3Result<S3Response<PutObjectOutput>> {
        let condition = condition(&request.input)?;
        let bytes = body::read(&mut request, self.max_object_bytes).await?;
        let credentials = request.credentials;
        let input = request.input;
        let object = Object {
            key: input.key,
            content_type: input.content_type.unwrap_or_else(|| NO_TYPE.to_owned()),
            etag: etag(&bytes),
            size: length(&bytes)?,
            last_modified: self.clock.now().into(),
        };
        let event = ObjectCreated {
            bucket: input.bucket,
            key: object.key.clone(),
            size: object.size,
            etag: object.etag.clone(),
            access_key: credentials.map_or_else(String::new, |writer| writer.access_key),
            time: object.last_modified,
        };
        let created = self.created.clone();
        let output = PutObjectOutput {
            e_tag: Some(ETag::Strong(object.etag.clone())),
            ..Default::default()
        };
        self.store(move |store| {
            store.put(&event.bucket, object, bytes, condition)?;
            let _ = created.send(event);
            Ok(())
        })
        .await?;
        Ok(S3Response::new(output))
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
            Some(range) => part(&bytes, range).map(|(part, place)| (part, Some(place)))?,
            None => (bytes, None),
        };
        Ok(S3Response::new(GetObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(length(&bytes)?),
            content_range,
            content_type: Some(object.content_type.clone()),
            e_tag: Some(ETag::Strong(object.etag.clone())),
            last_modified: Some(last_modified(&object)),
            body: Some(StreamingBlob::from(Body::from(bytes))),
            ..Default::default()
        }))
    }

    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let HeadObjectInput { bucket, key, .. } = request.input;
        let (object, bytes) = self.store(move |store| store.get(&bucket, &key)).await?;
        Ok(S3Response::new(HeadObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(length(&bytes)?),
            content_type: Some(object.content_type.clone()),
            e_tag: Some(ETag::Strong(object.etag.clone())),
            last_modified: Some(last_modified(&object)),
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

    /// The token is the previous page's last key.
    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        if input.delimiter.is_some() || input.start_after.is_some() {
            return Err(s3_error!(NotImplemented, "The local S3 lists by prefix"));
        }
        let max_keys = input.max_keys.unwrap_or(MAX_KEYS).min(MAX_KEYS);
        let limit = usize::try_from(max_keys).map_err(|_| s3_error!(InvalidArgument))?;
        let (bucket, prefix) = (input.bucket.clone(), input.prefix.clone());
        let after = input.continuation_token.clone().unwrap_or_default();
        let list =
            move |store: &Store| store.list(&bucket, &prefix.unwrap_or_default(), &after, limit);
        let (objects, has_more) = self.store(list).await?;
        let next = objects.last().filter(|_| has_more);
        Ok(S3Response::new(ListObjectsV2Output {
            name: Some(input.bucket),
            prefix: input.prefix,
            continuation_token: input.continuation_token,
            max_keys: Some(max_keys),
            key_count: Some(i32::try_from(objects.len()).map_err(S3Error::internal_error)?),
            is_truncated: Some(has_more),
            next_continuation_token: next.map(|object| object.key.clone()),
            contents: Some(objects.iter().map(|object| entry(object)).collect()),
            ..Default::default()
        }))
    }
}

fn condition(input: &PutObjectInput) -> S3Result<Condition> {
    match (&input.if_none_match, &input.if_match) {
        (None, None) => Ok(Condition::None),
        (Some(ETagCondition::Any), None) => Ok(Condition::Missing),
        (None, Some(ETagCondition::ETag(ETag::Strong(etag)))) => Ok(Condition::Is(etag.clone())),
        (_, _) => Err(s3_error!(
            NotImplemented,
            "The conditions of a PUT are If-None-Match: * or If-Match with an ETag"
        )),
    }
}

/// Bytes and `Content-Range`; an empty object has none.
fn part(bytes: &Bytes, range: s3s::dto::Range) -> S3Result<(Bytes, String)> {
    let whole = u64::try_from(bytes.len()).map_err(S3Error::internal_error)?;
    let place = range.check(whole)?;
    if place.is_empty() {
        return Err(s3_error!(InvalidRange));
    }
    let index = |place: u64| usize::try_from(place).map_err(S3Error::internal_error);
    let part = bytes.slice(index(place.start)?..index(place.end)?);
    let last = place.end.saturating_sub(1);
    Ok((part, format!("bytes {}-{last}/{whole}", place.start)))
}

fn entry(object: &Object) -> Entry {
    Entry {
        key: Some(object.key.clone()),
        size: Some(object.size),
        e_tag: Some(ETag::Strong(object.etag.clone())),
        last_modified: Some(last_modified(object)),
        ..Default::default()
    }
}

fn length(bytes: &Bytes) -> S3Result<i64> {
    i64::try_from(bytes.len()).map_err(S3Error::internal_error)
}

fn last_modified(object: &Object) -> Timestamp {
    Timestamp::from(SystemTime::from(object.last_modified))
}
