//! The list of what waits for a person, read from its index, longest waiting first.

use common::store::review_locks::{ReviewLock, ReviewLocks};

use super::answer::{ReviewDecision, ReviewResult, write};
use super::queue::reviewer;
use super::related::is_same_basket;
use crate::prelude::*;
use crate::settle::Verdict;

/// Records read for one page: the index has no reasons.
pub const PAGE: usize = 500;

#[derive(Debug)]
pub struct WaitingPage {
    /// All that wait.
    pub total: usize,
    /// Those of this page, without the ones settled since.
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

    /// Number of submissions by reason.
    pub fn reasons(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for reason in self.submissions.iter().flat_map(|one| &one.reasons) {
            *counts.entry(reason.as_str()).or_default() += 1;
        }
        counts
    }

    /// This submission, those with its basket, and those named, such as by the same file.
    pub fn alike(&self, id: SubmissionId, named: &[SubmissionId]) -> Vec<&Submission> {
        let this = self.submissions.iter().find(|one| one.submission_id == id);
        let is_alike = |one: &&Submission| {
            one.submission_id == id
                || named.contains(&one.submission_id)
                || this.is_some_and(|this| is_same_basket(this, one))
        };
        self.submissions.iter().filter(is_alike).collect()
    }
}

fn waits(submission: &Submission) -> bool {
    submission.assignee() == Some(Assignee::Operator)
}

#[derive(Debug)]
pub enum Rejection {
    Rejected,
    /// The reviewer who has it.
    HeldBy(String),
    Refused(Failure),
}

/// Rejects one of many as a reviewer's answer does: with its lock, its revision and its own row.
pub async fn reject(
    tables: &Tables,
    locks: &ReviewLocks,
    scope: &Scope,
    (submission_id, revision): (SubmissionId, u32),
    reason: MessageKey,
    (holder, now): (&str, Timestamp),
) -> Result<Rejection> {
    let lock = locks.acquire(scope, submission_id, holder, now).await?;
    if let ReviewLock::Held { holder, .. } = lock {
        return Ok(Rejection::HeldBy(reviewer(&holder).to_owned()));
    }
    let decision = ReviewDecision {
        submission_id,
        revision,
        is_spot_check: false,
        verdict: Verdict::Reject(reason),
    };
    // Each decision needs a row of its own.
    let written = match tables.for_next_command() {
        Ok(tables) => Box::pin(write(&tables, scope, &decision, now)).await,
        Err(error) => Err(error.into()),
    };
    locks.release(scope, submission_id, holder).await?;
    Ok(match written {
        Ok(ReviewResult::Decided(_) | ReviewResult::SpotCheck(_)) => Rejection::Rejected,
        Ok(ReviewResult::ReceiptTaken(other)) => Rejection::Refused(failure!(
            "purchase_taken",
            "{} has the receipt",
            other.reference()
        )),
        Err(failure) => Rejection::Refused(failure),
    })
}
