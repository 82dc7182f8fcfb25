//! Longest waiting first.

use common::store::review_locks::{ReviewLock, ReviewLocks};

use super::answer::{ReviewDecision, ReviewResult, write};
use super::queue::reviewer;
use super::related::is_same_basket;
use crate::prelude::*;
use crate::settle::Verdict;
use crate::submissions::view::partner_progress;

/// Records read for one page: the index has no reasons.
pub const PAGE: usize = 500;

#[derive(Debug)]
pub struct WaitingPage {
    pub total: usize,
    /// Without the ones settled since.
    pub submissions: Vec<Submission>,
    pub unreadable: usize,
}

impl WaitingPage {
    pub async fn read(tables: &Tables, scope: &Scope, from: usize) -> Result<Self> {
        let submissions = tables.submissions();
        let waiting = submissions.waiting_for_operator(scope).await?;
        let total = waiting.len();
        let reads = waiting
            .into_iter()
            .skip(from)
            .take(PAGE)
            .map(|due| async move {
                match submissions.get(scope, due.submission_id).await {
                    Ok(found) => Ok(found.map(Ok)),
                    Err(error) => error.into_unreadable().map(|record| Some(Err(record))),
                }
            });
        let read = concurrently(reads).await?;
        let (mut found, mut unreadable) = (Vec::new(), 0);
        for one in read.into_iter().flatten() {
            match one {
                Ok(submission) if waits(&submission) => found.push(submission),
                Ok(_) => {}
                Err(_) => unreadable += 1,
            }
        }
        Ok(Self {
            total,
            submissions: found,
            unreadable,
        })
    }

    pub fn reasons(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for reason in self.submissions.iter().flat_map(|one| &one.reasons) {
            *counts.entry(reason.as_str()).or_default() += 1;
        }
        counts
    }

    /// This submission, those with its basket, and those named; they may be on another page.
    pub async fn alike(
        self,
        tables: &Tables,
        scope: &Scope,
        id: SubmissionId,
        named: &[SubmissionId],
    ) -> Result<Vec<Submission>> {
        let submissions = tables.submissions();
        let is_here = |id| self.submissions.iter().any(|one| one.submission_id == id);
        let mut ids: Vec<_> = named.iter().copied().chain([id]).collect();
        ids.retain(|id| !is_here(*id));
        ids.sort_unstable();
        ids.dedup();
        let reads = ids
            .into_iter()
            .map(|id| async move { Ok::<_, Failure>(submissions.get(scope, id).await?) });
        let elsewhere = concurrently(reads).await?.into_iter().flatten();
        let mut all: Vec<_> = elsewhere.filter(waits).chain(self.submissions).collect();
        let this = all.iter().find(|one| one.submission_id == id).cloned();
        all.retain(|one| {
            one.submission_id == id
                || named.contains(&one.submission_id)
                || this.as_ref().is_some_and(|this| is_same_basket(this, one))
        });
        Ok(all)
    }
}

fn waits(submission: &Submission) -> bool {
    submission.assignee() == Some(Assignee::Operator)
}

#[derive(Debug)]
pub enum Rejection {
    Rejected,
    HeldBy(String),
    Refused(Failure),
}

/// With its lock, its revision and its own row.
pub async fn reject(
    tables: &Tables,
    locks: &ReviewLocks,
    scope: &Scope,
    (submission_id, revision): (SubmissionId, u32),
    reason: MessageKey,
    (holder, now): (&str, Timestamp),
) -> Rejection {
    match locks.acquire(scope, submission_id, holder, now).await {
        Ok(ReviewLock::Acquired) => {}
        Ok(ReviewLock::Held { holder, .. }) => {
            return Rejection::HeldBy(reviewer(&holder).to_owned());
        }
        Err(error) => return Rejection::Refused(error.into()),
    }
    let decision = ReviewDecision {
        submission_id,
        revision,
        is_spot_check: false,
        verdict: Verdict::Reject(reason),
        looked_up: None,
    };
    let written = Box::pin(write_unless_redeemed(tables, scope, &decision, now)).await;
    // An unreleased lock ends within two minutes.
    drop(locks.release(scope, submission_id, holder).await);
    match written {
        Ok(ReviewResult::Decided(_) | ReviewResult::SpotCheck(_)) => Rejection::Rejected,
        Ok(ReviewResult::ReceiptTaken(other)) => Rejection::Refused(failure!(
            "purchase_taken",
            "{} has the receipt",
            other.reference()
        )),
        Err(failure) => Rejection::Refused(failure),
    }
}

async fn write_unless_redeemed(
    tables: &Tables,
    scope: &Scope,
    decision: &ReviewDecision,
    now: Timestamp,
) -> Result<ReviewResult> {
    let found = tables
        .submissions()
        .get(scope, decision.submission_id)
        .await?;
    let progress = found.as_ref().and_then(partner_progress);
    if progress.is_some_and(|progress| progress.maybe_redeemed) {
        bail!(
            "maybe_redeemed",
            "the partner may have redeemed the code: ask it about the id, then reject this one alone \
             with `ops submission settle`"
        );
    }
    // Each decision needs a row of its own.
    let tables = tables.for_next_command()?;
    write(&tables, scope, decision, now).await
}
