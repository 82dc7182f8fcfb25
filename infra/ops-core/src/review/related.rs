//! Submissions that may be the same purchase, as far as an index or a record shows it: only the
//! first claim of a purchase or of an unreadable photo is recorded, and no index has baskets.

use crate::prelude::*;

const MAX_PER_PHONE: u8 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Phone,
    /// Accepted with the same purchase or record.
    Receipt,
    /// The same bytes of an unreadable photo.
    File,
    /// Same products, branch and day.
    Basket,
}

#[derive(Clone, Debug)]
pub struct RelatedSubmission {
    pub submission: Submission,
    pub relations: Vec<Relation>,
}

/// `code` is the receipt's, `digest` its photo's.
pub async fn related(
    tables: &Tables,
    of: &Submission,
    code: Option<&VerificationCode>,
    digest: Option<&str>,
) -> Result<Vec<RelatedSubmission>> {
    let (scope, submissions) = (&of.scope, tables.submissions());
    let mut found: BTreeMap<SubmissionId, Vec<Relation>> = BTreeMap::new();
    let phone = submissions
        .recent(scope, &of.entrant_id, MAX_PER_PHONE + 1)
        .await?;
    for summary in phone {
        found
            .entry(summary.submission_id)
            .or_default()
            .push(Relation::Phone);
    }
    if let Some(code) = code
        && let Some(id) = tables.store.receipts().purchase(scope, code).await?
    {
        found.entry(id).or_default().push(Relation::Receipt);
    }
    if let Some(digest) = digest
        && let Some(id) = tables.store.receipts().photo(scope, digest).await?
    {
        found.entry(id).or_default().push(Relation::File);
    }
    found.remove(&of.submission_id);
    let reads = found.into_iter().map(|(id, relations)| async move {
        let submission = submissions.get(scope, id).await?;
        Ok::<_, Failure>(submission.map(|submission| RelatedSubmission {
            relations: also(of, &submission, relations),
            submission,
        }))
    });
    let related = concurrently(reads).await?;
    let mut related: Vec<_> = related.into_iter().flatten().collect();
    related.sort_by_key(|other| std::cmp::Reverse(other.submission.created_at));
    Ok(related)
}

fn also(of: &Submission, other: &Submission, mut relations: Vec<Relation>) -> Vec<Relation> {
    if of.purchase.is_some()
        && of.purchase == other.purchase
        && !relations.contains(&Relation::Receipt)
    {
        relations.push(Relation::Receipt);
    }
    if is_same_basket(of, other) {
        relations.push(Relation::Basket);
    }
    relations
}

/// As far as products are known.
pub(super) fn is_same_basket(one: &Submission, other: &Submission) -> bool {
    let bought = one
        .receipt
        .as_ref()
        .is_some_and(|receipt| receipt.items_summary.is_some());
    let claimed = one
        .claimed
        .as_ref()
        .is_some_and(|claimed| !claimed.items.is_empty());
    let is_same =
        one.day == other.day && one.claimed == other.claimed && one.receipt == other.receipt;
    is_same && (bought || claimed)
}
