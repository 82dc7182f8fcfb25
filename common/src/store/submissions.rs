//! The `submissions` table: every submission by id, with indexes by entrant, by reference, and of what
//! is not settled by its next step.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::builders::PutBuilder;
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure};
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};

use super::{Item, StoreError, number, read_number, read_text, required, text};
use crate::config::{ConfigError, Env};
use crate::domain::ids::{Reference, SubmissionId};
use crate::domain::moment::Moment;
use crate::domain::phone::Phone;
use crate::domain::scope::{Environment, Scope};
use crate::domain::settling::{Counterpart, Settling, Turn};
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

/// The sparse index of what is not settled: partition `unsettled`, sort `next_step_at`; it carries keys
/// alone.
pub const BY_NEXT_STEP: &str = "by-next-step";
/// The partitions of submissions that wait for a person begin with this; live ones and those of tests are
/// kept apart, since tests are left lying.
const FOR_A_PERSON: &str = "person";
/// The partitions of submissions that the service settles by itself: whom the step has to do with, and the
/// first digit of the id, so that a crowd of them is spread.
const SHARDS: &str = "0123456789abcdef";

/// Submissions that are read at once where many are.
const AT_ONCE: usize = 16;

/// A submission in the table.
#[derive(Serialize, Deserialize)]
struct Stored {
    id: String,
    entrant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsettled: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step_at: Option<Moment>,
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
            next_step_at: settling.map(|settling| settling.next_step_at),
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
        let reply = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(KEY, text(key))
            .consistent_read(true)
            .send()
            .await
            .map_err(StoreError::during("reading a submission"))?;
        reply.item.map(read).transpose()
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

    /// What the service has to settle and is due by now, the longest due of each partition first, at most
    /// `most` of each.
    ///
    /// # Errors
    /// When the index does not answer.
    pub async fn due(&self, counterpart: Counterpart, now: Moment, most: u8) -> Result<Vec<Due>, StoreError> {
        let shards =
            partitions(counterpart).map(|partition| self.unsettled(partition, Some(now), Some(most)));
        let mut due = try_join_all(shards).await?.concat();
        due.sort_by_key(|due| due.next_step_at);
        Ok(due)
    }

    /// What waits for a person, the longest waiting first, at most `most`.
    ///
    /// # Errors
    /// When the index does not answer.
    pub async fn for_a_person(
        &self,
        environment: Environment,
        most: Option<u8>,
    ) -> Result<Vec<Due>, StoreError> {
        self.unsettled(for_a_person(environment), None, most).await
    }

    /// Everything of a scope that is not settled, the longest due first. For operators: it reads the whole
    /// index.
    ///
    /// # Errors
    /// When the table does not answer, or a record cannot be read.
    pub async fn list_unsettled(&self, scope: &Scope) -> Result<Vec<Submission>, StoreError> {
        let shards = Counterpart::ALL.into_iter().flat_map(partitions);
        let shards = shards.map(|partition| self.unsettled(partition, None, None));
        let mut all = try_join_all(shards).await?.concat();
        all.extend(self.for_a_person(scope.environment, None).await?);
        all.retain(|due| due.scope == *scope);
        all.sort_by_key(|due| due.next_step_at);
        let looks = all.into_iter().map(|due| self.get(scope, due.submission_id));
        let found: Vec<_> = stream::iter(looks).buffered(AT_ONCE).try_collect().await?;
        // The index may lag behind the table.
        Ok(found.into_iter().flatten().filter(|found| found.settling.is_some()).collect())
    }

    async fn unsettled(
        &self,
        partition: String,
        until: Option<Moment>,
        most: Option<u8>,
    ) -> Result<Vec<Due>, StoreError> {
        const ACTION: &str = "listing what is not settled";
        let until = until.map_or(i64::MAX, Moment::as_millis);
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(BY_NEXT_STEP)
            .key_condition_expression("unsettled = :partition AND next_step_at <= :until")
            .expression_attribute_values(":partition", text(partition))
            .expression_attribute_values(":until", number(until))
            .set_limit(most.map(i32::from));
        let mut pages = query.into_paginator().items().send();
        let mut found = Vec::new();
        while most.is_none_or(|most| found.len() < usize::from(most)) {
            let Some(item) = pages.next().await else { break };
            found.push(read_due(&item.map_err(StoreError::during(ACTION))?)?);
        }
        Ok(found)
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

fn read_due(item: &Item) -> Result<Due, StoreError> {
    const ACTION: &str = "reading what is not settled";
    let (scope, id) = required(read_text(item, KEY).and_then(Scope::split_key), ACTION)?;
    let next_step_at = required(read_number(item, "next_step_at"), ACTION)?;
    Ok(Due {
        scope,
        submission_id: id.parse().map_err(StoreError::during(ACTION))?,
        next_step_at: Moment::from_millis(next_step_at),
    })
}

fn partition(settling: &Settling, submission: &Submission) -> String {
    match settling.turn {
        Turn::Service => {
            let id = submission.submission_id.to_string();
            format!("{}#{}", settling.counterpart.as_str(), id.chars().take(1).collect::<String>())
        }
        Turn::Person => for_a_person(submission.scope.environment),
    }
}

fn partitions(counterpart: Counterpart) -> impl Iterator<Item = String> {
    SHARDS.chars().map(move |shard| format!("{}#{shard}", counterpart.as_str()))
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
