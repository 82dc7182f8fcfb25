//! The `receipts` table: receipts by id, and the submission of each purchase by verification code.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{Delete, Put, ReturnValuesOnConditionCheckFailure, Update};
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_attribute_value, to_item};

use super::batch::{BatchGet, BatchItems, Found};
use super::record_version::FIRST;
use super::table::Table;
use super::transaction::{self, CancellationCause, TransactionResult};
use super::{Item, StoreError, number, read_text, required, text};
use crate::aws::photos::Photos;
use crate::config::{ConfigError, Env};
use crate::domain::ids::{IdempotencyKey, ReceiptId, SubmissionId};
use crate::domain::receipt::Receipt;
use crate::domain::receipt::payload::VerificationCode;
use crate::domain::receipt::photo::StoredPhoto;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;
use crate::store::idempotency_keys::{self, IdempotencyKeys, IdempotencyRecord};

/// The partition key: scope and receipt id, or scope and purchase.
pub const KEY: &str = "id";
/// The environment variable that names the table.
pub const VARIABLE: &str = "RECEIPTS_TABLE";
/// The TTL attribute, in seconds since 1970: of receipts that no submission has.
pub const EXPIRY: &str = "expires_at";

/// From a receipt's creation to its deletion, if no submission gets it. Consumers submit within minutes.
const UNUSED_RETENTION: Duration = Duration::from_hours(30 * 24);

/// A receipt can be attached while no submission has it.
///
/// A timeline of two submissions with one receipt: the first writes its id; the second's condition fails and returns
/// the receipt.
const FREE: &str = "attribute_exists(id) AND attribute_not_exists(attached_to)";

/// A stored photo never changes, so it is recorded once.
const NOT_SEEN_YET: &str = "attribute_exists(id) AND attribute_not_exists(arrived)";

/// A photo without a readable receipt belongs to the first submission, unless that one was rejected.
///
/// A timeline of two submissions with one photo: the first writes its id; the second's condition fails and returns the
/// first's id; after that one is rejected, a third replaces it.
const FIRST_WITH_PHOTO: &str =
    "attribute_not_exists(id) OR submission_id IN (:submission, :rejected)";

/// A purchase belongs to the first submission that is accepted with it, until that one is revoked.
const UNCLAIMED_OR_OWN: &str = "attribute_not_exists(id) OR submission_id = :submission";

const READING: &str = "reading a receipt";

#[derive(Serialize, Deserialize)]
struct Stored {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    #[serde(flatten)]
    receipt: Receipt,
}

/// The receipts.
#[derive(Clone, Debug)]
pub struct Receipts {
    table: Table,
}

impl Receipts {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// Writes a new receipt and, if there is an Idempotency-Key, its record. If the key was used before, returns its
    /// record instead.
    pub async fn create(
        &self,
        receipt: &Receipt,
        request: Option<(&IdempotencyKeys, &IdempotencyKey, &str)>,
    ) -> Result<Option<IdempotencyRecord<ReceiptId>>, StoreError> {
        const ACTION: &str = "writing a receipt";
        let stored = Stored {
            id: item_key(&receipt.scope, receipt.receipt_id),
            expires_at: Some(receipt.created_at.after(UNUSED_RETENTION).as_seconds()),
            receipt: receipt.clone(),
        };
        let item = FIRST.mark(to_item(stored).map_err(StoreError::during(ACTION))?);
        let put = self.table.put(item);
        // Ids are random; should one repeat, the first receipt stays.
        let put = put.condition_expression("attribute_not_exists(id)");
        let mut items = vec![transaction::put(
            put.build().map_err(StoreError::during(ACTION))?,
        )];
        if let Some((requests, key, body_hash)) = request {
            let (body_hash, record_id) = (body_hash.to_owned(), receipt.receipt_id);
            let record = IdempotencyRecord {
                body_hash,
                record_id,
                replayed: false,
            };
            items.push(transaction::put(requests.put(
                &receipt.scope,
                key,
                &record,
                receipt.created_at,
            )?));
        }
        match transaction::write(self.table.client(), items).await? {
            TransactionResult::Committed => Ok(None),
            TransactionResult::Cancelled(reasons) => match reasons.last() {
                Some(CancellationCause::ConditionFailed(Some(item))) => {
                    idempotency_keys::read(item).map(Some)
                }
                Some(
                    CancellationCause::ConditionFailed(None)
                    | CancellationCause::Conflict
                    | CancellationCause::Throttled
                    | CancellationCause::None,
                )
                | None => Err(StoreError::new(
                    ACTION,
                    "others kept changing the same record",
                )),
            },
        }
    }

    /// A receipt of a scope; `None` if it does not exist.
    pub async fn get(&self, scope: &Scope, id: ReceiptId) -> Result<Option<Receipt>, StoreError> {
        self.table
            .get(item_key(scope, id), READING)
            .await?
            .as_ref()
            .map(read)
            .transpose()
    }

    /// The submission that was accepted with a purchase.
    pub async fn purchase(
        &self,
        scope: &Scope,
        code: &VerificationCode,
    ) -> Result<Option<SubmissionId>, StoreError> {
        self.claimant(purchase_key(scope, code), "reading a purchase")
            .await
    }

    /// The submission that first sent a photo without a readable receipt, by the digest of its bytes.
    pub async fn photo(
        &self,
        scope: &Scope,
        digest: &str,
    ) -> Result<Option<SubmissionId>, StoreError> {
        self.claimant(photo_key(scope, digest), "reading whose photo it is")
            .await
    }

    async fn claimant(
        &self,
        key: String,
        action: &'static str,
    ) -> Result<Option<SubmissionId>, StoreError> {
        let Some(item) = self.table.get(key, action).await? else {
            return Ok(None);
        };
        let id = required(read_text(&item, "submission_id"), action)?;
        id.parse().map(Some).map_err(StoreError::during(action))
    }

    /// Records a photo without a readable receipt by the digest of its bytes. Returns an earlier submission with the
    /// same bytes, if there is one. `rejected` is such a submission that no longer counts.
    pub async fn claim_photo(
        &self,
        scope: &Scope,
        digest: &str,
        submission: SubmissionId,
        rejected: Option<SubmissionId>,
        now: Timestamp,
    ) -> Result<Option<SubmissionId>, StoreError> {
        const ACTION: &str = "remembering a photo";
        let sent = self
            .table
            .put_item(claim(photo_key(scope, digest), submission, now))
            .condition_expression(FIRST_WITH_PHOTO)
            .expression_attribute_values(":submission", text(submission.to_string()))
            .expression_attribute_values(
                ":rejected",
                text(rejected.unwrap_or(submission).to_string()),
            )
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let error = match sent {
            Ok(_) => return Ok(None),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                let id = required(
                    failed
                        .item()
                        .and_then(|item| read_text(item, "submission_id")),
                    ACTION,
                )?;
                id.parse().map(Some).map_err(StoreError::during(ACTION))
            }
            Some(_) | None => Err(StoreError::new(ACTION, error)),
        }
    }

    /// Adds a receipt to a batch.
    pub(crate) fn add_to(&self, batch: &mut BatchGet, scope: &Scope, id: ReceiptId) {
        self.table.add_to(batch, item_key(scope, id));
    }

    /// A receipt among the items of a batch.
    pub(crate) fn find_in<'a>(
        &self,
        items: &'a BatchItems,
        scope: &Scope,
        id: ReceiptId,
    ) -> Found<'a> {
        self.table.find_in(items, &item_key(scope, id))
    }

    /// Records the uploaded file. False if there is no such receipt, or a file was recorded before.
    pub async fn mark_uploaded(
        &self,
        scope: &Scope,
        id: ReceiptId,
        arrived: &StoredPhoto,
    ) -> Result<bool, StoreError> {
        const ACTION: &str = "marking a receipt as uploaded";
        let update = self
            .update(scope, id)
            .update_expression("SET arrived = :arrived")
            .condition_expression(NOT_SEEN_YET)
            .expression_attribute_values(
                ":arrived",
                to_attribute_value(arrived).map_err(StoreError::during(ACTION))?,
            );
        let update = update.build().map_err(StoreError::during(ACTION))?;
        transaction::write_one(self.table.client(), transaction::update(update), ACTION).await
    }

    /// The transaction item that attaches a receipt to a submission, unless another has it.
    pub(crate) fn attach_update(
        &self,
        scope: &Scope,
        id: ReceiptId,
        submission: SubmissionId,
    ) -> Result<Update, StoreError> {
        self.update(scope, id)
            .update_expression(format!("SET attached_to = :submission REMOVE {EXPIRY}"))
            .condition_expression(FREE)
            .expression_attribute_values(":submission", text(submission.to_string()))
            .build()
            .map_err(StoreError::during("attaching a receipt"))
    }

    fn update(&self, scope: &Scope, id: ReceiptId) -> UpdateBuilder {
        self.table.update(item_key(scope, id))
    }

    /// The transaction item that gives a purchase to a submission, unless another has it.
    pub(crate) fn purchase_put(
        &self,
        scope: &Scope,
        code: &VerificationCode,
        submission: SubmissionId,
        now: Timestamp,
    ) -> Result<Put, StoreError> {
        self.table
            .put(claim(purchase_key(scope, code), submission, now))
            .condition_expression(UNCLAIMED_OR_OWN)
            .expression_attribute_values(":submission", text(submission.to_string()))
            .build()
            .map_err(StoreError::during("claiming a purchase"))
    }

    /// Deletes all receipts of a scope with their photos, and returns how many. For operators: reads the whole table.
    pub async fn clear(&self, scope: &Scope, photos: &Photos) -> Result<u64, StoreError> {
        const ACTION: &str = "deleting receipts";
        let change = async |item: Item| {
            // A photo or a purchase has another key, and no file.
            let id = read_text(&item, KEY)
                .and_then(Scope::split_key)
                .and_then(|(_, id)| id.parse().ok());
            if let Some(id) = id {
                // The photo first: without its record nobody would find it.
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

impl Receipts {
    /// The transaction item that lets a revoked submission's purchase be entered again.
    pub(crate) fn purchase_delete(
        &self,
        scope: &Scope,
        code: &VerificationCode,
        submission: SubmissionId,
    ) -> Result<Delete, StoreError> {
        self.table
            .delete(purchase_key(scope, code))
            .condition_expression(UNCLAIMED_OR_OWN)
            .expression_attribute_values(":submission", text(submission.to_string()))
            .build()
            .map_err(StoreError::during("releasing a purchase"))
    }
}

pub(crate) fn read(item: &Item) -> Result<Receipt, StoreError> {
    let stored = FIRST.check(item, READING).and_then(|()| {
        from_item(item.clone())
            .map(|stored: Stored| stored.receipt)
            .map_err(StoreError::during(READING))
    });
    stored.map_err(|error| {
        let key = read_text(item, KEY).unwrap_or_default().to_owned();
        StoreError::of_record("receipts", key)(error)
    })
}

/// The record that assigns a photo or a purchase to a submission.
fn claim(key: String, submission: SubmissionId, now: Timestamp) -> Item {
    let item = Item::from([
        (KEY.to_owned(), text(key)),
        ("submission_id".to_owned(), text(submission.to_string())),
        ("claimed_at".to_owned(), number(now.as_millis())),
    ]);
    FIRST.mark(item)
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
