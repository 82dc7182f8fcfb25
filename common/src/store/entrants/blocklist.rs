//! The blocklist: which phones of a scope are blocked, by whom and why, with a sparse index to list them.

use std::collections::HashSet;

use super::{Entrants, KEY, READING, item_key, read};
use crate::domain::entrant::Entrant;
use crate::domain::ids::EntrantId;
use crate::domain::scope::Scope;
use crate::domain::submission::OperatorDecision;
use crate::domain::timestamp::Timestamp;
use crate::store::table::all;
use crate::store::write::Write;
use crate::store::{Item, StoreError, number, read_number, read_text, required, text, transaction};

/// The sparse index of blocked phones: partition [`BLOCKED_SCOPE`], sort [`BLOCKED`]. Only blocked phones have a
/// [`BLOCKED_SCOPE`], so counting the submissions of others does not write to the index.
pub const BLOCKLIST: &str = "blocklist";
/// The attribute with the scope of a blocked phone.
pub const BLOCKED_SCOPE: &str = "blocked_scope";
/// The attribute with the time when a phone was blocked, in milliseconds; the prefix of all others of a blocked phone.
pub const BLOCKED: &str = "blocked";
/// Like [`BLOCKED`], of an unblocked phone.
const UNBLOCKED: &str = "unblocked";
/// Ends of the attributes with the operator and the reason.
const BY: &str = "_by";
const WHY: &str = "_why";
/// The masked number of a blocked phone. The key has only its digest, and operators have to recognise it.
pub(super) const BLOCKED_PHONE: &str = "blocked_phone";

/// The blocking or unblocking of a phone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockChange {
    /// When the operator did it.
    pub at: Timestamp,
    /// The operator; `None` if there was none.
    pub by: Option<String>,
    /// The operator's reason; `None` if there was none.
    pub why: Option<String>,
}

/// A phone on the blocklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedPhone {
    /// The masked number; `None` once the person was erased.
    pub masked: Option<String>,
    /// When and why it was blocked.
    pub blocked: BlockChange,
}

/// The record of a phone in a scope. The default is a phone never seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownEntrant {
    /// Its counts.
    pub entrant: Entrant,
    /// When and why it was blocked, while it is.
    pub blocked: Option<BlockChange>,
    /// When and why it was unblocked, if it was blocked before.
    pub unblocked: Option<BlockChange>,
}

impl Entrants {
    /// Adds a phone to the blocklist, where `masked` stands for it. Returns false if it was there before.
    pub async fn block(
        &self,
        scope: &Scope,
        id: &EntrantId,
        masked: &str,
        decision: &OperatorDecision,
    ) -> Result<bool, StoreError> {
        let update = self.update(scope, id).when_absent(BLOCKED);
        let update = update
            .set(BLOCKED_SCOPE, scope.to_string())
            .set(BLOCKED_PHONE, masked);
        write_change(update, UNBLOCKED, BLOCKED, decision).await
    }

    /// Removes a phone from the blocklist. Returns false if it was not there.
    pub async fn unblock(
        &self,
        scope: &Scope,
        id: &EntrantId,
        decision: &OperatorDecision,
    ) -> Result<bool, StoreError> {
        let update = self.update(scope, id).when_present(BLOCKED);
        let update = update.remove([BLOCKED_SCOPE, BLOCKED_PHONE]);
        write_change(update, BLOCKED, UNBLOCKED, decision).await
    }

    /// Lists the blocked phones of a scope, oldest first. The index may lag behind the table for a moment.
    pub async fn blocklist(&self, scope: &Scope) -> Result<Vec<BlockedPhone>, StoreError> {
        const ACTION: &str = "listing blocked phones";
        let condition = "#blocked_scope = :scope";
        let values = [(":scope", text(scope.to_string()))];
        let query = self.table.query(condition, values).index_name(BLOCKLIST);
        let items = all(query, ACTION).await?.into_iter();
        let blocked = items.map(|item| {
            Ok(BlockedPhone {
                masked: read_text(&item, BLOCKED_PHONE).map(str::to_owned),
                blocked: required(change(&item, BLOCKED), ACTION)?,
            })
        });
        blocked.collect()
    }

    /// The phones of a scope that are blocked, and were at this time. The index may lag behind the table for a moment.
    pub async fn blocked_since(
        &self,
        scope: &Scope,
        at: Timestamp,
    ) -> Result<HashSet<EntrantId>, StoreError> {
        const ACTION: &str = "reading the blocklist";
        let condition = "#blocked_scope = :scope AND #blocked <= :at";
        let at = number(at.as_millis());
        let values = [(":scope", text(scope.to_string())), (":at", at)];
        let query = self.table.query(condition, values).index_name(BLOCKLIST);
        let items = all(query, ACTION).await?;
        let prefix = scope.key("");
        let ids = items.iter().map(|item| {
            let id = read_text(item, KEY).and_then(|key| key.strip_prefix(&prefix));
            required(id, ACTION).map(EntrantId::from_record)
        });
        ids.collect()
    }

    /// Returns a phone's record, with its counts of a day; `None` if the scope has none.
    pub async fn find(
        &self,
        scope: &Scope,
        id: &EntrantId,
        day: &str,
    ) -> Result<Option<KnownEntrant>, StoreError> {
        let Some(item) = self.table.get(item_key(scope, id), READING).await? else {
            return Ok(None);
        };
        let (blocked, unblocked) = (change(&item, BLOCKED), change(&item, UNBLOCKED));
        Ok(Some(KnownEntrant {
            entrant: read(&item, day)?,
            blocked,
            unblocked,
        }))
    }
}

/// Writes a change in place of the one before: of the time, the operator and the reason, whose attributes begin alike.
async fn write_change(
    update: Write,
    before: &str,
    after: &str,
    decision: &OperatorDecision,
) -> Result<bool, StoreError> {
    let gone = ["", BY, WHY].map(|part| format!("{before}{part}"));
    let update = update
        .remove(gone.iter().map(String::as_str))
        .set(after, decision.at)
        .set(&format!("{after}{BY}"), &decision.by)
        .set(
            &format!("{after}{WHY}"),
            decision.why.as_deref().unwrap_or_default(),
        );
    transaction::write_one(update, "changing the blocklist").await
}

/// Reads a change from the attribute with its time, and those for its operator and reason.
fn change(item: &Item, at: &str) -> Option<BlockChange> {
    let words = |part: &str| {
        read_text(item, &format!("{at}{part}"))
            .filter(|words| !words.is_empty())
            .map(str::to_owned)
    };
    Some(BlockChange {
        at: Timestamp::from_millis(read_number(item, at)?),
        by: words(BY),
        why: words(WHY),
    })
}
