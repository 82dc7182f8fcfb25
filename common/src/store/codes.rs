//! The `codes` table: who holds or redeemed a code, and the imported codes.
//!
//! No code stands here in the open: a minted one is named by its serial number, an imported one by
//! its keyed digest, a sentinel by its digest together with the phone.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, ReturnValuesOnConditionCheckFailure, Update};
use serde_dynamo::aws_sdk_dynamodb_1::from_attribute_value;
use sha2::{Digest, Sha256};

use super::batch::{BatchGet, BatchItems, Found};
use super::record_version::{self, FIRST};
use super::{Item, StoreError, number, read_number, read_text, required, text, transaction};
use crate::config::{ConfigError, Env};
use crate::domain::cipher::SecretKey;
use crate::domain::codebook::CodeBook;
use crate::domain::hex::hex;
use crate::domain::ids::SubmissionId;
use crate::domain::phone::Phone;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// The partition key: scope and what names the code in it.
pub const KEY: &str = "code";
/// The environment variable that names the table.
pub const VARIABLE: &str = "CODES_TABLE";

/// A minted code or a sentinel can be taken while nobody has it and it is not voided.
///
/// A timeline of two phones with one code: the first writes its submission's id; the second's
/// condition fails and brings back who was first.
const FREE: &str = "attribute_not_exists(submission_id) AND attribute_not_exists(voided_at)";

/// An imported code can be taken while, besides, it is there and of the batch that was expected. The
/// batch carries the prize, so a wrong expectation must not pass.
const IMPORTED_AND_FREE: &str =
    "batch_name = :batch AND attribute_not_exists(submission_id) AND attribute_not_exists(voided_at)";

/// Names a code's record inside its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeKey {
    /// A minted code, by serial number.
    Minted(u64),
    /// An imported code, by digest, in the batch that it is expected to be of.
    Imported {
        /// From [`CodeBook::digest`](crate::domain::codebook::CodeBook::digest).
        digest: String,
        /// The batch whose prize the submission was given.
        batch: String,
    },
    /// A code that a partner judges, by digest.
    Partner(String),
    /// A sentinel of one phone: a sentinel gives its outcome to every phone, so phones do not compete.
    Sentinel(String),
}

impl CodeKey {
    /// The name of a sentinel sent by a phone.
    pub fn sentinel(identity: &str, phone: &Phone) -> Self {
        let digest = Sha256::new().chain_update(phone.expose_e164()).chain_update(identity).finalize();
        Self::Sentinel(hex(&digest))
    }

    /// The record's key.
    pub fn key(&self, scope: &Scope) -> String {
        match self {
            Self::Minted(serial) => scope.key(format_args!("minted#{serial}")),
            Self::Imported { digest, .. } => scope.key(format_args!("imported#{digest}")),
            Self::Partner(digest) => scope.key(format_args!("partner#{digest}")),
            Self::Sentinel(digest) => scope.key(format_args!("sentinel#{digest}")),
        }
    }

    /// The name that a record's key was made from; an imported code's batch is in its record alone.
    pub fn parse(scope: &Scope, key: &str) -> Option<Self> {
        let (kind, rest) = key.strip_prefix(&scope.key(""))?.split_once('#')?;
        match kind {
            "minted" => rest.parse().ok().map(Self::Minted),
            "imported" => Some(Self::Imported { digest: rest.to_owned(), batch: String::new() }),
            "partner" => Some(Self::Partner(rest.to_owned())),
            "sentinel" => Some(Self::Sentinel(rest.to_owned())),
            _ => None,
        }
    }
}

/// What the table says of a code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRecord {
    /// Who has it.
    pub claim: Option<Claim>,
    /// An imported code's batch.
    pub batch: Option<String>,
    /// Withdrawn one by one.
    pub voided: bool,
}

/// Who has a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose it is.
    pub phone: Phone,
    /// The submission that has it.
    pub submission_id: SubmissionId,
    /// Redeemed by an accepted submission; held while the submission is not settled.
    pub redeemed: bool,
}

/// The table.
#[derive(Clone, Debug)]
pub struct Codes {
    client: Client,
    table: String,
}

impl Codes {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { client: client.clone(), table: env.required(VARIABLE)? })
    }

    /// The piece of a transaction that gives a code to a submission, unless somebody has it.
    pub(crate) fn claim(
        &self,
        scope: &Scope,
        name: &CodeKey,
        claim: &Claim,
        now: Timestamp,
    ) -> Result<Update, StoreError> {
        let mut update = self
            .update(name.key(scope))
            .update_expression(format!(
                "SET phone = :phone, submission_id = :id, redeemed = :redeemed, claimed_at = :now, {}",
                record_version::SET
            ))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_values(":phone", text(claim.phone.expose_e164()))
            .expression_attribute_values(":id", text(claim.submission_id.to_string()))
            .expression_attribute_values(":redeemed", AttributeValue::Bool(claim.redeemed))
            .expression_attribute_values(":now", number(now.as_millis()));
        update = match name {
            CodeKey::Minted(_) | CodeKey::Partner(_) | CodeKey::Sentinel(_) => {
                update.condition_expression(FREE)
            }
            CodeKey::Imported { batch, .. } => update
                .condition_expression(IMPORTED_AND_FREE)
                .expression_attribute_values(":batch", text(batch)),
        };
        update.build().map_err(StoreError::during("claiming a code"))
    }

    /// The piece of a transaction that makes a held code a redeemed one.
    pub(crate) fn redeem(&self, code_key: &str, holder: SubmissionId) -> Result<Update, StoreError> {
        self.update(code_key)
            .update_expression("SET redeemed = :yes")
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":yes", AttributeValue::Bool(true))
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("redeeming a code"))
    }

    /// The piece of a transaction that frees the code of a rejected submission.
    pub(crate) fn free(&self, code_key: &str, holder: SubmissionId) -> Result<Update, StoreError> {
        self.update(code_key)
            .update_expression("REMOVE phone, submission_id, redeemed, claimed_at")
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("freeing a code"))
    }

    /// The piece of a transaction that fails unless a submission holds or redeemed the code.
    pub(crate) fn check_claim(
        &self,
        scope: &Scope,
        name: &CodeKey,
        holder: SubmissionId,
    ) -> Result<ConditionCheck, StoreError> {
        ConditionCheck::builder()
            .table_name(&self.table)
            .key(KEY, text(name.key(scope)))
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("checking who has a code"))
    }

    fn update(&self, key: impl Into<String>) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
        Update::builder()
            .table_name(&self.table)
            .key(KEY, text(key))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// Adds a code's record to what a batch reads.
    pub(crate) fn add_to(&self, batch: &mut BatchGet, scope: &Scope, name: &CodeKey) {
        batch.add(&self.table, KEY, name.key(scope));
    }

    /// A code's record among the items of a batch.
    pub(crate) fn find_in<'a>(&self, items: &'a BatchItems, scope: &Scope, name: &CodeKey) -> Found<'a> {
        items.find(&self.table, KEY, &name.key(scope))
    }

    /// A code's record; an imported code that was never imported has none.
    ///
    /// # Errors
    /// When the table does not answer, or the record cannot be read.
    pub async fn get(&self, scope: &Scope, name: &CodeKey) -> Result<Option<CodeRecord>, StoreError> {
        let reply = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(KEY, text(name.key(scope)))
            .consistent_read(true)
            .send()
            .await
            .map_err(StoreError::during("reading a code"))?;
        reply.item.as_ref().map(read).transpose()
    }

    /// Stores an imported code. False when it was imported before: it then keeps its batch, and whoever
    /// has it.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn import(&self, scope: &Scope, name: &CodeKey, batch: &str) -> Result<bool, StoreError> {
        const ACTION: &str = "importing a code";
        let update = self
            .update(name.key(scope))
            .update_expression(format!("SET batch_name = :batch, {}", record_version::SET))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .condition_expression("attribute_not_exists(batch_name)")
            .expression_attribute_values(":batch", text(batch));
        let update = update.build().map_err(StoreError::during(ACTION))?;
        transaction::write_one(&self.client, transaction::update(update), ACTION).await
    }

    /// A scope's code book as the first release kept it in this table, its keys in clear.
    ///
    /// # Errors
    /// When the table does not answer, or the record cannot be read.
    pub async fn book_of_first_release(&self, scope: &Scope) -> Result<Option<CodeBook>, StoreError> {
        const ACTION: &str = "reading a code book of the first release";
        let get = self.client.get_item().table_name(&self.table).key(KEY, text(first_book_key(scope)));
        let reply = get.consistent_read(true).send().await.map_err(StoreError::during(ACTION))?;
        let Some(item) = reply.item else { return Ok(None) };
        let key = |name| {
            let bytes =
                item.get(name).and_then(|value| value.as_b().ok()).map(|blob| blob.as_ref().try_into());
            required(bytes.and_then(Result::ok), ACTION).map(SecretKey::from_random)
        };
        let batches = required(item.get("batches"), ACTION)?.clone();
        Ok(Some(CodeBook {
            minting_keys: vec![key("minting_key")?],
            digest_key: key("digest_key")?,
            symbols: required(read_number(&item, "symbols"), ACTION)?,
            minted: required(read_number(&item, "minted"), ACTION)?,
            batches: from_attribute_value(batches).map_err(StoreError::during(ACTION))?,
        }))
    }

    /// Deletes what [`Self::book_of_first_release`] reads.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn delete_book_of_first_release(&self, scope: &Scope) -> Result<(), StoreError> {
        let delete = self.client.delete_item().table_name(&self.table).key(KEY, text(first_book_key(scope)));
        delete.send().await.map(drop).map_err(StoreError::during("deleting a code book of the first release"))
    }

    /// Withdraws one code, minted or imported. Whoever has it keeps it.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn void(&self, scope: &Scope, name: &CodeKey, now: Timestamp) -> Result<(), StoreError> {
        const ACTION: &str = "voiding a code";
        let update = self
            .update(name.key(scope))
            .update_expression(format!(
                "SET voided_at = if_not_exists(voided_at, :now), {}",
                record_version::SET
            ))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_values(":now", number(now.as_millis()));
        let update = update.build().map_err(StoreError::during(ACTION))?;
        transaction::write_one(&self.client, transaction::update(update), ACTION).await.map(drop)
    }
}

/// Reads a code's record.
pub(crate) fn read(item: &Item) -> Result<CodeRecord, StoreError> {
    const ACTION: &str = "reading a code";
    FIRST.check(item, ACTION)?;
    let claim = match read_text(item, "submission_id") {
        None => None,
        Some(id) => Some(Claim {
            submission_id: id.parse().map_err(StoreError::during(ACTION))?,
            phone: required(read_text(item, "phone"), ACTION)?.parse().map_err(StoreError::during(ACTION))?,
            redeemed: item.get("redeemed").and_then(|value| value.as_bool().ok()).copied().unwrap_or(false),
        }),
    };
    Ok(CodeRecord {
        claim,
        batch: read_text(item, "batch_name").map(str::to_owned),
        voided: item.contains_key("voided_at"),
    })
}

fn first_book_key(scope: &Scope) -> String {
    scope.key("book")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::scope::Environment;

    #[test]
    fn a_records_key_gives_its_name_back() {
        let scope = |environment| Scope { campaign: "demo".parse().expect("a slug"), environment };
        let (test, live) = (scope(Environment::Test), scope(Environment::Live));
        let imported = CodeKey::Imported { digest: "d1".to_owned(), batch: String::new() };
        for name in [
            CodeKey::Minted(7),
            imported,
            CodeKey::Partner("d3".to_owned()),
            CodeKey::Sentinel("d2".to_owned()),
        ] {
            assert_eq!(CodeKey::parse(&test, &name.key(&test)), Some(name.clone()));
            assert_eq!(CodeKey::parse(&live, &name.key(&test)), None);
        }
        assert_eq!(CodeKey::parse(&test, &test.key("other#7")), None);
    }
}
