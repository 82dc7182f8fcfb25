//! What no other reviewer has, the longest waiting first.

use std::collections::BTreeSet;

use common::store::review_locks::{LOCK_LIFETIME, ReviewLock, ReviewLocks};
use common::store::submissions::DueSubmission;

use crate::prelude::*;

/// While the list has something free, the index is read at most twice a minute.
const LIST_LIFETIME: Duration = Duration::from_secs(30);
/// One of so many is a spot check.
const SPOT_CHECK_EVERY: u64 = 10;
/// Older decisions tell little about today.
const SPOT_CHECK_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[derive(Clone, Debug)]
pub struct ClaimedSubmission {
    pub submission: Submission,
    pub is_spot_check: bool,
}

#[derive(Clone, Debug)]
struct Listed {
    at: Timestamp,
    waiting: Vec<DueSubmission>,
    spot_checks: Vec<DueSubmission>,
}

#[derive(Debug)]
pub struct ReviewQueue {
    scope: Scope,
    /// A reviewer's name and screen, such as `asha 0123456789abcdef`.
    holder: String,
    listed: Option<Listed>,
    claimed: BTreeSet<SubmissionId>,
    /// Others have it until then, or this reviewer answered or skipped it.
    not_before: HashMap<SubmissionId, Timestamp>,
    given: u64,
    /// Asked for by its id; locked already.
    first: Option<ClaimedSubmission>,
}

#[derive(Clone, Debug)]
pub enum First {
    /// The next one given.
    Claimed,
    HeldBy(String),
    NotWaiting(Box<Submission>),
    /// The second person has to be another one.
    AcceptedByYou,
    Unknown,
}

/// The name of a reviewer with a lock.
pub fn reviewer(holder: &str) -> &str {
    holder.rsplit_once(' ').map_or(holder, |(name, _)| name)
}

impl ReviewQueue {
    pub fn new(scope: Scope, holder: String) -> Self {
        let (listed, claimed, not_before) = (None, BTreeSet::new(), HashMap::new());
        Self {
            scope,
            holder,
            listed,
            claimed,
            not_before,
            given: 0,
            first: None,
        }
    }

    pub async fn next(
        &mut self,
        tables: &Tables,
        locks: &ReviewLocks,
        now: Timestamp,
    ) -> Result<Option<ClaimedSubmission>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let (identity, by) = (
            tables.audit.identity().await?,
            tables.audit.operator_name().await?,
        );
        self.list(tables, now).await?;
        while let Some(id) = self.candidate(now) {
            match locks.acquire(&self.scope, id, &self.holder, now).await? {
                ReviewLock::Held { until, .. } => {
                    // Its lock may be released earlier.
                    self.not_before
                        .insert(id, until.min(now.after(LIST_LIFETIME)));
                    continue;
                }
                ReviewLock::Acquired => {}
            }
            let found = match tables.submissions().get(&self.scope, id).await {
                // Put off, so that it does not block others.
                Err(error) if error.is_unreadable() => None,
                found => found?,
            };
            let wanted = found.and_then(|found| wanted(found, identity, &by));
            if let Some(claimed) = wanted {
                self.claimed.insert(id);
                self.given += 1;
                return Ok(Some(claimed));
            }
            // Settled since the index was read, or not for this reviewer.
            locks.release(&self.scope, id, &self.holder).await?;
            self.not_before.insert(id, now.after(LIST_LIFETIME));
        }
        Ok(None)
    }

    pub async fn put_first(
        &mut self,
        tables: &Tables,
        locks: &ReviewLocks,
        id: SubmissionId,
        now: Timestamp,
    ) -> Result<First> {
        let (identity, by) = (
            tables.audit.identity().await?,
            tables.audit.operator_name().await?,
        );
        let Some(found) = tables.submissions().get(&self.scope, id).await? else {
            return Ok(First::Unknown);
        };
        if found.assignee() != Some(Assignee::Operator) {
            return Ok(First::NotWaiting(Box::new(found)));
        }
        let Some(claimed) = wanted(found, identity, &by) else {
            return Ok(First::AcceptedByYou);
        };
        Ok(
            match locks.acquire(&self.scope, id, &self.holder, now).await? {
                ReviewLock::Held { holder, .. } => First::HeldBy(reviewer(&holder).to_owned()),
                ReviewLock::Acquired => {
                    self.claimed.insert(id);
                    self.first = Some(claimed);
                    First::Claimed
                }
            },
        )
    }

    /// True while the submission is on this screen.
    pub fn has(&self, id: SubmissionId) -> bool {
        self.claimed.contains(&id)
    }

    /// Returns the locks that others have taken.
    pub async fn renew(
        &mut self,
        locks: &ReviewLocks,
        now: Timestamp,
    ) -> Result<Vec<SubmissionId>> {
        let mut lost = Vec::new();
        for id in self.claimed.clone() {
            if let ReviewLock::Held { until, .. } =
                locks.acquire(&self.scope, id, &self.holder, now).await?
            {
                self.claimed.remove(&id);
                self.not_before.insert(id, until);
                lost.push(id);
            }
        }
        Ok(lost)
    }

    /// Leaves the lock to expire.
    pub fn answered(&mut self, id: SubmissionId, now: Timestamp) {
        self.claimed.remove(&id);
        self.not_before.insert(id, now.after(LOCK_LIFETIME));
    }

    /// Leaves it to others; comes back when nothing else waits, after two minutes at the earliest.
    pub async fn skip(
        &mut self,
        locks: &ReviewLocks,
        id: SubmissionId,
        now: Timestamp,
    ) -> Result<()> {
        self.answered(id, now);
        Ok(locks.release(&self.scope, id, &self.holder).await?)
    }

    /// Leaves all to others except `but`, which have answers.
    pub async fn leave(&mut self, locks: &ReviewLocks, but: &[SubmissionId]) -> Result<()> {
        for id in self
            .claimed
            .clone()
            .into_iter()
            .filter(|id| !but.contains(id))
        {
            locks.release(&self.scope, id, &self.holder).await?;
            self.claimed.remove(&id);
        }
        Ok(())
    }

    /// When the index was last read, with the first's start of waiting.
    pub fn waiting(&self) -> (usize, Option<Timestamp>) {
        let waiting = self
            .listed
            .as_ref()
            .map_or(&[][..], |listed| &listed.waiting);
        (
            waiting.len(),
            waiting.first().map(|first| first.next_step_at),
        )
    }

    async fn list(&mut self, tables: &Tables, now: Timestamp) -> Result<()> {
        let is_fresh = self
            .listed
            .as_ref()
            .is_some_and(|listed| now.since(listed.at) < LIST_LIFETIME);
        if is_fresh && self.candidate(now).is_some() {
            return Ok(());
        }
        let submissions = tables.submissions();
        let waiting = submissions.waiting_for_operator(&self.scope).await?;
        let spot_checks = submissions
            .waiting_for_spot_check(&self.scope, now.before(SPOT_CHECK_AGE))
            .await?;
        self.listed = Some(Listed {
            at: now,
            waiting,
            spot_checks,
        });
        self.not_before.retain(|_, until| *until > now);
        Ok(())
    }

    fn candidate(&self, now: Timestamp) -> Option<SubmissionId> {
        let Listed {
            waiting,
            spot_checks,
            ..
        } = self.listed.as_ref()?;
        let is_free = |id: &SubmissionId| {
            !self.claimed.contains(id) && self.not_before.get(id).is_none_or(|until| *until <= now)
        };
        let first = |list: &[DueSubmission]| list.iter().map(|due| due.submission_id).find(is_free);
        if self.given % SPOT_CHECK_EVERY == SPOT_CHECK_EVERY - 1 {
            first(spot_checks).or_else(|| first(waiting))
        } else {
            first(waiting).or_else(|| first(spot_checks))
        }
    }
}

/// `None` if it is not for this reviewer: the person who decided takes no spot check, and the one
/// who accepted is not the second person.
fn wanted(submission: Submission, identity: &str, by: &str) -> Option<ClaimedSubmission> {
    let waits = submission.assignee() == Some(Assignee::Operator);
    if waits {
        let is_own = submission.was_first_accepted_by(identity, by);
        return (!is_own).then_some(ClaimedSubmission {
            submission,
            is_spot_check: false,
        });
    }
    let decision = submission.decision.as_ref();
    let is_own = decision.is_some_and(|decision| decision.is_by(identity, by));
    (submission.awaits_spot_check() && !is_own).then_some(ClaimedSubmission {
        submission,
        is_spot_check: true,
    })
}
