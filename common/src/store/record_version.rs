//! A build reads its own and all earlier versions of a record's format. A version increases only
//! for a form that the previous build cannot read: see `infra/docs/records.md`.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{Item, StoreError, StoreResult, number, read_number};
use crate::error::LaterVersion;

pub const ATTRIBUTE: &str = "record_version";
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordVersion(u32);

pub(crate) const FIRST: RecordVersion = RecordVersion(1);

impl RecordVersion {
    pub(crate) fn attribute(self) -> AttributeValue {
        number(self.0)
    }

    pub(crate) fn mark(self, mut item: Item) -> Item {
        item.insert(ATTRIBUTE.to_owned(), self.attribute());
        item
    }

    /// Refuses a later version.
    pub(crate) fn check(self, item: &Item, action: &'static str) -> StoreResult<()> {
        let known = self.0;
        match read_number::<u32>(item, ATTRIBUTE) {
            Some(found) if found > known => {
                Err(StoreError::new(action, LaterVersion { found, known }))
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_of_a_later_version_is_not_read() {
        let bare = Item::new();
        assert!(FIRST.check(&bare, "reading").is_ok());
        let own = FIRST.mark(bare);
        assert!(FIRST.check(&own, "reading").is_ok());
        let later = RecordVersion(2).mark(own);
        let error = FIRST.check(&later, "reading").expect_err("it is later");
        assert!(
            error.is_unreadable(),
            "so that it is put off, not tried again and again"
        );
    }
}
