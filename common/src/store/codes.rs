//! No code is in clear: keys are a minted code's serial number, an imported one's keyed digest, or
//! a digest of sentinel and phone.

use futures_util::{Stream, StreamExt};
use serde::Deserialize;

use super::batch::Place;
use super::table::{items, pages};
use super::write::Write;
use super::{
    Item, SEGMENTS, StoreError, StoreResult, from_record, read_text, required, transaction,
};
use crate::domain::code_record::CodeRecord;
use crate::domain::{CodeHold, CodeKey, CodeLookup, EntrantId, Scope, SubmissionId, Timestamp};

pub const KEY: &str = "code";
pub const VARIABLE: &str = "CODES_TABLE";

const READING: &str = "reading a code";

const HOLDER: &str = "submission_id";
const ENTRANT: &str = "entrant_id";
const REDEEMED: &str = "redeemed";
const BATCH: &str = "batch_name";

const HOLD: [&str; 4] = [ENTRANT, HOLDER, REDEEMED, "claimed_at"];

/// No phone has this digest.
const REVOKED_HOLDER: &str = "revoked";

#[derive(Deserialize)]
struct Stored {
    submission_id: Option<SubmissionId>,
    entrant_id: Option<EntrantId>,
    #[serde(default)]
    redeemed: bool,
    batch_name: Option<String>,
}

store! {
    Codes
}

impl Codes {
    /// An imported code needs the expected batch, which decides the prize.
    ///
    /// A timeline of two phones with one code: the first writes its submission's id; the second's
    /// condition fails and returns it.
    pub(crate) fn hold(
        &self,
        scope: &Scope,
        key: &CodeKey,
        hold: &CodeHold,
        now: Timestamp,
    ) -> Write {
        let write = self
            .table
            .update(key.in_scope(scope))
            .set(ENTRANT, &hold.entrant)
            .set(HOLDER, hold.submission_id)
            .set(REDEEMED, hold.redeemed)
            .set("claimed_at", now)
            .when_absent(HOLDER);
        match key {
            CodeKey::Minted(_) | CodeKey::Partner(_) | CodeKey::Sentinel(_) => write,
            CodeKey::Imported { batch, .. } => write.when_equal(BATCH, batch),
        }
    }

    fn held(&self, code_key: &str, holder: SubmissionId) -> Write {
        self.table.update(code_key).when_equal(HOLDER, holder)
    }

    pub(crate) fn redeem(&self, code_key: &str, holder: SubmissionId) -> Write {
        self.held(code_key, holder).set(REDEEMED, true)
    }

    pub(crate) fn free(&self, code_key: &str, holder: SubmissionId) -> Write {
        self.held(code_key, holder).remove(HOLD)
    }

    pub(crate) fn keep_used(&self, code_key: &str, holder: SubmissionId) -> Write {
        self.redeem(code_key, holder).set(ENTRANT, REVOKED_HOLDER)
    }

    pub(crate) fn hold_again(
        &self,
        code_key: &str,
        holder: SubmissionId,
        entrant: &EntrantId,
    ) -> Write {
        self.replace_entrant(code_key, holder, entrant)
            .set(REDEEMED, false)
    }

    pub(crate) fn replace_entrant(
        &self,
        code_key: &str,
        holder: SubmissionId,
        entrant: &EntrantId,
    ) -> Write {
        self.held(code_key, holder).set(ENTRANT, entrant)
    }

    pub(crate) fn check(&self, scope: &Scope, key: &CodeKey, holder: SubmissionId) -> Write {
        let check = self.table.check(key.in_scope(scope));
        check.when_equal(HOLDER, holder)
    }

    /// Another submission of the person may hold it, or a rejected one have left it without a
    /// holder.
    pub(crate) fn delete_sentinel(&self, code_key: &str, holder: SubmissionId) -> Write {
        self.table
            .delete(code_key)
            .when("#submission_id = :id OR attribute_not_exists(#submission_id)")
            .bind(":id", holder)
    }

    pub(crate) fn place(&self, scope: &Scope, key: &CodeKey) -> Place {
        self.table.place(key.in_scope(scope))
    }

    pub async fn get(&self, scope: &Scope, key: &CodeKey) -> StoreResult<Option<CodeRecord>> {
        self.table
            .get(key.in_scope(scope), READING)
            .await?
            .as_ref()
            .map(read)
            .transpose()
    }

    pub async fn lookup(&self, scope: &Scope, key: &CodeKey) -> StoreResult<CodeLookup> {
        Ok(CodeLookup::new(key, self.get(scope, key).await?))
    }

    pub async fn import(&self, scope: &Scope, key: &CodeKey, batch: &str) -> StoreResult<bool> {
        let update = self.table.update(key.in_scope(scope)).set(BATCH, batch);
        transaction::write_one(update.when_absent(BATCH), "importing a code").await
    }

    /// Unordered. Reads the whole table.
    pub fn all(&self, scope: &Scope) -> impl Stream<Item = StoreResult<(CodeKey, CodeRecord)>> {
        const ACTION: &str = "reading all codes";
        let pages = pages(self.table.scan_scope(scope, None), SEGMENTS, ACTION);
        items(pages).map(move |item| {
            let item = item?;
            let key = required(read_text(&item, KEY), ACTION)?;
            let key = required(CodeKey::parse(scope, key), ACTION)?;
            Ok((key, read(&item)?))
        })
    }

    pub async fn clear(&self, scope: &Scope) -> StoreResult<u64> {
        const ACTION: &str = "freeing codes";
        let change = async |item: Item| {
            let key = read_text(&item, KEY).unwrap_or_default();
            let is_held = item.contains_key(HOLDER);
            if CodeKey::parse(scope, key).is_none() {
                return Ok(false);
            }
            if !item.contains_key(BATCH) {
                return Ok(self.table.delete_found(&item, ACTION).await? && is_held);
            }
            if !is_held {
                return Ok(false);
            }
            self.table.update(key).remove(HOLD).send(ACTION).await
        };
        self.table.change_each(scope, ACTION, change).await
    }
}

pub(crate) fn is_sentinel(code_key: &str) -> bool {
    Scope::split_key(code_key).is_some_and(|(_, rest)| rest.starts_with("sentinel#"))
}

pub(crate) fn read(item: &Item) -> StoreResult<CodeRecord> {
    parse(item).map_err(|error| {
        let key = read_text(item, KEY).unwrap_or_default().to_owned();
        StoreError::of_record("codes", key)(error)
    })
}

fn parse(item: &Item) -> StoreResult<CodeRecord> {
    let stored: Stored = from_record(item.clone(), READING)?;
    let hold = stored.submission_id.map(|submission_id| {
        Ok(CodeHold {
            entrant: required(stored.entrant_id, READING)?,
            submission_id,
            redeemed: stored.redeemed,
        })
    });
    Ok(CodeRecord {
        hold: hold.transpose()?,
        batch: stored.batch_name,
    })
}

#[cfg(test)]
mod tests;
