//! Due submissions, and those that wait for an operator, an approval or a spot check. The index
//! lags.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::try_join_all;

use super::{During, KEY, Submissions, key};
use crate::aws::concurrently;
use crate::domain::retry::unreadable_backoff;
use crate::domain::{
    Assignee, Dependency, Environment, PendingSettlement, RetrySpeedup, Scope, Submission,
    SubmissionId, Timestamp,
};
use crate::store::{
    Item, StoreResult, UnreadableRecord, read_number, read_text, required, table, text,
};

/// Sparse index: partition `unsettled`, sort [`NEXT_STEP`]; a busy campaign cannot hide others.
pub const UNSETTLED: &str = "unsettled-by-campaign";
const SUBMISSION_ID: &str = "submission_id";
/// Scope and time in milliseconds, `campaign#live#0001793260800000`.
pub const NEXT_STEP: &str = "scope_and_next_step";
pub(super) const UNREADABLE_READS: &str = "unreadable_reads";
/// Test submissions are separate: many never settle.
const OPERATOR: &str = "person";
const SPOT_CHECK: &str = "second_look";
/// Settled submissions alone: others wait for an operator anyway.
const APPROVAL: &str = "approval";
/// Each takes a thousand writes a second, and adds a query to every turn.
const TAX_SHARDS: u8 = 4;
const PARTNER_SHARDS: u8 = 16;

/// Sorts before every scope.
const BEFORE_ALL: &str = " ";
const BEGINNING: Timestamp = Timestamp::from_millis(0);
const LISTING: &str = "listing what is not settled";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSubmission {
    pub scope: Scope,
    pub submission_id: SubmissionId,
    /// Next step, or begin of waiting for an operator.
    pub next_step_at: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scopes {
    All,
    FirstDue,
}

impl Submissions {
    /// Scopes take turns, each with its longest due first; `max` of each scope and partition.
    pub async fn due(
        &self,
        dependency: Dependency,
        now: Timestamp,
        max: u8,
    ) -> StoreResult<Vec<DueSubmission>> {
        let found = partitions(dependency)
            .map(|partition| self.due_by_scope(partition, BEFORE_ALL, now, max, Scopes::All));
        let mut due = try_join_all(found).await?.concat();
        due.sort_by_key(|due| due.next_step_at);
        let mut turns = HashMap::new();
        due.sort_by_cached_key(|due| {
            let turn = turns.entry(due.scope.clone()).or_insert(0u32);
            *turn += 1;
            *turn
        });
        Ok(due)
    }

    /// Longest due of the scope after `last_turn`, in the order of keys, and around.
    pub async fn next_due(
        &self,
        dependency: Dependency,
        last_turn: Option<&Scope>,
        now: Timestamp,
    ) -> StoreResult<Option<DueSubmission>> {
        let after_last = last_turn.map(after);
        for bound in after_last.as_deref().into_iter().chain([BEFORE_ALL]) {
            let firsts = partitions(dependency)
                .map(|partition| self.due_by_scope(partition, bound, now, 1, Scopes::FirstDue));
            let firsts = try_join_all(firsts).await?.concat();
            let next = firsts
                .into_iter()
                .min_by_key(|due| (due.scope.key(""), due.next_step_at));
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }

    pub async fn longest_waiting_for_a_person(
        &self,
        environment: Environment,
    ) -> StoreResult<Option<Timestamp>> {
        let waiting = self
            .due_by_scope(
                operator_partition(environment),
                BEFORE_ALL,
                Timestamp::MAX,
                1,
                Scopes::All,
            )
            .await?;
        Ok(waiting.into_iter().map(|due| due.next_step_at).min())
    }

    /// Longest due first, with unreadable records.
    pub async fn list_unsettled(
        &self,
        scope: &Scope,
    ) -> StoreResult<(Vec<Submission>, Vec<UnreadableRecord>)> {
        let mut all = self.unsettled(scope).await?;
        all.sort_by_key(|due| due.next_step_at);
        self.read_unsettled(all).await
    }

    /// Keeps the order; includes unreadable records.
    pub async fn read_unsettled(
        &self,
        due: Vec<DueSubmission>,
    ) -> StoreResult<(Vec<Submission>, Vec<UnreadableRecord>)> {
        let reads = due.into_iter().map(|due| async move {
            match self.get(&due.scope, due.submission_id).await {
                Ok(found) => Ok(Ok(found)),
                Err(error) => error.into_unreadable().map(Err),
            }
        });
        let read = concurrently(reads).await?;
        let (mut found, mut unreadable) = (Vec::new(), Vec::new());
        for one in read {
            match one {
                // The index may lag.
                Ok(submission) => found.extend(submission.filter(|found: &Submission| {
                    found.settling.is_some() || found.approval.is_some()
                })),
                Err(record) => unreadable.push(record),
            }
        }
        Ok((found, unreadable))
    }

    pub async fn count_unsettled(&self, scope: &Scope) -> StoreResult<usize> {
        self.unsettled(scope).await.map(|found| found.len())
    }

    pub async fn count_due(
        &self,
        dependency: Dependency,
        now: Timestamp,
    ) -> StoreResult<HashMap<Scope, u64>> {
        let found = partitions(dependency).map(|partition| async move {
            listed_by(self.query_unsettled(&partition, "", [])).await
        });
        let mut counts = HashMap::new();
        for due in try_join_all(found)
            .await?
            .into_iter()
            .flatten()
            .filter(|due| due.next_step_at <= now)
        {
            *counts.entry(due.scope).or_default() += 1;
        }
        Ok(counts)
    }

    /// Unordered.
    pub async fn unsettled(&self, scope: &Scope) -> StoreResult<Vec<DueSubmission>> {
        let partitions = Dependency::ALL.into_iter().flat_map(partitions);
        let partitions = partitions.chain([operator_partition(scope.environment)]);
        let found = partitions.map(|partition| self.listed_of_scope(partition, scope, BEGINNING));
        Ok(try_join_all(found).await?.concat())
    }

    pub async fn waiting_for_operator(&self, scope: &Scope) -> StoreResult<Vec<DueSubmission>> {
        self.listed_of_scope(operator_partition(scope.environment), scope, BEGINNING)
            .await
    }

    pub async fn newest_waiting_for_operator(
        &self,
        scope: &Scope,
    ) -> StoreResult<Option<DueSubmission>> {
        let partition = operator_partition(scope.environment);
        let query = self.query_unsettled_of(&partition, scope, BEGINNING);
        let query = query.scan_index_forward(false).limit(1);
        let reply = query.send().await.during(LISTING)?;
        Ok(reply.items.unwrap_or_default().first().and_then(read_due))
    }

    pub async fn count_waiting_for_operator(&self, scope: &Scope) -> StoreResult<u64> {
        let partition = operator_partition(scope.environment);
        let query = self.query_unsettled_of(&partition, scope, BEGINNING);
        table::count(query, LISTING).await
    }

    /// Settled submissions whose correction a second person has to approve.
    pub async fn waiting_for_approval(&self, scope: &Scope) -> StoreResult<Vec<DueSubmission>> {
        self.listed_of_scope(approval_partition(scope.environment), scope, BEGINNING)
            .await
    }

    /// Earliest settled first.
    pub async fn waiting_for_spot_check(
        &self,
        scope: &Scope,
        since: Timestamp,
    ) -> StoreResult<Vec<DueSubmission>> {
        self.listed_of_scope(spot_check_partition(scope.environment), scope, since)
            .await
    }

    async fn due_by_scope(
        &self,
        partition: String,
        bound: &str,
        now: Timestamp,
        max: u8,
        scopes: Scopes,
    ) -> StoreResult<Vec<DueSubmission>> {
        let mut bound = bound.to_owned();
        let mut found = Vec::new();
        loop {
            let after_bound = " AND #scope_and_next_step > :bound";
            let query = self
                .query_unsettled(&partition, after_bound, [(":bound", text(&bound))])
                .limit(i32::from(max));
            let reply = query.send().await.during(LISTING)?;
            let items = reply.items.unwrap_or_default();
            let Some(first) = items.first() else {
                return Ok(found);
            };
            let next_step = required(read_text(first, NEXT_STEP), LISTING)?;
            let Some((scope, _)) = Scope::split_key(next_step) else {
                // Another build's key: continue after it.
                bound = next_step.to_owned();
                continue;
            };
            bound = after(&scope);
            found.extend(
                items
                    .iter()
                    .filter_map(read_due)
                    .filter(|due| due.scope == scope && due.next_step_at <= now),
            );
            if scopes == Scopes::FirstDue && !found.is_empty() {
                return Ok(found);
            }
        }
    }

    async fn listed_of_scope(
        &self,
        partition: String,
        scope: &Scope,
        since: Timestamp,
    ) -> StoreResult<Vec<DueSubmission>> {
        listed_by(self.query_unsettled_of(&partition, scope, since)).await
    }

    fn query_unsettled_of(
        &self,
        partition: &str,
        scope: &Scope,
        since: Timestamp,
    ) -> QueryFluentBuilder {
        let within = " AND #scope_and_next_step BETWEEN :since AND :end";
        let since = (":since", text(next_step(scope, since)));
        let values = [since, (":end", text(after(scope)))];
        self.query_unsettled(partition, within, values)
    }

    fn query_unsettled<const N: usize>(
        &self,
        partition: &str,
        condition: &str,
        values: [(&str, AttributeValue); N],
    ) -> QueryFluentBuilder {
        let condition = format!("#unsettled = :partition{condition}");
        self.table
            .query(&condition, values)
            .expression_attribute_values(":partition", text(partition))
            .index_name(UNSETTLED)
    }

    /// Others continue. A timeline of two workers: both find the record; the first moves its next
    /// step; the second's condition fails.
    pub async fn postpone_unreadable(
        &self,
        scope: &Scope,
        id: SubmissionId,
        now: Timestamp,
        speedup: RetrySpeedup,
    ) -> StoreResult<()> {
        const ACTION: &str = "putting a submission off that cannot be read";
        let Some(item) = self.table.get(key(scope, id.reference()), ACTION).await? else {
            return Ok(());
        };
        let Some(due) = parse_due(&item).filter(|due| due.next_step_at <= now) else {
            return Ok(());
        };
        let reads: u32 = read_number(&item, UNREADABLE_READS).unwrap_or(0);
        let later = now.after(speedup.apply(unreadable_backoff(reads)));
        self.table
            .update(key(scope, id.reference()))
            .set(NEXT_STEP, next_step(scope, later))
            .set(UNREADABLE_READS, reads.saturating_add(1))
            .when_equal(NEXT_STEP, next_step(scope, due.next_step_at))
            .send(ACTION)
            .await
            .map(drop)
    }
}

async fn listed_by(query: QueryFluentBuilder) -> StoreResult<Vec<DueSubmission>> {
    let items = table::all(query, LISTING).await?;
    Ok(items.iter().filter_map(read_due).collect())
}

fn read_due(item: &Item) -> Option<DueSubmission> {
    let due = parse_due(item);
    if due.is_none() {
        tracing::error!(
            key = read_text(item, KEY),
            "an entry of the index of due submissions cannot be read"
        );
    }
    due
}

fn parse_due(item: &Item) -> Option<DueSubmission> {
    let stored_key = read_text(item, KEY)?;
    let (scope, _) = Scope::split_key(stored_key)?;
    let submission_id: SubmissionId = read_text(item, SUBMISSION_ID)?.parse().ok()?;
    let (_, millis) = read_text(item, NEXT_STEP)?.rsplit_once('#')?;
    let next_step_at = Timestamp::from_millis(millis.parse().ok()?);
    let is_its_key = stored_key == key(&scope, submission_id.reference());
    is_its_key.then_some(DueSubmission {
        scope,
        submission_id,
        next_step_at,
    })
}

/// Padded for the next 30,000 years.
fn next_step(scope: &Scope, at: Timestamp) -> String {
    scope.key(format_args!("{:016}", at.as_millis().max(0)))
}

/// Sort key between a scope and the next: `$` follows their `#`.
fn after(scope: &Scope) -> String {
    format!("{scope}$")
}

pub(super) fn listed(submission: &Submission) -> Option<(String, String)> {
    let scope = &submission.scope;
    match (&submission.settling, &submission.approval) {
        (Some(settling), _) => Some((
            partition(settling, submission),
            next_step(scope, settling.next_step_at),
        )),
        (None, Some(first)) => Some((
            approval_partition(scope.environment),
            next_step(scope, first.decision.at),
        )),
        (None, None) if submission.awaits_spot_check() => Some((
            spot_check_partition(scope.environment),
            next_step(scope, submission.real_time(submission.updated_at)),
        )),
        (None, None) => None,
    }
}

fn partition(settling: &PendingSettlement, submission: &Submission) -> String {
    match settling.assignee {
        Assignee::Service => {
            // Random ids spread evenly.
            let byte = submission.submission_id.first_byte();
            let dependency = settling.progress.dependency();
            shard(dependency, byte % shards(dependency))
        }
        Assignee::Operator => operator_partition(submission.scope.environment),
    }
}

fn partitions(dependency: Dependency) -> impl Iterator<Item = String> {
    (0..shards(dependency)).map(move |number| shard(dependency, number))
}

fn shards(dependency: Dependency) -> u8 {
    match dependency {
        Dependency::TaxAuthority => TAX_SHARDS,
        Dependency::Partner => PARTNER_SHARDS,
    }
}

fn shard(dependency: Dependency, number: u8) -> String {
    format!("{}#{number}", dependency.as_str())
}

fn operator_partition(environment: Environment) -> String {
    format!("{OPERATOR}#{environment}")
}

fn spot_check_partition(environment: Environment) -> String {
    format!("{SPOT_CHECK}#{environment}")
}

fn approval_partition(environment: Environment) -> String {
    format!("{APPROVAL}#{environment}")
}
