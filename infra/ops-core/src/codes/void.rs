//! Voids codes: a whole batch, or those in a file. Submissions that were made with them stay valid.

use common::domain::codebook::{Batch, BatchStatus, CodeBook};
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use common::store::codes::Codes;
use futures_util::{StreamExt, TryStreamExt, stream};

use super::find::{FoundCode, find};
use super::{MAX_CONCURRENCY, PART, book};
use crate::audit::Action;
use crate::column::Column;
use crate::failure::Failure;
use crate::tables::Tables;

/// The result of voiding the codes in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Voided {
    /// Number of codes that were voided.
    pub voided: u64,
    /// How many of these no submission has.
    pub unused: u64,
    /// Number of codes that were void before.
    pub already_void: u64,
    /// How many of all these belong to a submission, which keeps its code.
    pub in_use: u64,
}

/// Voids a batch; does nothing if it is void already.
///
/// # Errors
/// When there is no such batch, or the table does not answer.
pub async fn void_batch(
    tables: &Tables,
    scope: &Scope,
    name: &str,
    now: Timestamp,
) -> Result<Batch, Failure> {
    tables.audit.append(Action::new("code.void").in_scope(scope).on(name), now).await?;
    book::change(&tables.code_books, scope, |book| {
        let batch = book::batch_mut(book, name)?;
        batch.status = BatchStatus::Void;
        Ok(batch.clone())
    })
    .await
}

/// Voids the codes of a file that was checked; calls `progress` with the number of codes done.
///
/// # Errors
/// When the file changed, or the table does not answer.
pub async fn void_file(
    tables: &Tables,
    scope: &Scope,
    codes: Column<'_, String>,
    now: Timestamp,
    mut progress: impl FnMut(u64),
) -> Result<Voided, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let mut done = Voided::default();
    let mut lines = codes.open()?;
    loop {
        let part = lines.next_values(PART)?;
        if part.is_empty() {
            return Ok(done);
        }
        let voids = part.into_iter().map(|code| void_one(tables.codes(), scope, &book, code, now));
        let voids = stream::iter(voids).buffer_unordered(MAX_CONCURRENCY);
        done = voids.try_fold(done, async |sum, one| Ok(sum.and(one))).await?;
        progress(done.count());
    }
}

/// Checks a file of codes to void, and returns what voiding them would do.
pub async fn check(tables: &Tables, scope: &Scope, codes: Column<'_, String>) -> Result<Voided, Failure> {
    let book = &book::read(&tables.code_books, scope).await?;
    let mut sum = Voided::default();
    let check_part = async |part: Vec<(usize, String)>, problem: &mut dyn FnMut(usize, &str)| {
        let lookups = part.into_iter().map(|(line, code)| async move {
            let found = find(tables.codes(), scope, book, &code).await?;
            Ok::<_, Failure>((line, (!found.is_empty()).then(|| Voided::from_records(&found))))
        });
        let mut lookups = stream::iter(lookups).buffer_unordered(MAX_CONCURRENCY);
        while let Some((line, one)) = lookups.try_next().await? {
            match one {
                Some(one) => sum = sum.and(one),
                None => problem(line, "this is no code of the campaign's environment; remove it"),
            }
        }
        Ok(())
    };
    codes.check_all(PART, check_part).await?;
    Ok(sum)
}

async fn void_one(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    normal: String,
    now: Timestamp,
) -> Result<Voided, Failure> {
    let found = find(codes, scope, book, &normal).await?;
    for FoundCode { key, .. } in found.iter().filter(|found| !found.record.voided) {
        codes.void(scope, key, now).await?;
    }
    Ok(if found.is_empty() { Voided::default() } else { Voided::from_records(&found) })
}

impl Voided {
    /// What voiding one code does, from its records.
    fn from_records(found: &[FoundCode<'_>]) -> Self {
        let already = found.iter().all(|found| found.record.voided || !found.is_redeemable());
        let in_use = found.iter().any(|found| found.record.claim.is_some());
        Self {
            voided: u64::from(!already),
            unused: u64::from(!already && !in_use),
            already_void: u64::from(already),
            in_use: u64::from(in_use),
        }
    }

    /// Number of codes.
    pub fn count(self) -> u64 {
        self.voided + self.already_void
    }

    fn and(self, other: Self) -> Self {
        Self {
            voided: self.voided + other.voided,
            unused: self.unused + other.unused,
            already_void: self.already_void + other.already_void,
            in_use: self.in_use + other.in_use,
        }
    }
}
