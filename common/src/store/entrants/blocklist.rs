use std::collections::HashSet;

use serde::Serialize;

use super::{Entrants, KEY, READING, item_key, read};
use crate::domain::{Entrant, EntrantId, OperatorDecision, Scope, Timestamp};
use crate::store::table::all;
use crate::store::write::Write;
use crate::store::{Item, StoreResult, number, read_text, read_time, required, text, transaction};

/// Sparse index: partition [`BLOCKED_SCOPE`], sort [`BLOCKED`]. Counting other phones does not
/// write to it.
pub const BLOCKLIST: &str = "blocklist";
pub const BLOCKED_SCOPE: &str = "blocked_scope";
pub const BLOCKED: &str = "blocked";
const UNBLOCKED: &str = "unblocked";
const BY: &str = "_by";
const WHY: &str = "_why";
/// Masked, so that operators recognise it.
pub(super) const BLOCKED_PHONE: &str = "blocked_phone";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockChange {
    pub at: Timestamp,
    pub by: Option<String>,
    pub why: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedPhone {
    pub masked: Option<String>,
    pub blocked: BlockChange,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownEntrant {
    pub entrant: Entrant,
    pub blocked: Option<BlockChange>,
    pub unblocked: Option<BlockChange>,
}

impl Entrants {
    pub async fn block(
        &self,
        scope: &Scope,
        id: &EntrantId,
        masked: &str,
        decision: &OperatorDecision,
    ) -> StoreResult<bool> {
        let update = self.update(scope, id).when_absent(BLOCKED);
        let update = update
            .set(BLOCKED_SCOPE, scope.to_string())
            .set(BLOCKED_PHONE, masked);
        write_change(update, UNBLOCKED, BLOCKED, decision).await
    }

    pub async fn unblock(
        &self,
        scope: &Scope,
        id: &EntrantId,
        decision: &OperatorDecision,
    ) -> StoreResult<bool> {
        let update = self.update(scope, id).when_present(BLOCKED);
        let update = update.remove([BLOCKED_SCOPE, BLOCKED_PHONE]);
        write_change(update, BLOCKED, UNBLOCKED, decision).await
    }

    /// Oldest first. The index lags.
    pub async fn blocklist(&self, scope: &Scope) -> StoreResult<Vec<BlockedPhone>> {
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

    /// Phones blocked both then and now. The index lags.
    pub async fn blocked_since(
        &self,
        scope: &Scope,
        at: Timestamp,
    ) -> StoreResult<HashSet<EntrantId>> {
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

    pub async fn find(
        &self,
        scope: &Scope,
        id: &EntrantId,
        day: &str,
    ) -> StoreResult<Option<KnownEntrant>> {
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

async fn write_change(
    update: Write,
    before: &str,
    after: &str,
    decision: &OperatorDecision,
) -> StoreResult<bool> {
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

fn change(item: &Item, at: &str) -> Option<BlockChange> {
    let words = |part: &str| {
        read_text(item, &format!("{at}{part}"))
            .filter(|words| !words.is_empty())
            .map(str::to_owned)
    };
    Some(BlockChange {
        at: read_time(item, at)?,
        by: words(BY),
        why: words(WHY),
    })
}
