//! Counts the used and unused codes of each batch.

use std::collections::BTreeMap;
use std::pin::pin;

use common::domain::code_record::{CodeKey, CodeRecord};
use common::domain::codebook::{Batch, CodeBook};
use common::domain::scope::Scope;
use common::store::codes::Codes;
use futures_util::TryStreamExt;

use crate::failure::Failure;

/// The codes of a batch that cannot be entered any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Those of accepted submissions.
    pub redeemed: u64,
    /// Those of submissions that are not settled.
    pub held: u64,
}

impl Usage {
    /// The number of codes of the batch that can be entered, or could be if the batch were active.
    pub fn unused_of(self, batch: &Batch) -> u64 {
        batch.count().saturating_sub(self.redeemed + self.held)
    }

    fn add(&mut self, record: &CodeRecord) {
        match &record.hold {
            Some(hold) if hold.redeemed => self.redeemed += 1,
            Some(_) => self.held += 1,
            None => {}
        }
    }
}

/// The use of every batch of a scope, by its name; batches without used codes may be missing. Reads the whole table.
pub async fn of_batches(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
) -> Result<BTreeMap<String, Usage>, Failure> {
    let mut usage: BTreeMap<String, Usage> = BTreeMap::new();
    let mut codes = pin!(codes.all(scope));
    while let Some((key, record)) = codes.try_next().await? {
        let name = match key {
            CodeKey::Minted(serial) => book.batch_of(serial).map(|batch| &batch.name),
            CodeKey::Imported { .. } => record.batch.as_ref(),
            CodeKey::Partner(_) | CodeKey::Sentinel(_) => None,
        };
        if let Some(name) = name {
            usage.entry(name.clone()).or_default().add(&record);
        }
    }
    Ok(usage)
}
