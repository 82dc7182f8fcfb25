//! The `codes` table: the submissions that hold or have redeemed a code, and the imported codes.
//!
//! The table holds no code in clear: the key of a minted code is its serial number, of an imported code its keyed
//! digest, of a sentinel a digest of it and the phone.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ConditionCheck, Delete, Update};
use futures_util::future::try_join_all;
use sha2::{Digest, Sha256};

use super::batch::{BatchGet, BatchItems, Found};
use super::record_version::{self, FIRST};
use super::table::Table;
use super::{Item, StoreError, number, read_text, required, text, transaction};
use crate::config::{ConfigError, Env};
use crate::domain::entrant_id::EntrantId;
use crate::domain::ids::SubmissionId;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// The partition key: scope and [`CodeKey`].
pub const KEY: &str = "code";
/// The environment variable that names the table.
pub const VARIABLE: &str = "CODES_TABLE";

const READING: &str = "reading a code";

/// A code, unless imported, can be claimed while no submission has it.
///
/// A timeline of two phones with one code: the first writes its submission's id; the second's condition fails and
/// returns the first's.
const FREE: &str = "attribute_not_exists(submission_id)";

/// An imported code also needs a record with the expected batch: the batch decides the prize.
const IMPORTED_AND_FREE: &str = "batch_name = :batch AND attribute_not_exists(submission_id)";

/// Takes a code from its submission.
const REMOVE_CLAIM: &str = "REMOVE entrant_id, submission_id, redeemed, claimed_at";

/// Stands for the holder of a code whose submission was revoked. No phone has this digest, so the code counts as used for
/// everyone.
const NOBODY: &str = "revoked";

/// The key of a code's record in its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeKey {
    /// A minted code, by its serial number.
    Minted(u64),
    /// A code printed elsewhere.
    Imported {
        /// From [`CodeBook::digest`](crate::domain::codebook::CodeBook::digest).
        digest: String,
        /// The expected batch. Not part of the record's key.
        batch: String,
    },
    /// Digest of a code that a partner verifies.
    Partner(String),
    /// Digest of a sentinel and an entrant: sentinels work for every phone, so phones do not compete.
    Sentinel(String),
}

impl CodeKey {
    /// The key of an entrant's sentinel.
    pub fn sentinel(identity: &str, entrant: &EntrantId) -> Self {
        let digest = Sha256::new()
            .chain_update(entrant.as_str())
            .chain_update(identity)
            .finalize();
        Self::Sentinel(hex::encode(digest))
    }

    /// Whether both keys name the same record, whatever batch they expect.
    pub fn is_same_record(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Imported { digest, .. }, Self::Imported { digest: other, .. }) => {
                digest == other
            }
            (Self::Minted(_) | Self::Imported { .. } | Self::Partner(_) | Self::Sentinel(_), _) => {
                self == other
            }
        }
    }

    /// The key as stored in the table.
    pub fn in_scope(&self, scope: &Scope) -> String {
        match self {
            Self::Minted(serial) => scope.key(format_args!("minted#{serial}")),
            Self::Imported { digest, .. } => scope.key(format_args!("imported#{digest}")),
            Self::Partner(digest) => scope.key(format_args!("partner#{digest}")),
            Self::Sentinel(digest) => scope.key(format_args!("sentinel#{digest}")),
        }
    }

    /// Parses a stored key. An imported code's batch stays empty: only its record has it.
    pub fn parse(scope: &Scope, key: &str) -> Option<Self> {
        let (kind, rest) = key.strip_prefix(&scope.key(""))?.split_once('#')?;
        match kind {
            "minted" => rest.parse().ok().map(Self::Minted),
            "imported" => Some(Self::Imported {
                digest: rest.to_owned(),
                batch: String::new(),
            }),
            "partner" => Some(Self::Partner(rest.to_owned())),
            "sentinel" => Some(Self::Sentinel(rest.to_owned())),
            _ => None,
        }
    }
}

/// The record of a code that was used or imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRecord {
    /// The claim on the code, if there is one.
    pub claim: Option<Claim>,
    /// The batch of an imported code.
    pub batch: Option<String>,
}

/// A submission's claim on a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The entrant of the submission.
    pub entrant: EntrantId,
    /// The submission that holds or has redeemed the code.
    pub submission_id: SubmissionId,
    /// True once the submission is accepted; false while it only holds the code.
    pub redeemed: bool,
}

/// The result of looking up a code's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeLookup {
    /// The code needs no record, and none is known to block it.
    #[default]
    NoRecord,
    /// The code needs a record and has none.
    RecordMissing,
    /// The record.
    Found(CodeRecord),
}

impl CodeLookup {
    /// The result for a record, or for its absence.
    pub fn new(key: &CodeKey, record: Option<CodeRecord>) -> Self {
        match (key, record) {
            (_, Some(record)) => Self::Found(record),
            (CodeKey::Imported { .. }, None) => Self::RecordMissing,
            (CodeKey::Minted(_) | CodeKey::Partner(_) | CodeKey::Sentinel(_), None) => {
                Self::NoRecord
            }
        }
    }

    /// The batch in an imported code's record.
    pub fn imported_batch(&self) -> Option<&str> {
        match self {
            Self::Found(record) => record.batch.as_deref(),
            Self::NoRecord | Self::RecordMissing => None,
        }
    }
}

/// The codes.
#[derive(Clone, Debug)]
pub struct Codes {
    table: Table,
}

impl Codes {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// The transaction item that claims a code for a submission, unless another has it.
    pub(crate) fn claim_update(
        &self,
        scope: &Scope,
        key: &CodeKey,
        claim: &Claim,
        now: Timestamp,
    ) -> Result<Update, StoreError> {
        let mut update = self
            .table
            .update(key.in_scope(scope))
            .update_expression(format!(
                "SET entrant_id = :entrant, submission_id = :id, redeemed = :redeemed, claimed_at = :now, {}",
                record_version::SET
            ))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_values(":entrant", text(claim.entrant.as_str()))
            .expression_attribute_values(":id", text(claim.submission_id.to_string()))
            .expression_attribute_values(":redeemed", AttributeValue::Bool(claim.redeemed))
            .expression_attribute_values(":now", number(now.as_millis()));
        update = match key {
            CodeKey::Minted(_) | CodeKey::Partner(_) | CodeKey::Sentinel(_) => {
                update.condition_expression(FREE)
            }
            CodeKey::Imported { batch, .. } => update
                .condition_expression(IMPORTED_AND_FREE)
                .expression_attribute_values(":batch", text(batch)),
        };
        update
            .build()
            .map_err(StoreError::during("claiming a code"))
    }

    /// The transaction item that redeems a held code.
    pub(crate) fn redeem_update(
        &self,
        code_key: &str,
        holder: SubmissionId,
    ) -> Result<Update, StoreError> {
        self.table
            .update(code_key)
            .update_expression("SET redeemed = :yes")
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":yes", AttributeValue::Bool(true))
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("redeeming a code"))
    }

    /// The transaction item that frees the code of a rejected submission.
    pub(crate) fn free_update(
        &self,
        code_key: &str,
        holder: SubmissionId,
    ) -> Result<Update, StoreError> {
        self.table
            .update(code_key)
            .update_expression(REMOVE_CLAIM)
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("freeing a code"))
    }

    /// The transaction item that leaves the code of a revoked submission used: for every phone, its own included.
    pub(crate) fn keep_used_update(
        &self,
        code_key: &str,
        holder: SubmissionId,
    ) -> Result<Update, StoreError> {
        self.holder_update(code_key, holder, NOBODY, true)
    }

    /// The transaction item that lets a reopened submission hold the code that it kept.
    pub(crate) fn hold_again_update(
        &self,
        code_key: &str,
        holder: SubmissionId,
        entrant: &EntrantId,
    ) -> Result<Update, StoreError> {
        self.holder_update(code_key, holder, entrant.as_str(), false)
    }

    fn holder_update(
        &self,
        code_key: &str,
        holder: SubmissionId,
        entrant: &str,
        redeemed: bool,
    ) -> Result<Update, StoreError> {
        self.table
            .update(code_key)
            .update_expression("SET entrant_id = :entrant, redeemed = :redeemed")
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":entrant", text(entrant))
            .expression_attribute_values(":redeemed", AttributeValue::Bool(redeemed))
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("correcting who has a code"))
    }

    /// The transaction item that fails unless a submission has the code.
    pub(crate) fn claim_check(
        &self,
        scope: &Scope,
        key: &CodeKey,
        holder: SubmissionId,
    ) -> Result<ConditionCheck, StoreError> {
        self.table
            .check(key.in_scope(scope))
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("checking who has a code"))
    }

    /// Adds a code's record to a batch.
    pub(crate) fn add_to(&self, batch: &mut BatchGet, scope: &Scope, key: &CodeKey) {
        self.table.add_to(batch, key.in_scope(scope));
    }

    /// A code's record among the items of a batch.
    pub(crate) fn find_in<'a>(
        &self,
        items: &'a BatchItems,
        scope: &Scope,
        key: &CodeKey,
    ) -> Found<'a> {
        self.table.find_in(items, &key.in_scope(scope))
    }

    /// A code's record; `None` until the code is imported or claimed.
    pub async fn get(
        &self,
        scope: &Scope,
        key: &CodeKey,
    ) -> Result<Option<CodeRecord>, StoreError> {
        self.table
            .get(key.in_scope(scope), READING)
            .await?
            .as_ref()
            .map(read)
            .transpose()
    }

    /// Looks up a code's record.
    pub async fn look_up(&self, scope: &Scope, key: &CodeKey) -> Result<CodeLookup, StoreError> {
        Ok(CodeLookup::new(key, self.get(scope, key).await?))
    }

    /// Stores an imported code. False if it was imported before: its record is left unchanged.
    pub async fn import(
        &self,
        scope: &Scope,
        key: &CodeKey,
        batch: &str,
    ) -> Result<bool, StoreError> {
        const ACTION: &str = "importing a code";
        let update = self
            .table
            .update(key.in_scope(scope))
            .update_expression(format!("SET batch_name = :batch, {}", record_version::SET))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .condition_expression("attribute_not_exists(batch_name)")
            .expression_attribute_values(":batch", text(batch));
        let update = update.build().map_err(StoreError::during(ACTION))?;
        transaction::write_one(self.table.client(), transaction::update(update), ACTION).await
    }

    /// The transaction item that erases the person of a submission from its code.
    pub(crate) fn erase_update(
        &self,
        code_key: &str,
        holder: SubmissionId,
        entrant: &EntrantId,
    ) -> Result<Update, StoreError> {
        self.table
            .update(code_key)
            .update_expression("SET entrant_id = :entrant")
            .condition_expression("submission_id = :id")
            .expression_attribute_values(":entrant", text(entrant.as_str()))
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("erasing a phone from a code"))
    }

    /// The transaction item that deletes the record of a sentinel, whose key is a digest of the person, unless another
    /// submission of that person has it. A rejected submission can have left a record without a claim.
    pub(crate) fn sentinel_delete(
        &self,
        code_key: &str,
        holder: SubmissionId,
    ) -> Result<Delete, StoreError> {
        self.table
            .delete(code_key)
            .condition_expression("submission_id = :id OR attribute_not_exists(submission_id)")
            .expression_attribute_values(":id", text(holder.to_string()))
            .build()
            .map_err(StoreError::during("deleting the record of a sentinel"))
    }

    /// Folds all records of a scope, in parts that are read concurrently. Reads the whole table.
    pub async fn fold_all<T: Default>(
        &self,
        scope: &Scope,
        add: impl Fn(&mut T, CodeKey, CodeRecord),
    ) -> Result<Vec<T>, StoreError> {
        const ACTION: &str = "reading all codes";
        /// Parts of the table that are read at once.
        const SEGMENTS: i32 = 8;
        let fold = async |segment| {
            let scan = self
                .table
                .scan()
                .segment(segment)
                .total_segments(SEGMENTS)
                .filter_expression("begins_with(#code, :scope)")
                .expression_attribute_names("#code", KEY)
                .expression_attribute_values(":scope", text(scope.key("")));
            let mut items = scan.into_paginator().items().send();
            let mut folded = T::default();
            while let Some(item) = items.next().await {
                let item = item.map_err(StoreError::during(ACTION))?;
                let key = required(read_text(&item, KEY), ACTION)?;
                let key = required(CodeKey::parse(scope, key), ACTION)?;
                add(&mut folded, key, read(&item)?);
            }
            Ok(folded)
        };
        try_join_all((0..SEGMENTS).map(fold)).await
    }

    /// Frees all codes of a scope, and returns how many. Imported codes stay imported. For
    /// operators: reads the whole table.
    pub async fn clear(&self, scope: &Scope) -> Result<u64, StoreError> {
        const ACTION: &str = "freeing codes";
        let change = async |item: Item| {
            let key = read_text(&item, KEY).unwrap_or_default();
            let claimed = item.contains_key("submission_id");
            if CodeKey::parse(scope, key).is_none() {
                return Ok(false);
            }
            if !item.contains_key("batch_name") {
                return Ok(self.table.delete_found(&item, ACTION).await? && claimed);
            }
            if !claimed {
                return Ok(false);
            }
            let update = self.table.update_item(key).update_expression(REMOVE_CLAIM);
            update
                .send()
                .await
                .map(|_| true)
                .map_err(StoreError::during(ACTION))
        };
        self.table.change_each(scope, ACTION, change).await
    }
}

/// Whether a key of the table is a sentinel's.
pub(crate) fn is_sentinel(code_key: &str) -> bool {
    Scope::split_key(code_key).is_some_and(|(_, rest)| rest.starts_with("sentinel#"))
}

pub(crate) fn read(item: &Item) -> Result<CodeRecord, StoreError> {
    parse(item).map_err(|error| {
        let key = read_text(item, KEY).unwrap_or_default().to_owned();
        StoreError::of_record("codes", key)(error)
    })
}

fn parse(item: &Item) -> Result<CodeRecord, StoreError> {
    FIRST.check(item, READING)?;
    let claim = match read_text(item, "submission_id") {
        None => None,
        Some(id) => Some(Claim {
            submission_id: id.parse().map_err(StoreError::during(READING))?,
            entrant: required(read_text(item, "entrant_id"), READING)
                .map(EntrantId::from_record)?,
            redeemed: item
                .get("redeemed")
                .and_then(|value| value.as_bool().ok())
                .copied()
                .unwrap_or(false),
        }),
    };
    Ok(CodeRecord {
        claim,
        batch: read_text(item, "batch_name").map(str::to_owned),
    })
}

#[cfg(test)]
mod tests;
