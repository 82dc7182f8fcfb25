//! Counts the used and unused codes of each batch.

use std::collections::BTreeMap;

use common::domain::codebook::{Batch, CodeBook};
use common::domain::scope::Scope;
use common::store::codes::{CodeKey, CodeRecord, Codes};

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
        match &record.claim {
            Some(claim) if claim.redeemed => self.redeemed += 1,
            Some(_) => self.held += 1,
            None => {}
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            redeemed: self.redeemed + other.redeemed,
            held: self.held + other.held,
        }
    }
}

/// The use of every batch of a scope, by its name; batches without used codes may be missing. Reads the whole table.
pub async fn of_batches(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
) -> Result<BTreeMap<String, Usage>, Failure> {
    let add = |usage: &mut BTreeMap<String, Usage>, key: CodeKey, record: CodeRecord| {
        let name = match key {
            CodeKey::Minted(serial) => book.batch_of(serial).map(|batch| batch.name.clone()),
            CodeKey::Imported { .. } => record.batch.clone(),
            CodeKey::Partner(_) | CodeKey::Sentinel(_) => None,
        };
        if let Some(name) = name {
            usage.entry(name).or_default().add(&record);
        }
    };
    let mut all: BTreeMap<String, Usage> = BTreeMap::new();
    for part in codes.fold_all(scope, add).await? {
        for (name, usage) in part {
            let sum = all.entry(name).or_default();
            *sum = sum.plus(usage);
        }
    }
    Ok(all)
}
