//! The upload of a receipt's photo: still to come, or there already. The event that tells of it can be
//! late, so where it matters storage itself is looked at.

use crate::aws::Aws;
use crate::aws::photos::{Photos, UploadTarget};
use crate::config::{ConfigError, Env};
use crate::domain::receipt::{Receipt, Source};
use crate::domain::timestamp::Timestamp;
use crate::store::StoreError;
use crate::store::receipts::Receipts;

/// Storage together with the receipts that it belongs to.
#[derive(Clone)]
pub struct Uploads {
    photos: Photos,
    receipts: Receipts,
}

impl Uploads {
    /// The bucket that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, aws: &Aws, receipts: Receipts) -> Result<Self, ConfigError> {
        Ok(Self { photos: Photos::from_env(env, aws)?, receipts })
    }

    /// The receipt as it is in truth: a photo in storage that nobody has told of yet is written down.
    ///
    /// # Errors
    /// When storage or the table does not answer.
    pub async fn seen(&self, mut receipt: Receipt, now: Timestamp) -> Result<Receipt, StoreError> {
        let awaited = matches!(receipt.source, Source::Photo { .. }) && receipt.arrived.is_none();
        if awaited && let Some(arrived) = self.photos.look(&receipt.scope, receipt.receipt_id, now).await? {
            // Refused means that the event was written down in between: of the same file.
            self.receipts.mark_uploaded(&receipt.scope, receipt.receipt_id, &arrived).await?;
            receipt.arrived = Some(arrived);
        }
        Ok(receipt)
    }

    /// The receipt as it is in truth and, while its photo is still to come, a fresh target for it.
    ///
    /// # Errors
    /// When storage or the table does not answer.
    pub async fn expect(
        &self,
        receipt: Receipt,
        now: Timestamp,
    ) -> Result<(Receipt, Option<UploadTarget>), StoreError> {
        let receipt = self.seen(receipt, now).await?;
        let target = self.target(&receipt, now).await?;
        Ok((receipt, target))
    }

    /// A target for a photo that is still to come.
    ///
    /// # Errors
    /// When it cannot be signed.
    pub async fn target(
        &self,
        receipt: &Receipt,
        now: Timestamp,
    ) -> Result<Option<UploadTarget>, StoreError> {
        match (&receipt.source, receipt.arrived) {
            (Source::Photo { content_type, size_bytes, .. }, None) => {
                let (scope, id) = (&receipt.scope, receipt.receipt_id);
                self.photos.upload_target(scope, id, *content_type, *size_bytes, now).await.map(Some)
            }
            (Source::Photo { .. }, Some(_)) | (Source::Typed { .. }, _) => Ok(None),
        }
    }
}
