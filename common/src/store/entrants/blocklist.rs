//! The blocklist: which phones of a scope are blocked, by whom and why, with a sparse index to list them.

use std::collections::HashSet;

use aws_sdk_dynamodb::types::builders::UpdateBuilder;

use super::{Entrants, KEY, READING, item_key, read};
use crate::domain::entrant::Entrant;
use crate::domain::entrant_id::EntrantId;
use crate::domain::scope::Scope;
use crate::domain::submission::OperatorDecision;
use crate::domain::timestamp::Timestamp;
use crate::store::record_version::{self, FIRST};
use crate::store::{Item, StoreError, number, read_number, read_text, required, text, transaction};

/// The sparse index of blocked phones: partition [`BLOCKED_SCOPE`], sort [`BLOCKED`]. Only blocked phones have a
/// [`BLOCKED_SCOPE`], so counting the submissions of others does not write to the index.
pub const BLOCKLIST: &str = "blocklist";
/// The attribute with the scope of a blocked phone.
pub const BLOCKED_SCOPE: &str = "blocked_scope";
/// The attribute with the time when a phone was blocked, in milliseconds; the prefix of all others of a blocked phone.
pub const BLOCKED: &str = "blocked";
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
        let mut update = self
            .update(scope, id)
            .update_expression(format!(
                "SET blocked = :at, blocked_by = :by, blocked_why = :why, {BLOCKED_SCOPE} = :{BLOCKED_SCOPE}, \
                 {BLOCKED_PHONE} = :{BLOCKED_PHONE}, {} REMOVE unblocked, unblocked_by, unblocked_why",
                record_version::SET
            ))
            .condition_expression("attribute_not_exists(blocked)");
        let listing = [
            (BLOCKED_SCOPE, scope.to_string()),
            (BLOCKED_PHONE, masked.to_owned()),
        ];
        for (name, value) in listing {
            update = update.expression_attribute_values(format!(":{name}"), text(value));
        }
        self.write_change(update, decision).await
    }

    /// Removes a phone from the blocklist. Returns false if it was not there.
    pub async fn unblock(
        &self,
        scope: &Scope,
        id: &EntrantId,
        decision: &OperatorDecision,
    ) -> Result<bool, StoreError> {
        let update = self
            .update(scope, id)
            .update_expression(format!(
                "SET unblocked = :at, unblocked_by = :by, unblocked_why = :why, {} \
                 REMOVE blocked, blocked_by, blocked_why, {BLOCKED_SCOPE}, {BLOCKED_PHONE}",
                record_version::SET
            ))
            .condition_expression("attribute_exists(blocked)");
        self.write_change(update, decision).await
    }

    async fn write_change(
        &self,
        update: UpdateBuilder,
        decision: &OperatorDecision,
    ) -> Result<bool, StoreError> {
        const ACTION: &str = "changing the blocklist";
        let OperatorDecision { by, at, why, .. } = decision;
        let update = update
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_values(":at", number(at.as_millis()))
            .expression_attribute_values(":by", text(by))
            .expression_attribute_values(":why", text(why.as_deref().unwrap_or_default()))
            .build()
            .map_err(StoreError::during(ACTION))?;
        transaction::write_one(self.table.client(), transaction::update(update), ACTION).await
    }

    /// Lists the blocked phones of a scope, oldest first. The index may lag behind the table for a moment.
    pub async fn blocklist(&self, scope: &Scope) -> Result<Vec<BlockedPhone>, StoreError> {
        const ACTION: &str = "listing blocked phones";
        let query = self
            .table
            .query(BLOCKLIST)
            .key_condition_expression("blocked_scope = :scope")
            .expression_attribute_values(":scope", text(scope.to_string()));
        let mut items = query.into_paginator().items().send();
        let mut list = Vec::new();
        while let Some(item) = items.next().await {
            let item = item.map_err(StoreError::during(ACTION))?;
            let blocked = required(change(&item, BLOCKED), ACTION)?;
            list.push(BlockedPhone {
                masked: read_text(&item, BLOCKED_PHONE).map(str::to_owned),
                blocked,
            });
        }
        Ok(list)
    }

    /// The phones of a scope that are blocked, and were at this time. The index may lag behind the table for a moment.
    pub async fn blocked_since(
        &self,
        scope: &Scope,
        at: Timestamp,
    ) -> Result<HashSet<EntrantId>, StoreError> {
        const ACTION: &str = "reading the blocklist";
        let query = self
            .table
            .query(BLOCKLIST)
            .key_condition_expression("blocked_scope = :scope AND blocked <= :at")
            .expression_attribute_values(":scope", text(scope.to_string()))
            .expression_attribute_values(":at", number(at.as_millis()));
        let mut items = query.into_paginator().items().send();
        let (mut blocked, prefix) = (HashSet::new(), scope.key(""));
        while let Some(item) = items.next().await {
            let item = item.map_err(StoreError::during(ACTION))?;
            let id = read_text(&item, KEY).and_then(|key| key.strip_prefix(&prefix));
            blocked.insert(EntrantId::from_record(required(id, ACTION)?));
        }
        Ok(blocked)
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
        let (blocked, unblocked) = (change(&item, BLOCKED), change(&item, "unblocked"));
        Ok(Some(KnownEntrant {
            entrant: read(&item, day)?,
            blocked,
            unblocked,
        }))
    }
}

/// Reads a change from the attribute with its time, and those for its operator and reason.
fn change(item: &Item, at: &str) -> Option<BlockChange> {
    let words = |what: &str| {
        read_text(item, &format!("{at}_{what}"))
            .filter(|words| !words.is_empty())
            .map(str::to_owned)
    };
    let at = Timestamp::from_millis(read_number(item, at)?);
    Some(BlockChange {
        at,
        by: words("by"),
        why: words("why"),
    })
}
