use std::time::Duration;

use super::batch::Place;
use super::transaction::{self, CancellationCause};
use super::write::{EXPIRY, Sent, Write};
use super::{During, Item, StoreError, StoreResult, from_record, read_text, required};
use crate::aws::photos::Photos;
use crate::domain::{
    IdempotencyKey, Receipt, ReceiptId, Scope, StoredPhoto, SubmissionId, Timestamp,
    VerificationCode,
};
use crate::store::idempotency_keys::{self, IdempotencyKeys, IdempotencyRecord};

pub const KEY: &str = "id";
pub const VARIABLE: &str = "RECEIPTS_TABLE";

/// Consumers submit within minutes.
const UNUSED_RETENTION: Duration = Duration::from_hours(30 * 24);

/// A timeline of two submissions with one receipt: the first writes its id; the second's condition
/// fails and returns the receipt.
const FREE: &str = "attribute_exists(id) AND attribute_not_exists(attached_to)";

/// A stored photo never changes, so it is recorded once.
const NOT_SEEN_YET: &str = "attribute_exists(id) AND attribute_not_exists(arrived)";

/// A photo without a readable receipt belongs to the first submission, unless that was rejected.
///
/// A timeline of two submissions with one photo: the first writes its id; the second's condition
/// fails and returns it; once the first is rejected, a third replaces it.
const FIRST_WITH_PHOTO: &str =
    "attribute_not_exists(id) OR submission_id IN (:submission, :rejected)";

/// A purchase belongs to the first submission accepted with it, until that is revoked.
const FREE_OR_OWN: &str = "attribute_not_exists(id) OR submission_id = :submission";

const READING: &str = "reading a receipt";

const SUBMISSION: &str = "submission_id";

store! {
    Receipts
}

impl Receipts {
    pub async fn create(
        &self,
        receipt: &Receipt,
        request: Option<(&IdempotencyKeys, &IdempotencyKey, &str)>,
    ) -> StoreResult<Option<IdempotencyRecord<ReceiptId>>> {
        const ACTION: &str = "writing a receipt";
        let key = item_key(&receipt.scope, receipt.receipt_id);
        let put = self.table.put(key, receipt);
        let put = put.expires(receipt.created_at.after(UNUSED_RETENTION));
        // Ids are random; should one repeat, the first receipt stays.
        let mut items = vec![put.when_absent(KEY)];
        if let Some((keys, key, body_hash)) = request {
            let record = IdempotencyRecord {
                body_hash: body_hash.to_owned(),
                record_id: receipt.receipt_id,
                replayed: false,
            };
            items.push(keys.put(&receipt.scope, key, &record, receipt.created_at));
        }
        let Err(reasons) = transaction::write(items).await? else {
            return Ok(None);
        };
        match reasons.get(1) {
            Some(CancellationCause::ConditionFailed(Some(item))) => {
                idempotency_keys::read(item).map(Some)
            }
            Some(_) | None => Err(StoreError::new(
                ACTION,
                "others kept changing the same record",
            )),
        }
    }

    pub async fn get(&self, scope: &Scope, id: ReceiptId) -> StoreResult<Option<Receipt>> {
        self.table
            .get(item_key(scope, id), READING)
            .await?
            .as_ref()
            .map(read)
            .transpose()
    }

    pub async fn purchase(
        &self,
        scope: &Scope,
        code: &VerificationCode,
    ) -> StoreResult<Option<SubmissionId>> {
        self.owner_of(purchase_key(scope, code), "reading a purchase")
            .await
    }

    pub async fn photo(&self, scope: &Scope, digest: &str) -> StoreResult<Option<SubmissionId>> {
        self.owner_of(photo_key(scope, digest), "reading whose photo it is")
            .await
    }

    async fn owner_of(
        &self,
        key: String,
        action: &'static str,
    ) -> StoreResult<Option<SubmissionId>> {
        let item = self.table.get(key, action).await?;
        item.map(|item| owner(&item, action)).transpose()
    }

    pub async fn claim_photo(
        &self,
        scope: &Scope,
        digest: &str,
        submission: SubmissionId,
        rejected: Option<SubmissionId>,
        now: Timestamp,
    ) -> StoreResult<Option<SubmissionId>> {
        const ACTION: &str = "remembering a photo";
        let sent = self
            .owned(photo_key(scope, digest), submission, now)
            .when(FIRST_WITH_PHOTO)
            .bind(":submission", submission)
            .bind(":rejected", rejected.unwrap_or(submission))
            .send_and_read(ACTION)
            .await?;
        match sent {
            Sent::Written(_) => Ok(None),
            Sent::Refused(found) => owner(&found.unwrap_or_default(), ACTION).map(Some),
        }
    }

    pub(crate) fn place(&self, scope: &Scope, id: ReceiptId) -> Place {
        self.table.place(item_key(scope, id))
    }

    pub async fn mark_uploaded(
        &self,
        scope: &Scope,
        id: ReceiptId,
        arrived: &StoredPhoto,
    ) -> StoreResult<bool> {
        let update = self.update(scope, id).set("arrived", arrived);
        let write = update.when(NOT_SEEN_YET);
        transaction::write_one(write, "marking a receipt as uploaded").await
    }

    pub(crate) fn attach(&self, scope: &Scope, id: ReceiptId, submission: SubmissionId) -> Write {
        let update = self.update(scope, id).set("attached_to", submission);
        update.remove([EXPIRY]).when(FREE)
    }

    fn update(&self, scope: &Scope, id: ReceiptId) -> Write {
        self.table.update(item_key(scope, id))
    }

    pub(crate) fn take_purchase(
        &self,
        scope: &Scope,
        code: &VerificationCode,
        submission: SubmissionId,
        now: Timestamp,
    ) -> Write {
        self.owned(purchase_key(scope, code), submission, now)
            .when(FREE_OR_OWN)
            .bind(":submission", submission)
    }

    pub(crate) fn release_purchase(
        &self,
        scope: &Scope,
        code: &VerificationCode,
        submission: SubmissionId,
    ) -> Write {
        self.table
            .delete(purchase_key(scope, code))
            .when(FREE_OR_OWN)
            .bind(":submission", submission)
    }

    fn owned(&self, key: String, submission: SubmissionId, now: Timestamp) -> Write {
        let put = self.table.put_item(key, Item::new());
        put.set(SUBMISSION, submission).set("claimed_at", now)
    }

    pub async fn clear(&self, scope: &Scope, photos: &Photos) -> StoreResult<u64> {
        const ACTION: &str = "deleting receipts";
        let change = async |item: Item| {
            // Photos and purchases have other keys, and no file.
            let id = read_text(&item, KEY)
                .and_then(Scope::split_key)
                .and_then(|(_, id)| id.parse().ok());
            if let Some(id) = id {
                // The photo first: without its record it could not be found.
                photos.delete(scope, id).await?;
            }
            self.table
                .delete_found(&item, ACTION)
                .await
                .map(|deleted| deleted && id.is_some())
        };
        self.table.change_each(scope, ACTION, change).await
    }
}

pub(crate) fn read(item: &Item) -> StoreResult<Receipt> {
    let key = read_text(item, KEY).unwrap_or_default().to_owned();
    from_record(item.clone(), READING).map_err(StoreError::of_record("receipts", key))
}

fn owner(item: &Item, action: &'static str) -> StoreResult<SubmissionId> {
    let id = required(read_text(item, SUBMISSION), action)?;
    id.parse().during(action)
}

fn item_key(scope: &Scope, id: ReceiptId) -> String {
    scope.key(id)
}

fn photo_key(scope: &Scope, digest: &str) -> String {
    scope.key(format_args!("photo#{digest}"))
}

fn purchase_key(scope: &Scope, code: &VerificationCode) -> String {
    scope.key(format_args!("purchase#{}", code.as_str()))
}
