use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::MAX_CONCURRENCY;
use crate::aws::Aws;
use crate::config::{ConfigError, Env};
use crate::domain::receipt::photo::{MAGIC_BYTES, MAX_BYTES};
use crate::domain::{PhotoType, ReceiptId, Scope, StoredPhoto, Timestamp};
use crate::error::{During, StoreError, StoreResult};

pub const VARIABLE: &str = "PHOTOS_BUCKET";
pub const UPLOAD_LIFETIME: Duration = Duration::from_mins(15);
pub const LINK_LIFETIME: Duration = Duration::from_mins(10);

#[derive(Clone)]
pub struct Photos {
    aws: Aws,
    bucket: String,
}

/// The client's timeouts end with the head of a reply.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The holder can upload, so it does not print.
#[derive(Clone, PartialEq, Eq)]
pub struct UploadTarget {
    /// Presigned, for one PUT.
    pub url: String,
    pub headers: BTreeMap<String, String>,
    pub expires_at: Timestamp,
}

impl Photos {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self {
            aws: aws.clone(),
            bucket: env.required(VARIABLE)?,
        })
    }

    /// Type, size and "only if there is none" are signed.
    pub async fn upload_target(
        &self,
        scope: &Scope,
        id: ReceiptId,
        photo_type: PhotoType,
        size_bytes: u64,
        now: Timestamp,
    ) -> StoreResult<UploadTarget> {
        const ACTION: &str = "signing an upload";
        let size = i64::try_from(size_bytes).during(ACTION)?;
        let lifetime = PresigningConfig::expires_in(UPLOAD_LIFETIME).during(ACTION)?;
        let signed = self
            .aws
            .s3()
            .put_object()
            .bucket(&self.bucket)
            .key(object_key(scope, id))
            .content_type(photo_type.as_str())
            .content_length(size)
            .if_none_match("*")
            .presigned(lifetime)
            .await
            .during(ACTION)?;
        Ok(UploadTarget {
            url: signed.uri().to_owned(),
            headers: signed
                .headers()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            expires_at: now.after(UPLOAD_LIFETIME),
        })
    }

    /// S3 answers "forbidden" for a missing file unless the bucket may be listed.
    pub async fn inspect(
        &self,
        scope: &Scope,
        id: ReceiptId,
        now: Timestamp,
    ) -> StoreResult<Option<StoredPhoto>> {
        const ACTION: &str = "looking at a photo";
        let range = format!("bytes=0-{}", MAGIC_BYTES - 1);
        let sent = self.get(scope, id).range(range).send().await;
        let Some(object) = found(sent, ACTION)? else {
            return Ok(None);
        };
        let Object::Here(object) = object else {
            return Ok(Some(StoredPhoto {
                bytes: 0,
                photo_type: None,
                seen_at: now,
            }));
        };
        let whole = object
            .content_range()
            .and_then(|range| range.rsplit_once('/')?.1.parse().ok());
        let given = object
            .content_length()
            .and_then(|length| u64::try_from(length).ok());
        let bytes = whole
            .or(given)
            .ok_or_else(|| StoreError::new(ACTION, "the object has no length"))?;
        let first = collected(object.body, ACTION).await?;
        Ok(Some(StoredPhoto {
            bytes,
            photo_type: PhotoType::from_magic_bytes(&first),
            seen_at: now,
        }))
    }

    pub async fn read(&self, scope: &Scope, id: ReceiptId) -> StoreResult<Option<Vec<u8>>> {
        const ACTION: &str = "reading a photo";
        let sent = self.get(scope, id).send().await;
        let Some(Object::Here(object)) = found(sent, ACTION)? else {
            return Ok(None);
        };
        let length = object
            .content_length()
            .and_then(|length| u64::try_from(length).ok());
        if length.is_none_or(|length| length > MAX_BYTES) {
            return Ok(None);
        }
        collected(object.body, ACTION).await.map(Some)
    }

    pub async fn delete(&self, scope: &Scope, id: ReceiptId) -> StoreResult<()> {
        let delete = self
            .aws
            .s3()
            .delete_object()
            .bucket(&self.bucket)
            .key(object_key(scope, id));
        delete.send().await.map(drop).during("deleting a photo")
    }

    /// Returns the number deleted; 0 when none is left.
    pub async fn delete_some(&self, scope: &Scope) -> StoreResult<u64> {
        const ACTION: &str = "deleting the photos of a campaign";
        /// Takes about a second.
        const MAX_OBJECTS: i32 = 400;
        let list = self
            .aws
            .s3()
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(prefix(scope))
            .max_keys(MAX_OBJECTS);
        let listed = list.send().await.during(ACTION)?;
        let deletions = listed
            .contents
            .unwrap_or_default()
            .into_iter()
            .filter_map(|object| object.key)
            .map(|key| {
                let delete = self.aws.s3().delete_object().bucket(&self.bucket).key(key);
                async move { delete.send().await.during(ACTION) }
            });
        let deletions = stream::iter(deletions).buffer_unordered(MAX_CONCURRENCY);
        deletions
            .try_fold(0, async |deleted, _| Ok(deleted + 1))
            .await
    }

    pub async fn link(&self, scope: &Scope, id: ReceiptId) -> StoreResult<String> {
        const ACTION: &str = "signing a link to a photo";
        let lifetime = PresigningConfig::expires_in(LINK_LIFETIME).during(ACTION)?;
        let signed = self
            .get(scope, id)
            .presigned(lifetime)
            .await
            .during(ACTION)?;
        Ok(signed.uri().to_owned())
    }

    fn get(
        &self,
        scope: &Scope,
        id: ReceiptId,
    ) -> aws_sdk_s3::operation::get_object::builders::GetObjectFluentBuilder {
        self.aws
            .s3()
            .get_object()
            .bucket(&self.bucket)
            .key(object_key(scope, id))
    }
}

enum Object {
    Here(Box<GetObjectOutput>),
    Empty,
}

fn found(
    sent: Result<GetObjectOutput, SdkError<GetObjectError>>,
    action: &'static str,
) -> StoreResult<Option<Object>> {
    match sent {
        Ok(object) => Ok(Some(Object::Here(Box::new(object)))),
        Err(error) => match error.code() {
            Some("NoSuchKey") => Ok(None),
            Some("InvalidRange") => Ok(Some(Object::Empty)),
            Some(_) | None => Err(StoreError::new(action, error)),
        },
    }
}

async fn collected(body: ByteStream, action: &'static str) -> StoreResult<Vec<u8>> {
    let bytes = tokio::time::timeout(READ_TIMEOUT, body.collect()).await;
    let bytes = bytes.during(action)?.during(action)?;
    Ok(bytes.to_vec())
}

/// `campaign/environment/id`.
pub fn object_key(scope: &Scope, id: ReceiptId) -> String {
    format!("{}{id}", prefix(scope))
}

fn prefix(scope: &Scope) -> String {
    format!("{}/{}/", scope.campaign, scope.environment)
}

pub fn receipt_of(object_key: &str) -> Option<(Scope, ReceiptId)> {
    let (campaign, rest) = object_key.split_once('/')?;
    let (environment, id) = rest.split_once('/')?;
    let scope = Scope {
        campaign: campaign.parse().ok()?,
        environment: environment.parse().ok()?,
    };
    Some((scope, id.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Environment;

    #[test]
    fn an_objects_key_gives_its_receipt_back() {
        let scope = Scope {
            campaign: "demo".parse().expect("a slug"),
            environment: Environment::Live,
        };
        let id = ReceiptId::from_random([7; 16]);
        assert_eq!(receipt_of(&object_key(&scope, id)), Some((scope, id)));
        for other in [
            "",
            "demo",
            "demo/live",
            "demo/live/x",
            "demo/prod/x",
            "a/demo/live/x",
            "demo//live",
        ] {
            assert_eq!(receipt_of(other), None, "{other}");
        }
    }
}
