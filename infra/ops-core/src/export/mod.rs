//! The whole table is read in parallel segments, of which one page each is in memory.

mod file;
pub(crate) mod format;
mod rows;

use std::sync::Arc;

use common::store::entrants::EntrantRecord;
use common::store::submissions::Selection;
use common::store::table_pages::TablePage;
use futures_util::Stream;
use futures_util::stream::BoxStream;

use self::file::ExportFile;
use self::rows::Row;
use crate::cli::{LiveScopeArgs, Moment};
use crate::draws;
use crate::prelude::*;
use crate::submissions::listing::Filter;
use crate::submissions::view::COLUMNS;
use crate::tables::take_pages;

/// Pages whose rows are looked up at once.
const MAX_PAGES: usize = 8;
const UNDONE: &str = "nothing was exported";

// The doc comments are the help of `ops export`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExportArgs {
    /// What the rows are
    #[arg(value_enum)]
    content: ExportContent,
    #[command(flatten)]
    scope: LiveScopeArgs,
    /// Only from this day on, or from this time, such as 2026-11-22 or 2026-11-22T08:00; days and times are the campaign's,
    /// unless an offset such as +03:00 follows
    #[arg(long, value_name = "TIME")]
    from: Option<Moment>,
    /// Only up to the end of this day, or up to before this time
    #[arg(long, value_name = "TIME")]
    to: Option<Moment>,
    /// Only submissions in these states: pending, accepted, rejected, unknown
    #[arg(long, value_name = "STATE", value_delimiter = ',', num_args = 1..)]
    state: Vec<State>,
    /// Name of a draw, whose winners are exported
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from", "to"])]
    draw: Option<DrawName>,
    /// Export whole phone numbers instead of masked ones, such as 255712345678
    #[arg(long)]
    phones: bool,
    /// File to write, ending in .csv; must not exist yet
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum ExportContent {
    /// Submissions, one row each
    Submissions,
    /// Phones with their entries, one row each; --from and --to pick those with a submission in that time
    Entrants,
    /// Accepted submissions that won an instant prize; with --draw, the winners of a draw
    Winners,
}

impl ExportContent {
    fn name(self) -> &'static str {
        match self {
            Self::Submissions => "submissions",
            Self::Entrants => "entrants",
            Self::Winners => "winners",
        }
    }
}

struct Export {
    args: ExportArgs,
    tables: Tables,
    scope: Scope,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    zone: Tz,
}

pub(crate) async fn run(
    args: ExportArgs,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let (content, output) = (args.content, args.output.clone());
    format::check_name(&output)?;
    let strays = [
        (
            "--state",
            ExportContent::Submissions,
            !args.state.is_empty(),
        ),
        ("--draw", ExportContent::Winners, args.draw.is_some()),
    ];
    for (option, of, is_given) in strays {
        if is_given && content != of {
            bail!(
                "option_unused",
                "{option} goes with {}; leave it out",
                of.name()
            );
        }
    }
    let tables = connection::tables(env).await?;
    let scope = Scope::from(args.scope.clone());
    let zone = tables.zone(&scope).await?;
    let export = Export {
        from: args.from.map(|from| from.begin(zone)),
        to: args.to.map(|to| to.end(zone)),
        args,
        tables,
        scope,
        zone,
    };
    if export
        .from
        .zip(export.to)
        .is_some_and(|(from, to)| from >= to)
    {
        bail!(
            "period_empty",
            "no time is from --from to --to: give --to a later day or time than --from"
        );
    }
    if export.args.phones {
        let details = json!({ "content": content, "phones": export.phones() });
        export.record(details, clock.now()).await?;
    }
    let manifest = export.write(clock, terminal).await?;
    let rows = grouped(manifest.get("rows").and_then(Value::as_u64).unwrap_or(0));
    let text = format!("{rows} {} in {}", content.name(), output.display());
    let of_draws =
        "these won an instant prize; with --draw NAME, the winners of a draw are exported";
    let note = (content == ExportContent::Winners && export.args.draw.is_none())
        .then(|| of_draws.to_owned());
    Ok(Report::new(manifest, text).with_note(note))
}

/// An unreadable record ends it. Whole phones are recorded in the audit log first.
pub async fn csv(
    tables: &Tables,
    scope: &Scope,
    filter: &Filter,
    phones: bool,
    now: Timestamp,
) -> Result<BoxStream<'static, Result<String>>> {
    let export = Export::unfiltered(ExportContent::Submissions, None, tables, scope, phones);
    let export = Arc::new(export.await?);
    if phones {
        let details =
            json!({ "content": export.args.content, "phones": export.phones(), "filter": filter });
        export.record(details, now).await?;
    }
    let names: Vec<_> = export.columns().iter().map(|(name, _)| *name).collect();
    let heading = format::heading(&names);
    let pages = filter.pages(tables, scope).await?;
    let rows = rows_of(pages, move |submission| {
        let export = Arc::clone(&export);
        async move { export.submission_row(submission).await }
    });
    let texts = rows.map(|page| {
        let page = page?;
        Failure::check_readable("the export ended early", &page.unreadable)?;
        Ok(page.records.iter().map(|row| format::row(row)).collect())
    });
    Ok(stream::iter([Ok(heading)]).chain(texts).boxed())
}

pub async fn winners_of_draw(
    tables: Tables,
    scope: Scope,
    draw: DrawName,
    phones: bool,
    now: Timestamp,
) -> Result<String> {
    let (content, of) = (ExportContent::Winners, Some(draw.clone()));
    let export = Export::unfiltered(content, of, &tables, &scope, phones).await?;
    if phones {
        let details = json!({ "content": export.args.content, "phones": export.phones() });
        export.record(details, now).await?;
    }
    let columns: Vec<_> = export.columns().iter().map(|(name, _)| *name).collect();
    let rows = export.drawn(&draw).await?;
    let rows: String = rows.iter().map(|row| format::row(row)).collect();
    Ok(format::heading(&columns) + &rows)
}

impl Export {
    async fn unfiltered(
        content: ExportContent,
        draw: Option<DrawName>,
        tables: &Tables,
        scope: &Scope,
        phones: bool,
    ) -> Result<Self> {
        Ok(Self {
            args: ExportArgs {
                content,
                scope: LiveScopeArgs {
                    campaign: scope.campaign.clone(),
                    environment: scope.environment,
                },
                from: None,
                to: None,
                state: Vec::new(),
                draw,
                phones,
                output: PathBuf::new(),
            },
            tables: tables.clone(),
            scope: scope.clone(),
            zone: tables.zone(scope).await?,
            from: None,
            to: None,
        })
    }

    /// For whole phones.
    async fn record(&self, details: Value, now: Timestamp) -> Result<()> {
        let action = Action::new("export").in_scope(&self.scope).with(details);
        let action = self.args.draw.iter().fold(action, Action::on);
        self.tables.audit.append(action, now).await?;
        Ok(())
    }

    async fn write(&self, clock: &Clock, terminal: &mut Terminal<'_>) -> Result<Value> {
        let mut file = ExportFile::begin(self, clock.now())?;
        if let Some(draw) = &self.args.draw {
            file.add_rows(&self.drawn(draw).await?)?;
            return file.finish(clock.now());
        }
        let table = match self.args.content {
            ExportContent::Submissions | ExportContent::Winners => "submissions",
            ExportContent::Entrants => "entrants",
        };
        terminal.note(&format!(
            "reading the whole table of {table}, all campaigns"
        ));
        let Self { tables, scope, .. } = self;
        let write = |rows: Vec<Row>| file.add_rows(&rows);
        match self.args.content {
            ExportContent::Submissions | ExportContent::Winners => {
                let selection = Selection {
                    from: self.from,
                    to: self.to,
                    states: self.args.state.clone(),
                    winners: self.args.content == ExportContent::Winners,
                    ..Selection::all(scope.clone())
                };
                let pages = tables.submissions().select(&selection);
                let statuses = &self.statuses().await?;
                let rows = rows_of(pages, |submission| self.winner_row(submission, statuses));
                take_pages(rows, write, UNDONE, clock, terminal).await?;
            }
            ExportContent::Entrants => {
                let pages = tables.entrants.pages(scope);
                let rows = rows_of(pages, |entrant| self.entrant_row(entrant));
                take_pages(rows, write, UNDONE, clock, terminal).await?;
            }
        }
        file.finish(clock.now())
    }

    fn columns(&self) -> &'static [(&'static str, &'static str)] {
        match self.args.content {
            ExportContent::Winners if self.args.draw.is_some() => &rows::DRAWN,
            ExportContent::Winners => &rows::WON,
            ExportContent::Submissions => &COLUMNS,
            ExportContent::Entrants => &rows::ENTRANT,
        }
    }

    fn phones(&self) -> &'static str {
        if self.args.phones { "whole" } else { "masked" }
    }

    async fn drawn(&self, draw: &DrawName) -> Result<Vec<Row>> {
        let Self { tables, scope, .. } = self;
        let draw = draws::find(tables, scope, draw).await?;
        let mut winners = Vec::new();
        for contact in tables.draws.contacts(scope, &draw.name).await? {
            let submission = match contact.submission_id {
                Some(id) => tables.submissions().get(scope, id).await?,
                None => None,
            };
            let phone = match &submission {
                Some(submission) => self.phone(submission).await?,
                None => None,
            };
            winners.push(self.row(&rows::drawn(&contact, phone)));
        }
        Ok(winners)
    }

    async fn submission_row(&self, submission: Submission) -> Result<Option<Row>> {
        let phone = self.phone(&submission).await?;
        Ok(Some(self.row(&rows::submission(&submission, phone))))
    }

    async fn statuses(&self) -> Result<HashMap<SubmissionId, WinStatus>> {
        let Self { tables, scope, .. } = self;
        let wins = match self.args.content {
            ExportContent::Winners => tables.wins().list(scope).await?,
            ExportContent::Submissions | ExportContent::Entrants => Vec::new(),
        };
        // Of several wins, the latest.
        let wins = wins.into_iter();
        Ok(wins.map(|win| (win.submission_id, win.status())).collect())
    }

    async fn winner_row(
        &self,
        submission: Submission,
        statuses: &HashMap<SubmissionId, WinStatus>,
    ) -> Result<Option<Row>> {
        let (phone, id) = (self.phone(&submission).await?, submission.submission_id);
        let view = rows::submission(&submission, phone);
        let view = extended(view, [("status", json!(statuses.get(&id)))]);
        Ok(Some(self.row(&view)))
    }

    /// `None` without a submission in the exported time.
    async fn entrant_row(&self, entrant: EntrantRecord) -> Result<Option<Row>> {
        let (submissions, from, to) = (self.tables.submissions(), self.from, self.to);
        let latest = submissions.latest(&self.scope, &entrant.id, from, to);
        let latest = latest.await?;
        let phone = match &latest {
            Some(latest) => self.phone(latest).await?,
            None if from.is_some() || to.is_some() => return Ok(None),
            None => None,
        };
        Ok(Some(self.row(&rows::entrant(
            &entrant,
            latest.as_ref(),
            phone,
        ))))
    }

    fn row(&self, view: &Value) -> Row {
        rows::row(self.columns(), view, self.zone)
    }

    /// Without sign, for spreadsheets and SMS gateways; `None` after erasure.
    async fn phone(&self, submission: &Submission) -> Result<Option<String>> {
        let phone = self.tables.secrets().phone_of(submission).await?;
        let written = phone.map(|phone| {
            if self.args.phones {
                phone.expose_e164().to_owned()
            } else {
                phone.masked()
            }
        });
        Ok(written.map(|phone| phone.trim_start_matches('+').to_owned()))
    }
}

fn rows_of<T, F: Future<Output = Result<Option<Row>>>>(
    pages: impl Stream<Item = Result<TablePage<T>, StoreError>>,
    row: impl Fn(T) -> F,
) -> impl Stream<Item = Result<TablePage<Row>>> {
    let rows = move |page: TablePage<T>| {
        let rows: Vec<F> = page.records.into_iter().map(&row).collect();
        async move {
            Ok(TablePage {
                records: concurrently(rows).await?.into_iter().flatten().collect(),
                unreadable: page.unreadable,
                read: page.read,
            })
        }
    };
    pages
        .map_err(Failure::from)
        .map_ok(rows)
        .try_buffer_unordered(MAX_PAGES)
}
