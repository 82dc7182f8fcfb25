//! A filtered list of a scope's submissions. The index of unsettled ones answers for those; for others, the whole table is read, in
//! steps.

use std::cmp::Reverse;

use common::store::submissions::Selection;
use common::store::table_pages::TablePage;
use futures_util::stream::BoxStream;

use crate::prelude::*;
use crate::statistics::Days;

type Pages = BoxStream<'static, Result<TablePage<Submission>, StoreError>>;

/// Records of the whole table in a step: some three seconds.
const READ_AT_ONCE: u64 = 500_000;
/// Submissions of the index in a step; each is read by itself.
const LOOKED_UP_AT_ONCE: u64 = 2_000;
/// Read together.
const PART: usize = 100;

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    pub state: Option<State>,
    pub reason: Option<MessageKey>,
    #[serde(flatten)]
    pub days: Days,
    pub batch: Option<String>,
    pub region: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_person: bool,
}

impl Filter {
    /// True if no read of the whole table is needed.
    pub fn is_indexed(&self) -> bool {
        self.waits_for_person || matches!(self.state, Some(State::Pending | State::Unknown))
    }

    fn selection(&self, scope: &Scope) -> Selection {
        Selection {
            states: self.state.into_iter().collect(),
            message_key: self.reason,
            from_day: self.days.from.map(|day| day.to_string()),
            to_day: self.days.to.map(|day| day.to_string()),
            batch: self.batch.clone(),
            region: self.region.clone(),
            ..Selection::all(scope.clone())
        }
    }

    fn takes(&self, submission: &Submission) -> bool {
        let Self {
            state,
            reason,
            days,
            batch,
            region,
            waits_for_person,
        } = self;
        let status = &submission.status;
        state.is_none_or(|state| state == status.state())
            && reason.is_none_or(|reason| reason == status.message_key())
            && days
                .from
                .is_none_or(|from| from.to_string() <= submission.day)
            && days.to.is_none_or(|to| submission.day <= to.to_string())
            && (batch.is_none() || *batch == submission.batch)
            && (region.is_none() || *region == submission.region)
            && (!waits_for_person
                || submission.assignee() == Some(Assignee::Operator)
                || submission.approval.is_some())
    }

    pub(crate) async fn pages(&self, tables: &Tables, scope: &Scope) -> Result<Pages> {
        let submissions = tables.submissions();
        if !self.is_indexed() {
            return Ok(submissions.select(&self.selection(scope)).boxed());
        }
        let mut listed = if self.waits_for_person {
            let waiting = submissions.waiting_for_operator(scope).await?;
            [waiting, submissions.waiting_for_approval(scope).await?].concat()
        } else {
            submissions.unsettled(scope).await?
        };
        // The newest first, roughly: the index has the time of the next step.
        listed.sort_by_key(|listed| Reverse(listed.next_step_at));
        let parts: Vec<_> = listed.chunks(PART).map(<[_]>::to_vec).collect();
        let (submissions, filter) = (submissions.clone(), self.clone());
        let pages = stream::iter(parts).then(move |part| {
            let (submissions, filter) = (submissions.clone(), filter.clone());
            async move {
                let read = part.len().try_into().unwrap_or(u64::MAX);
                let (mut records, unreadable) = submissions.read_unsettled(part).await?;
                records.retain(|submission| filter.takes(submission));
                Ok(TablePage {
                    records,
                    unreadable,
                    read,
                })
            }
        });
        Ok(pages.boxed())
    }
}

#[derive(Clone, Copy, Debug)]
struct Found {
    created_at: Timestamp,
    reference: Reference,
}

/// Submissions found so far. Has times and references alone, so that a million fit into memory.
pub struct Listing {
    /// `None` at the end.
    pages: Option<Pages>,
    records_at_once: u64,
    /// Newest first, if it is sorted.
    found: Vec<Found>,
    is_sorted: bool,
    pub read: u64,
    pub unreadable: Vec<UnreadableRecord>,
}

impl Listing {
    /// Nothing is read yet, except the index.
    pub async fn begin(tables: &Tables, scope: &Scope, filter: &Filter) -> Result<Self> {
        let records_at_once = if filter.is_indexed() {
            LOOKED_UP_AT_ONCE
        } else {
            READ_AT_ONCE
        };
        Ok(Self {
            pages: Some(filter.pages(tables, scope).await?),
            records_at_once,
            found: Vec::new(),
            is_sorted: true,
            read: 0,
            unreadable: Vec::new(),
        })
    }

    /// Reads the next step. After a failure, the listing is of no more use.
    pub async fn read_on(&mut self) -> Result<()> {
        let end = self.read.saturating_add(self.records_at_once);
        while let Some(pages) = &mut self.pages
            && self.read < end
        {
            let Some(page) = pages.try_next().await? else {
                self.pages = None;
                break;
            };
            self.is_sorted = false;
            self.read += page.read;
            self.unreadable.extend(page.unreadable);
            self.found.extend(page.records.iter().map(|one| Found {
                created_at: one.created_at,
                reference: one.reference(),
            }));
        }
        Ok(())
    }

    pub fn is_complete(&self) -> bool {
        self.pages.is_none()
    }

    pub fn count(&self) -> usize {
        self.found.len()
    }

    pub fn page(&mut self, from: usize, limit: usize) -> Vec<Reference> {
        if !self.is_sorted {
            self.found.sort_by_key(|found| Reverse(found.created_at));
            self.is_sorted = true;
        }
        let page = self.found.iter().skip(from).take(limit);
        page.map(|found| found.reference).collect()
    }
}

/// The submissions as they are now.
pub async fn read_each(
    tables: &Tables,
    scope: &Scope,
    references: Vec<Reference>,
) -> Result<Vec<Submission>> {
    let submissions = tables.submissions();
    let reads = references
        .into_iter()
        .map(|reference| async move { submissions.by_reference(scope, reference).await });
    let found = concurrently(reads).await?;
    Ok(found.into_iter().flatten().collect())
}

/// Records of all campaigns, which a read of the whole table passes; at most a minute old.
pub async fn records_in_table(tables: &Tables) -> Result<u64> {
    let campaigns = tables.campaigns.list().await?;
    let scopes: Vec<_> = campaigns
        .iter()
        .flat_map(|campaign| campaign.slug.scopes())
        .collect();
    let counts = scopes
        .iter()
        .map(|scope| crate::statistics::submissions(tables, scope));
    let counts = concurrently(counts).await?;
    Ok(counts
        .into_iter()
        .map(|count| u64::try_from(count).unwrap_or(0))
        .sum())
}

/// Measured with parallel segments: ten million take about a minute.
pub fn time_to_read(records: u64) -> Duration {
    const RECORDS_PER_SECOND: u64 = 160_000;
    Duration::from_secs(records.div_ceil(RECORDS_PER_SECOND).max(1))
}
