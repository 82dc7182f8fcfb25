//! The `submissions` table: every submission by id, with indexes by entrant, by reference, and of what
//! is not settled by its next step.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::builders::PutBuilder;
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};

use super::{Item, StoreError, made, number, read_number, read_text, required, text};
use crate::config::{ConfigError, Env};
use crate::domain::ids::{Reference, SubmissionId};
use crate::domain::moment::Moment;
use crate::domain::phone::Phone;
use crate::domain::scope::{Environment, Scope};
use crate::domain::settling::{Counterpart, Hasten, Settling, Turn};
use crate::domain::submission::{Standing, Submission};

/// The partition key: scope and submission id.
pub const KEY: &str = "id";
/// The environment variable that names the table.
pub const VARIABLE: &str = "SUBMISSIONS_TABLE";
/// The index by entrant, newest first: partition `entrant`, sort `created_at`.
pub const BY_ENTRANT: &str = "by-entrant";
/// What the index by entrant carries, besides its keys.
pub const BY_ENTRANT_CARRIES: [&str; 4] = ["submission_id", "reference", "standing", "day"];
/// The index by reference, for operators: partition `reference`; it carries keys alone.
pub const BY_REFERENCE: &str = "by-reference";

/// The sparse index of what is not settled: partition `unsettled`, sort [`NEXT_STEP`]; it carries keys alone. Each
/// partition lists campaign after campaign, so that one with much to do hides no other.
pub const UNSETTLED: &str = "unsettled-by-campaign";
/// The sort key of that index: scope and the time of the next step in milliseconds, `campaign#live#0001793260800000`.
pub const NEXT_STEP: &str = "scope_and_next_step";
/// How often a step found that a submission cannot be read.
const UNREADABLE_READS: &str = "unreadable_reads";
/// Waits before a submission that cannot be read is due again, in minutes; the last one repeats.
const UNREADABLE_WAITS: [u64; 4] = [15, 60, 180, 360];
/// The partitions of submissions that wait for a person begin with this; live ones and those of tests are
/// kept apart, since tests are left lying.
const FOR_A_PERSON: &str = "person";
/// Partitions of what the tax authority is asked about. Each takes a thousand writes a second, and each costs a query
/// for whose turn it is.
const TAX_SHARDS: u8 = 4;
/// Partitions of what partners are asked about.
const PARTNER_SHARDS: u8 = 16;

/// A sort key before every scope's.
const BEFORE_ALL: &str = " ";
/// What is being done when the index fails.
const LISTING: &str = "listing what is not settled";

/// Submissions that are read at once where many are.
const AT_ONCE: usize = 16;

/// Which campaigns and environments of a partition are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scopes {
    All,
    /// The first that has something due.
    FirstDue,
}

/// A submission in the table.
#[derive(Serialize, Deserialize)]
struct Stored {
    id: String,
    entrant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsettled: Option<String>,
    #[serde(rename = "scope_and_next_step", skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
    #[serde(flatten)]
    submission: Submission,
}

/// An unsettled submission, as its index carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// What it belongs to.
    pub scope: Scope,
    /// Its id.
    pub submission_id: SubmissionId,
    /// When its next step is due, or since when a person has to look.
    pub next_step_at: Moment,
}

/// A submission as the index by entrant carries it.
#[derive(Clone, Debug, Deserialize)]
pub struct Recent {
    /// Its id.
    pub submission_id: SubmissionId,
    /// Its reference.
    pub reference: Reference,
    /// How it stands.
    pub standing: Standing,
    /// The campaign's day it was made on.
    pub day: String,
}

/// The table.
#[derive(Clone, Debug)]
pub struct Submissions {
    client: Client,
    table: String,
}

impl Submissions {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { client: client.clone(), table: env.required(VARIABLE)? })
    }

    /// The piece of a transaction that writes a new submission.
    pub(crate) fn create(&self, submission: &Submission) -> Result<Put, StoreError> {
        self.put(submission)?
            // An id is random; should one ever come twice, the first submission stays.
            .condition_expression("attribute_not_exists(id)")
            .build()
            .map_err(StoreError::during("writing a submission"))
    }

    fn put(&self, submission: &Submission) -> Result<PutBuilder, StoreError> {
        let settling = submission.settling.as_ref();
        let stored = Stored {
            id: item_key(&submission.scope, submission.submission_id),
            entrant: entrant_key(&submission.scope, &submission.phone),
            unsettled: settling.map(|settling| partition(settling, submission)),
            next_step: settling.map(|settling| next_step(&submission.scope, settling.next_step_at)),
            submission: submission.clone(),
        };
        let item = to_item(stored).map_err(StoreError::during("writing a submission"))?;
        Ok(Put::builder()
            .table_name(&self.table)
            .set_item(Some(item))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld))
    }

    /// The piece of a transaction that writes a changed submission over the one it was made from.
    ///
    /// A timeline of two workers with one submission: both read revision 3; the first writes revision 4;
    /// the second's condition fails, so what it did counts for nothing.
    pub(crate) fn change(&self, before: &Submission, after: &Submission) -> Result<Put, StoreError> {
        self.put(after)?
            .condition_expression("revision = :before")
            .expression_attribute_values(":before", number(before.revision))
            .build()
            .map_err(StoreError::during("changing a submission"))
    }

    /// A submission of a scope, or `None`.
    ///
    /// # Errors
    /// When the table does not answer, or the record cannot be read.
    pub async fn get(&self, scope: &Scope, id: SubmissionId) -> Result<Option<Submission>, StoreError> {
        self.get_by_key(item_key(scope, id)).await
    }

    async fn get_by_key(&self, key: String) -> Result<Option<Submission>, StoreError> {
        self.get_item(key).await?.map(read).transpose()
    }

    async fn get_item(&self, key: String) -> Result<Option<Item>, StoreError> {
        let reply = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(KEY, text(key))
            .consistent_read(true)
            .send()
            .await
            .map_err(StoreError::during("reading a submission"))?;
        Ok(reply.item)
    }

    /// A phone's latest submissions, newest first, at most `most`.
    ///
    /// # Errors
    /// When the index does not answer, or a record cannot be read.
    pub async fn recent(&self, scope: &Scope, phone: &Phone, most: u8) -> Result<Vec<Recent>, StoreError> {
        const ACTION: &str = "looking a phone's submissions up";
        let reply = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(BY_ENTRANT)
            .key_condition_expression("entrant = :entrant")
            .expression_attribute_values(":entrant", text(entrant_key(scope, phone)))
            .scan_index_forward(false)
            .limit(i32::from(most))
            .send()
            .await
            .map_err(StoreError::during(ACTION))?;
        let items = reply.items.unwrap_or_default();
        items.into_iter().map(|item| from_item(item).map_err(StoreError::during(ACTION))).collect()
    }

    /// What the service has to settle and is due by now: of each campaign and environment the longest due first, at
    /// most `max` of each partition, and the campaigns in turns.
    ///
    /// # Errors
    /// When the index does not answer.
    pub async fn due(&self, counterpart: Counterpart, now: Moment, max: u8) -> Result<Vec<Due>, StoreError> {
        let found = partitions(counterpart)
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

    /// The longest due of the next campaign and environment, in the order of their keys, after the one that had the
    /// last turn; from the beginning again after the last of them.
    ///
    /// # Errors
    /// When the index does not answer.
    pub async fn next_due(
        &self,
        counterpart: Counterpart,
        last_turn: Option<&Scope>,
        now: Moment,
    ) -> Result<Option<Due>, StoreError> {
        let after_last = last_turn.map(after);
        for bound in after_last.as_deref().into_iter().chain([BEFORE_ALL]) {
            let firsts = partitions(counterpart)
                .map(|partition| self.due_by_scope(partition, bound, now, 1, Scopes::FirstDue));
            let firsts = try_join_all(firsts).await?.concat();
            let next = firsts.into_iter().min_by_key(|due| (due.scope.key(""), due.next_step_at));
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }

    /// Since when the longest waiting submission waits for a person.
    ///
    /// # Errors
    /// When the index does not answer.
    pub async fn longest_waiting_for_a_person(
        &self,
        environment: Environment,
    ) -> Result<Option<Moment>, StoreError> {
        let end = Moment::from_millis(i64::MAX);
        let waiting = self.due_by_scope(for_a_person(environment), BEFORE_ALL, end, 1, Scopes::All).await?;
        Ok(waiting.into_iter().map(|due| due.next_step_at).min())
    }

    /// Everything of a scope that is not settled, the longest due first, but for records that cannot be read. For
    /// operators.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn list_unsettled(&self, scope: &Scope) -> Result<Vec<Submission>, StoreError> {
        let partitions = Counterpart::ALL.into_iter().flat_map(partitions);
        let partitions = partitions.chain([for_a_person(scope.environment)]);
        let found = partitions.map(|partition| self.unsettled_of_scope(partition, scope));
        let mut all = try_join_all(found).await?.concat();
        all.sort_by_key(|due| due.next_step_at);
        let reads = all.into_iter().map(|due| async move {
            match self.get(scope, due.submission_id).await {
                // Of a newer build: an alarm tells of it, and the others are listed all the same.
                Err(error) if error.is_unreadable() => Ok(None),
                found => found,
            }
        });
        let found: Vec<_> = stream::iter(reads).buffered(AT_ONCE).try_collect().await?;
        // The index may lag behind the table.
        Ok(found.into_iter().flatten().filter(|found| found.settling.is_some()).collect())
    }

    /// What is due of a partition: campaign after campaign from after `bound` on, at most `max` of each.
    async fn due_by_scope(
        &self,
        partition: String,
        bound: &str,
        now: Moment,
        max: u8,
        scopes: Scopes,
    ) -> Result<Vec<Due>, StoreError> {
        let mut bound = bound.to_owned();
        let mut found = Vec::new();
        loop {
            let query = self
                .query_unsettled(&partition)
                .key_condition_expression("unsettled = :partition AND #next_step > :bound")
                .expression_attribute_names("#next_step", NEXT_STEP)
                .expression_attribute_values(":bound", text(&bound))
                .limit(i32::from(max));
            let reply = query.send().await.map_err(StoreError::during(LISTING))?;
            let items = reply.items.unwrap_or_default();
            let Some(first) = items.first() else { return Ok(found) };
            let next_step = required(read_text(first, NEXT_STEP), LISTING)?;
            let Some((scope, _)) = Scope::split_key(next_step) else {
                // Not a key of this build: the next one is looked at.
                bound = next_step.to_owned();
                continue;
            };
            bound = after(&scope);
            found.extend(
                items.iter().filter_map(read_due).filter(|due| due.scope == scope && due.next_step_at <= now),
            );
            if scopes == Scopes::FirstDue && !found.is_empty() {
                return Ok(found);
            }
        }
    }

    async fn unsettled_of_scope(&self, partition: String, scope: &Scope) -> Result<Vec<Due>, StoreError> {
        let query = self
            .query_unsettled(&partition)
            .key_condition_expression("unsettled = :partition AND begins_with(#next_step, :scope)")
            .expression_attribute_names("#next_step", NEXT_STEP)
            .expression_attribute_values(":scope", text(scope.key("")));
        let items = query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await;
        Ok(items.map_err(StoreError::during(LISTING))?.iter().filter_map(read_due).collect())
    }

    fn query_unsettled(&self, partition: &str) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.table)
            .index_name(UNSETTLED)
            .expression_attribute_values(":partition", text(partition))
    }

    /// Makes a submission that cannot be read due again later, so that it keeps no other from its turn: a newer
    /// build may have written it, which can read it once it is back.
    ///
    /// A timeline of two workers: both meet the record; the first moves its next step; the second's condition fails.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn postpone_unreadable(
        &self,
        scope: &Scope,
        id: SubmissionId,
        now: Moment,
        hasten: Hasten,
    ) -> Result<(), StoreError> {
        const ACTION: &str = "putting a submission off that cannot be read";
        let Some(item) = self.get_item(item_key(scope, id)).await? else { return Ok(()) };
        let Some(due) = read_due(&item).filter(|due| due.next_step_at <= now) else { return Ok(()) };
        let reads: u32 = read_number(&item, UNREADABLE_READS).unwrap_or(0);
        let index = usize::try_from(reads).unwrap_or(usize::MAX);
        let minutes = UNREADABLE_WAITS.get(index).or(UNREADABLE_WAITS.last()).copied().unwrap_or_default();
        let later = now.after(hasten.apply(Duration::from_secs(minutes * 60)));
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key(KEY, text(item_key(scope, id)))
            .update_expression("SET #next_step = :later, #reads = :reads")
            .condition_expression("#next_step = :seen")
            .expression_attribute_names("#next_step", NEXT_STEP)
            .expression_attribute_names("#reads", UNREADABLE_READS)
            .expression_attribute_values(":later", text(next_step(scope, later)))
            .expression_attribute_values(":reads", number(reads.saturating_add(1)))
            .expression_attribute_values(":seen", text(next_step(scope, due.next_step_at)));
        made(update.send().await, ACTION).map(drop)
    }

    /// The submissions with this reference, of any scope: rarely more than one.
    ///
    /// # Errors
    /// When the index does not answer, or a record cannot be read.
    pub async fn by_reference(&self, reference: &Reference) -> Result<Vec<Submission>, StoreError> {
        const ACTION: &str = "looking a reference up";
        let reply = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(BY_REFERENCE)
            .key_condition_expression("#reference = :reference")
            .expression_attribute_names("#reference", "reference")
            .expression_attribute_values(":reference", text(reference.clone()))
            .send()
            .await
            .map_err(StoreError::during(ACTION))?;
        let mut found = Vec::new();
        for item in reply.items.unwrap_or_default() {
            if let Some(key) = read_text(&item, KEY) {
                found.extend(self.get_by_key(key.to_owned()).await?);
            }
        }
        Ok(found)
    }

    /// Every submission of a scope that `wanted` picks, newest first, at most `most`. For operators:
    /// it reads the whole table.
    ///
    /// # Errors
    /// When the table does not answer, or a record cannot be read.
    pub async fn list(
        &self,
        scope: &Scope,
        most: usize,
        wanted: impl Fn(&Submission) -> bool,
    ) -> Result<Vec<Submission>, StoreError> {
        let mut pages = self
            .client
            .scan()
            .table_name(&self.table)
            .filter_expression("begins_with(id, :scope)")
            .expression_attribute_values(":scope", text(scope.key("")))
            .into_paginator()
            .items()
            .send();
        let mut newest: Vec<Submission> = Vec::new();
        while let Some(item) = pages.next().await {
            let submission = read(item.map_err(StoreError::during("listing submissions"))?)?;
            if wanted(&submission) {
                newest.push(submission);
                // Cut back now and then, so that memory does not grow with the table.
                if newest.len() >= most.saturating_mul(2) {
                    keep_newest(&mut newest, most);
                }
            }
        }
        keep_newest(&mut newest, most);
        Ok(newest)
    }
}

fn keep_newest(submissions: &mut Vec<Submission>, most: usize) {
    submissions.sort_by_key(|submission| std::cmp::Reverse(submission.created_at));
    submissions.truncate(most);
}

/// Reads a submission.
pub(crate) fn read(item: Item) -> Result<Submission, StoreError> {
    let stored: Stored = from_item(item).map_err(StoreError::during("reading a submission"))?;
    Ok(stored.submission)
}

/// What the index tells of a submission; `None` when it is not understood.
fn read_due(item: &Item) -> Option<Due> {
    let (scope, id) = Scope::split_key(read_text(item, KEY)?)?;
    let (_, millis) = read_text(item, NEXT_STEP)?.rsplit_once('#')?;
    let next_step_at = Moment::from_millis(millis.parse().ok()?);
    Some(Due { submission_id: id.parse().ok()?, scope, next_step_at })
}

/// The sort key of an unsettled submission; times have as many digits as the latest one needs for 30,000 years.
fn next_step(scope: &Scope, at: Moment) -> String {
    scope.key(format_args!("{:016}", at.as_millis().max(0)))
}

/// A sort key after all of a scope's and before the next one's: `$` comes right after the `#` of a scope's own.
fn after(scope: &Scope) -> String {
    format!("{scope}$")
}

fn partition(settling: &Settling, submission: &Submission) -> String {
    match settling.turn {
        Turn::Service => {
            // The first byte of a random id spreads them evenly.
            let byte = submission.submission_id.first_byte();
            shard(settling.counterpart, byte % shards(settling.counterpart))
        }
        Turn::Person => for_a_person(submission.scope.environment),
    }
}

fn partitions(counterpart: Counterpart) -> impl Iterator<Item = String> {
    (0..shards(counterpart)).map(move |number| shard(counterpart, number))
}

fn shards(counterpart: Counterpart) -> u8 {
    match counterpart {
        Counterpart::TaxAuthority => TAX_SHARDS,
        Counterpart::Partner => PARTNER_SHARDS,
    }
}

fn shard(counterpart: Counterpart, number: u8) -> String {
    format!("{}#{number}", counterpart.as_str())
}

fn for_a_person(environment: Environment) -> String {
    format!("{FOR_A_PERSON}#{environment}")
}

fn item_key(scope: &Scope, id: SubmissionId) -> String {
    scope.key(id)
}

fn entrant_key(scope: &Scope, phone: &Phone) -> String {
    scope.key(phone.expose_e164())
}
