//! Events of uploads can be late, so storage is checked where it matters.

use crate::aws::Aws;
use crate::aws::photos::{Photos, UploadTarget};
use crate::config::{ConfigError, Env};
use crate::domain::{Receipt, Source, Timestamp};
use crate::error::StoreResult;
use crate::store::receipts::Receipts;

#[derive(Clone)]
pub struct Uploads {
    photos: Photos,
    receipts: Receipts,
}

impl Uploads {
    pub fn from_env(env: &Env, aws: &Aws, receipts: Receipts) -> Result<Self, ConfigError> {
        Ok(Self {
            photos: Photos::from_env(env, aws)?,
            receipts,
        })
    }

    pub async fn reconcile(&self, mut receipt: Receipt, now: Timestamp) -> StoreResult<Receipt> {
        let awaited = matches!(receipt.source, Source::Photo { .. }) && receipt.arrived.is_none();
        if awaited
            && let Some(arrived) = self
                .photos
                .inspect(&receipt.scope, receipt.receipt_id, now)
                .await?
        {
            // The condition fails if the event has just recorded the same file.
            self.receipts
                .mark_uploaded(&receipt.scope, receipt.receipt_id, &arrived)
                .await?;
            receipt.arrived = Some(arrived);
        }
        Ok(receipt)
    }

    pub async fn reconcile_with_target(
        &self,
        receipt: Receipt,
        now: Timestamp,
    ) -> StoreResult<(Receipt, Option<UploadTarget>)> {
        let receipt = self.reconcile(receipt, now).await?;
        let target = self.upload_target(&receipt, now).await?;
        Ok((receipt, target))
    }

    pub async fn upload_target(
        &self,
        receipt: &Receipt,
        now: Timestamp,
    ) -> StoreResult<Option<UploadTarget>> {
        match (&receipt.source, receipt.arrived) {
            (
                Source::Photo {
                    content_type,
                    size_bytes,
                    ..
                },
                None,
            ) => {
                let (scope, id) = (&receipt.scope, receipt.receipt_id);
                self.photos
                    .upload_target(scope, id, *content_type, *size_bytes, now)
                    .await
                    .map(Some)
            }
            (Source::Photo { .. }, Some(_)) | (Source::Typed { .. }, _) => Ok(None),
        }
    }
}
