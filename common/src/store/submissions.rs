mod retention;
mod selected;
mod unsettled;

use std::cmp::Reverse;
use std::pin::pin;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use futures_util::{Stream, TryStreamExt};
use serde::{Deserialize, Serialize};
use serde_dynamo::aws_sdk_dynamodb_1::from_item;

use super::table::all;
use super::table_pages::TablePage;
use super::write::Write;
use super::{
    During, Item, StoreError, StoreResult, UnreadableRecord, from_record, read_number, read_text,
    required, text,
};
use crate::domain::webhook::{EventType, events_between};
use crate::domain::{
    EntrantId, Reference, Scope, State, Submission, SubmissionId, SubmissionStatus,
};
use crate::telemetry;

pub use self::retention::RetentionPage;
pub use self::selected::Selection;
pub use self::unsettled::{DueSubmission, NEXT_STEP, UNSETTLED};
use self::unsettled::{UNREADABLE_READS, listed};

pub const KEY: &str = "id";
pub const VARIABLE: &str = "SUBMISSIONS_TABLE";
/// Newest first: partition `entrant`, sort `created_at`.
pub const BY_ENTRANT: &str = "by-entrant";

const READING: &str = "reading a submission";
const REVISION: &str = "revision";
const TABLE: &str = "submissions";

#[derive(Serialize, Deserialize)]
struct Stored<S> {
    id: String,
    entrant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsettled: Option<String>,
    #[serde(
        rename = "scope_and_next_step",
        skip_serializing_if = "Option::is_none"
    )]
    next_step: Option<String>,
    #[serde(flatten)]
    submission: S,
}

#[derive(Clone, Debug, Deserialize)]
pub struct SubmissionSummary {
    pub submission_id: SubmissionId,
    #[serde(rename = "standing")]
    pub status: SubmissionStatus,
    /// `YYYY-MM-DD` in the campaign's time zone.
    pub day: String,
}

impl SubmissionSummary {
    pub fn reference(&self) -> Reference {
        self.submission_id.reference()
    }
}

store! {
    Submissions
}

impl Submissions {
    pub(crate) fn create(&self, submission: &Submission) -> Write {
        self.table
            .put(key_of(submission), &stored(submission))
            .when_absent(KEY)
    }

    /// A timeline of two workers: both read revision 3; the first writes revision 4; the second's
    /// condition fails, so its work is discarded.
    pub(crate) fn change(&self, before: &Submission, after: &Submission) -> Write {
        self.table
            .update(key_of(before))
            .change(Some(&stored(before)), &stored(after))
            .remove([UNREADABLE_READS])
            .when_equal(REVISION, before.revision)
    }

    pub fn unchanged_check(&self, read: &Submission) -> Write {
        let check = self.table.check(key_of(read));
        check.when_equal(REVISION, read.revision)
    }

    /// The reference alone is not enough.
    pub async fn get(&self, scope: &Scope, id: SubmissionId) -> StoreResult<Option<Submission>> {
        let found = self.by_reference(scope, id.reference()).await?;
        Ok(found.filter(|found| found.submission_id == id))
    }

    /// For operators alone: callers have to know the id.
    pub async fn by_reference(
        &self,
        scope: &Scope,
        reference: Reference,
    ) -> StoreResult<Option<Submission>> {
        self.get_by_key(key(scope, reference)).await
    }

    async fn get_by_key(&self, key: String) -> StoreResult<Option<Submission>> {
        self.table.get(key, READING).await?.map(read).transpose()
    }

    /// Newest first, without unreadable records.
    pub async fn recent(
        &self,
        scope: &Scope,
        entrant: &EntrantId,
        limit: impl Into<i32>,
    ) -> StoreResult<Vec<SubmissionSummary>> {
        const ACTION: &str = "looking a phone's submissions up";
        let query = self.by_entrant(scope, entrant).limit(limit.into()).send();
        let reply = query.await.during(ACTION)?;
        let items = reply.items.unwrap_or_default();
        let mut found = Vec::new();
        for item in items {
            match read_summary(item, ACTION) {
                Ok(summary) => found.push(summary),
                Err(error) => {
                    let error = telemetry::cause(&error);
                    tracing::error!(error, "a list leaves out a submission that cannot be read");
                }
            }
        }
        Ok(found)
    }

    /// Includes unreadable records. The index lags.
    pub async fn of_entrant(
        &self,
        scope: &Scope,
        entrant: &EntrantId,
    ) -> StoreResult<(Vec<Submission>, Vec<UnreadableRecord>)> {
        const ACTION: &str = "listing a phone's submissions";
        let query = self.by_entrant(scope, entrant);
        let (mut found, mut unreadable) = (Vec::new(), Vec::new());
        for item in all(query.scan_index_forward(true), ACTION).await? {
            let key = required(read_text(&item, KEY), ACTION)?;
            match self.get_by_key(key.to_owned()).await {
                Ok(submission) => found.extend(submission),
                Err(error) => unreadable.push(error.into_unreadable()?),
            }
        }
        Ok((found, unreadable))
    }

    fn by_entrant(&self, scope: &Scope, entrant: &EntrantId) -> QueryFluentBuilder {
        let entrant = (":entrant", text(scope.key(entrant.as_str())));
        let query = self.table.query("#entrant = :entrant", [entrant]);
        query.index_name(BY_ENTRANT).scan_index_forward(false)
    }

    /// Newest first, with unreadable records. Reads the whole table.
    pub async fn list(
        &self,
        scope: &Scope,
        limit: usize,
        wanted: impl Fn(&Submission) -> bool,
    ) -> StoreResult<(Vec<Submission>, Vec<UnreadableRecord>)> {
        let scan = self.table.scan_scope(scope, None);
        let mut pages = pin!(self.table.read_all(scan, "listing submissions", read));
        let (mut newest, mut unreadable): (Vec<Submission>, _) = (Vec::new(), Vec::new());
        while let Some(page) = pages.try_next().await? {
            unreadable.extend(page.unreadable);
            newest.extend(page.records.into_iter().filter(&wanted));
            newest.sort_by_key(|submission| Reverse(submission.created_at));
            newest.truncate(limit);
        }
        Ok((newest, unreadable))
    }

    /// Reads the whole table.
    pub async fn clear(&self, scope: &Scope) -> StoreResult<u64> {
        self.table.clear(scope, "deleting submissions").await
    }

    pub(crate) fn all(&self, scope: &Scope) -> impl Stream<Item = StoreResult<TablePage<Item>>> {
        let scan = self.table.scan_scope(scope, None);
        self.table.read_all(scan, "reading all submissions", Ok)
    }
}

#[derive(Clone, Debug)]
pub struct PublishedChange {
    pub submission: Submission,
    pub events: Vec<EventType>,
}

/// `None` if no event reports it. `old` is empty for a new submission.
pub fn published_change(old: Item, new: Item) -> StoreResult<Option<PublishedChange>> {
    #[derive(Deserialize)]
    struct Before {
        #[serde(rename = "standing")]
        status: SubmissionStatus,
    }
    if new.is_empty() {
        return Ok(None);
    }
    let submission = read(new)?;
    if !submission.notify {
        return Ok(None);
    }
    let before: Option<Before> = match old.is_empty() {
        true => None,
        false => Some(from_record(old, READING)?),
    };
    let events = events_between(
        before.as_ref().map(|before| &before.status),
        &submission.status,
    );
    Ok((!events.is_empty()).then_some(PublishedChange { submission, events }))
}

pub(crate) fn read(item: Item) -> StoreResult<Submission> {
    let key = read_text(&item, KEY).unwrap_or_default().to_owned();
    parse(item).map_err(StoreError::of_record(TABLE, key))
}

fn parse(item: Item) -> StoreResult<Submission> {
    let stored: Stored<Submission> = from_record(item, READING)?;
    let Stored {
        id: stored_key,
        entrant,
        mut submission,
        ..
    } = stored;
    let id = entrant
        .strip_prefix(&submission.scope.key(""))
        .and_then(EntrantId::parse);
    submission.entrant_id =
        id.ok_or_else(|| StoreError::new(READING, "its entrant is no digest"))?;
    if stored_key != key_of(&submission) {
        return Err(StoreError::new(
            READING,
            "its key is not that of its scope and id",
        ));
    }
    Ok(submission)
}

fn read_summary(item: Item, action: &'static str) -> StoreResult<SubmissionSummary> {
    let key = read_text(&item, KEY).unwrap_or_default().to_owned();
    from_item(item)
        .during(action)
        .map_err(StoreError::of_record(TABLE, key))
}

/// True if it was refused when made and has not changed since.
pub(crate) fn is_refusal(item: &Item) -> bool {
    let state = item
        .get("standing")
        .and_then(|status| read_text(status.as_m().ok()?, "state"));
    read_number(item, REVISION) == Some(0) && state == Some(State::Rejected.as_str())
}

fn stored(submission: &Submission) -> Stored<&Submission> {
    let (unsettled, next_step) = listed(submission).unzip();
    Stored {
        id: key_of(submission),
        entrant: submission.scope.key(submission.entrant_id.as_str()),
        unsettled,
        next_step,
        submission,
    }
}

fn key_of(submission: &Submission) -> String {
    key(&submission.scope, submission.reference())
}

pub fn key(scope: &Scope, reference: Reference) -> String {
    scope.key(reference.symbols())
}
