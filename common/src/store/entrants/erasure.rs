//! A person's counts move to a random id, at once or when limits no longer count.

use super::blocklist::{BLOCKED, BLOCKED_PHONE};
use super::{Entrants, KEY, READING, item_key};
use crate::domain::{EntrantId, Scope, Timestamp};
use crate::random;
use crate::store::record_version::FIRST;
use crate::store::submissions::RetentionPage;
use crate::store::table_pages::Position;
use crate::store::transaction;
use crate::store::{Item, StoreResult, read_text, required, text};

pub(super) const ERASED_AS: &str = "erased_as";
pub(super) const ERASED_AT: &str = "erased_at";

impl Entrants {
    /// Returns this id, or that of an interrupted erasure.
    pub async fn begin_erasure(
        &self,
        scope: &Scope,
        id: &EntrantId,
        tombstone: &EntrantId,
    ) -> StoreResult<EntrantId> {
        const ACTION: &str = "beginning an erasure";
        let update = self.update(scope, id).remove([ERASED_AT]);
        let update = update.set_if_absent(ERASED_AS, text(tombstone.as_str()));
        let item = update.send_and_read(ACTION).await?.item();
        required(read_text(&item, ERASED_AS), ACTION).map(EntrantId::from_record)
    }

    /// Moves the counts and deletes the phone's record, except a block; false if a submission has
    /// changed it: run it again.
    pub async fn finish_erasure(
        &self,
        scope: &Scope,
        id: &EntrantId,
        tombstone: &EntrantId,
    ) -> StoreResult<bool> {
        const ACTION: &str = "finishing an erasure";
        let Some(mut item) = self.table.get(item_key(scope, id), READING).await? else {
            return Ok(true);
        };
        FIRST.check(&item, ACTION)?;
        if !self.move_days(&mut item, scope, tombstone).await? {
            return Ok(false);
        }
        let before = item.clone();
        item.remove(BLOCKED_PHONE);
        let blocked = |name: &str| name.starts_with(BLOCKED);
        let kept: Item = item.extract_if(|name, _| blocked(name)).collect();
        item.remove(ERASED_AS);
        item.remove(ERASED_AT);
        let own = if kept.is_empty() {
            self.delete_unchanged(&before)
        } else {
            self.replace_unchanged(&before, kept)
        };
        let merged = self.merge(scope, tombstone, item);
        Ok(transaction::write(vec![own, merged]).await?.is_ok())
    }

    /// An erased person cannot enter again. Nothing leads from the digest to submissions.
    pub async fn keep_limits(
        &self,
        scope: &Scope,
        id: &EntrantId,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.update(scope, id)
            .set(ERASED_AT, now)
            .remove([ERASED_AS, BLOCKED_PHONE])
            .send("keeping the limits of an erased person")
            .await
            .map(drop)
    }

    pub async fn forget_erased(
        &self,
        scope: &Scope,
        position: Position,
    ) -> StoreResult<RetentionPage> {
        const ACTION: &str = "reading erased persons";
        let prefix = scope.key("");
        let is_erased = format!("attribute_exists({ERASED_AT})");
        let scan = self.table.scan_scope(scope, Some(is_erased));
        let id = |item: Item| {
            let id = required(
                read_text(&item, KEY).and_then(|key| key.strip_prefix(&prefix)),
                ACTION,
            )?;
            Ok(EntrantId::from_record(id))
        };
        let (page, position) = self.table.read_page(scan, position, ACTION, id).await?;
        let (mut done, mut left) = (0, 0);
        for id in &page.records {
            let moved = self
                .finish_erasure(scope, id, &EntrantId::tombstone(random::bytes()))
                .await;
            match moved {
                Ok(true) => done += 1,
                Ok(false) => left += 1,
                Err(error) if error.is_unreadable() => left += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(RetentionPage {
            done,
            left,
            position,
        })
    }
}
