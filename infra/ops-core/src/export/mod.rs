//! Exports a campaign's submissions, entrants and winners into a CSV file, from the tables and
//! never through the API. Reads the whole table in parallel segments, one page of each in memory.

mod file;
pub(crate) mod format;
mod rows;

use std::path::Path;

use chrono_tz::Tz;
use common::aws::MAX_CONCURRENCY;
use common::clock::Clock;
use common::domain::draw::DrawName;
use common::domain::scope::Scope;
use common::domain::submission::{State, Submission};
use common::domain::timestamp::Timestamp;
use common::store::entrants::EntrantRecord;
use common::store::segments::{Segment, SegmentPage};
use common::store::submissions::Selection;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_json::Value;

use self::file::ExportFile;
use crate::draws;
use crate::failure::Failure;
use crate::tables::Tables;
use crate::terminal::{Progress, Terminal};

#[derive(Clone, Debug)]
pub(crate) struct Export {
    pub(crate) content: ExportContent,
    pub(crate) scope: Scope,
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
    pub(crate) states: Vec<State>,
    pub(crate) phones: Phones,
    pub(crate) draw: Option<DrawName>,
    pub(crate) zone: Tz,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ExportContent {
    Submissions,
    Entrants,
    /// Accepted submissions with an instant prize, or a draw's winners.
    Winners,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phones {
    Masked,
    Whole,
}

impl ExportContent {
    fn table(self) -> &'static str {
        match self {
            Self::Submissions | Self::Winners => "submissions",
            Self::Entrants => "entrants",
        }
    }

    pub(crate) fn rows(self) -> &'static str {
        match self {
            Self::Submissions => "submissions",
            Self::Entrants => "entrants",
            Self::Winners => "winners",
        }
    }
}

impl Export {
    fn columns(&self) -> &'static [&'static str] {
        match self.content {
            ExportContent::Winners if self.draw.is_some() => &rows::DRAWN,
            ExportContent::Submissions | ExportContent::Winners => &rows::SUBMISSION,
            ExportContent::Entrants => &rows::ENTRANT,
        }
    }
}

/// Returns the manifest.
pub(crate) async fn write(
    tables: &Tables,
    export: &Export,
    output: &Path,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Value, Failure> {
    let mut file = ExportFile::begin(output, export, clock.now())?;
    if let Some(draw) = &export.draw {
        file.add_rows(&drawn(tables, export, draw).await?)?;
        return file.finish(export, clock.now());
    }
    terminal.note(&format!(
        "reading the whole table of {}, all campaigns",
        export.content.table()
    ));
    let read = |segment: Segment| read_page(tables, export, segment);
    let mut progress = Progress::without_total(clock, "records read:");
    let mut pages: FuturesUnordered<_> = Segment::all().into_iter().map(read).collect();
    let (mut looked_at, mut unreadable) = (0, Vec::new());
    while let Some(page) = pages.try_next().await? {
        unreadable.extend(page.unreadable);
        file.add_rows(&page.records)?;
        looked_at += page.read;
        progress.show(terminal, looked_at);
        if !page.segment.is_read() {
            pages.push(read(page.segment));
        }
    }
    progress.end(terminal);
    Failure::check_readable("nothing was exported", &unreadable)?;
    file.finish(export, clock.now())
}

async fn drawn(
    tables: &Tables,
    export: &Export,
    draw: &DrawName,
) -> Result<Vec<Vec<Value>>, Failure> {
    let scope = &export.scope;
    let draw = draws::find(tables, scope, draw).await?;
    let mut winners = Vec::new();
    for contact in tables.draws.contacts(scope, &draw.name).await? {
        let submission = match contact.submission_id {
            Some(id) => tables.store.submissions().get(scope, id).await?,
            None => None,
        };
        let phone = match &submission {
            Some(submission) => phone(tables, export, submission).await?,
            None => None,
        };
        winners.push(rows::drawn(&contact, phone, export.zone));
    }
    Ok(winners)
}

async fn read_page(
    tables: &Tables,
    export: &Export,
    segment: Segment,
) -> Result<SegmentPage<Vec<Value>>, Failure> {
    let Export {
        content,
        scope,
        from,
        to,
        states,
        ..
    } = export;
    match content {
        ExportContent::Submissions | ExportContent::Winners => {
            let selection = Selection {
                scope: scope.clone(),
                from: *from,
                to: *to,
                states: states.clone(),
                winners: *content == ExportContent::Winners,
            };
            let page = tables.store.submissions().page(&selection, segment).await?;
            let rows = page
                .records
                .iter()
                .map(|submission| submission_row(tables, export, submission));
            let records = stream::iter(rows)
                .buffered(MAX_CONCURRENCY)
                .try_collect()
                .await?;
            Ok(SegmentPage {
                records,
                unreadable: page.unreadable,
                read: page.read,
                segment: page.segment,
            })
        }
        ExportContent::Entrants => {
            let page = tables.entrants.page(scope, segment).await?;
            let rows = page
                .records
                .iter()
                .map(|entrant| entrant_row(tables, export, entrant));
            let rows: Vec<Option<Vec<Value>>> = stream::iter(rows)
                .buffered(MAX_CONCURRENCY)
                .try_collect()
                .await?;
            let records = rows.into_iter().flatten().collect();
            Ok(SegmentPage {
                records,
                unreadable: page.unreadable,
                read: page.read,
                segment: page.segment,
            })
        }
    }
}

async fn submission_row(
    tables: &Tables,
    export: &Export,
    submission: &Submission,
) -> Result<Vec<Value>, Failure> {
    let phone = phone(tables, export, submission).await?;
    Ok(rows::submission(submission, phone, export.zone))
}

/// `None` without a submission in the exported time.
async fn entrant_row(
    tables: &Tables,
    export: &Export,
    entrant: &EntrantRecord,
) -> Result<Option<Vec<Value>>, Failure> {
    let Export {
        scope,
        from,
        to,
        zone,
        ..
    } = export;
    let latest = tables
        .store
        .submissions()
        .latest(scope, &entrant.id, *from, *to)
        .await?;
    let phone = match &latest {
        Some(latest) => phone(tables, export, latest).await?,
        None if from.is_some() || to.is_some() => return Ok(None),
        None => None,
    };
    Ok(Some(rows::entrant(entrant, latest.as_ref(), phone, *zone)))
}

/// The number without its sign, for spreadsheets and SMS gateways; `None` after erasure.
async fn phone(
    tables: &Tables,
    export: &Export,
    submission: &Submission,
) -> Result<Option<String>, Failure> {
    let phone = tables.secrets().phone_of(submission).await?;
    let written = phone.map(|phone| match export.phones {
        Phones::Masked => phone.masked(),
        Phones::Whole => phone.expose_e164().to_owned(),
    });
    Ok(written.map(|phone| phone.trim_start_matches('+').to_owned()))
}
