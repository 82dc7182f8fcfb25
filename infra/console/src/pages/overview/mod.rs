//! A campaign's numbers at a glance, after what there is to do.

mod numbers;
mod switch;
mod tasks;

use chrono::{Days as Span, NaiveDate};
use common::domain::statistics::ALL_DAYS;
use ops_core::campaigns::versions::stored;
use ops_core::statistics::{self, Days};

use super::campaigns::status;
use super::changes::day;
use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}";
    Router::new()
        .route(path, get(overview))
        .route(&format!("{path}/numbers"), get(download_numbers))
        .merge(switch::routes(path))
}

/// A list of the scope's submissions, with some of its filters.
pub(super) fn submissions_path(scope: &Scope, filters: &[(&str, &str)]) -> String {
    let path = format!("{}/submissions", path_of(scope));
    if filters.is_empty() {
        path
    } else {
        with_query(&path, filters)
    }
}

async fn overview(console: Console, Named(scope): Named<Scope>, Query(query): Query) -> PageResult {
    let tables = console.tables()?;
    let stored = stored(&tables, &scope.campaign).await?;
    let (campaign, now) = (&stored.campaign, console.now());
    let totals = tables
        .statistics
        .counters(&scope, Metric::Days, ALL_DAYS)
        .await?;
    let totals = by_dimension(&totals, Metric::Days);
    let choice = Choice::of_query(&query, campaign, &totals, now)?;
    let counters = Box::pin(statistics::read(&tables, &scope, choice.days)).await?;
    let book = tables.code_books.overview(&scope).await?;
    let batches = book.map(|book| book.batches).unwrap_or_default();
    let redeemed = match choice.days.are_all() || batches.is_empty() {
        true => by_dimension(&counters, Metric::Batches),
        false => {
            let all = statistics::of_all_days(&tables, &scope, Metric::Batches).await?;
            by_dimension(&all, Metric::Batches)
        }
    };
    let shown = numbers::Shown {
        scope: &scope,
        campaign,
        days: choice.days,
        counters: &counters,
        now,
    };
    let wins = tables.wins().list(&scope).await?;
    let content = html! {
        (switch::state(&console, &scope, &stored).await?)
        (tasks::tasks(&console, &tables, &scope, campaign, &batches, &wins).await?)
        @if totals.is_empty() {
            p { "Nothing has been counted. New submissions are counted within a minute." }
        } @else {
            (numbers::today(&scope, &totals, campaign, now))
            (choice.form(&scope))
            (shown.figures())
            (shown.plots())
        }
        (numbers::codes(&scope, &redeemed, &batches, &wins))
        p.soft { "Numbers are at most a minute old. Days and hours are those of " (campaign.timezone.name()) "." }
    };
    Ok(Page::new(&campaign.name, Section::Overview)
        .in_scope(&scope)
        .render(content))
}

/// The days that the operator wants to see.
struct Choice {
    days: Days,
    /// `7`, `30`, `all`, or empty for a first and a last day.
    last: &'static str,
}

impl Choice {
    fn of_query(
        query: &Form,
        campaign: &Campaign,
        totals: &Aggregate,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let (from, to) = (day(query.get("from"))?, day(query.get("to"))?);
        if from.is_some() || to.is_some() {
            let (days, last) = (Days { from, to }, "");
            return Ok(Self { days, last });
        }
        let (last, span) = match query.get("days") {
            "7" => ("7", 7),
            "30" => ("30", 30),
            _ => {
                let days = Days::default();
                return Ok(Self { days, last: "all" });
            }
        };
        // The last days of a campaign that is over are those before its last submission.
        let today = now.in_zone(campaign.timezone).date_naive();
        let newest = totals.keys().next_back().and_then(|day| day.parse().ok());
        let is_over = campaign.status(now) == CampaignStatus::Ended;
        let to: NaiveDate = newest.filter(|_| is_over).unwrap_or(today);
        let days = Days {
            from: to.checked_sub_days(Span::new(span - 1)),
            to: Some(to),
        };
        Ok(Self { days, last })
    }

    /// Only the days that were asked for as such, so that the link of all days stays short.
    fn query(&self) -> Vec<(&'static str, String)> {
        let ends = [("from", self.days.from), ("to", self.days.to)];
        ends.into_iter()
            .filter_map(|(name, day)| Some((name, day?.to_string())))
            .collect()
    }

    fn form(&self, scope: &Scope) -> Markup {
        let path = path_of(scope);
        let end = |day: Option<NaiveDate>| day.map(|day| day.to_string());
        let file = |format: &'static str| {
            let query = self.query();
            let ends = query.iter().map(|(name, day)| (*name, day.as_str()));
            let fields: Vec<_> = [("format", format)].into_iter().chain(ends).collect();
            with_query(&format!("{path}/numbers"), &fields)
        };
        html! {
            div.choice {
                nav.choices aria-label="Days" {
                    @for (days, words) in [("7", "7 days"), ("30", "30 days"), ("all", "All days")] {
                        a href=(with_query(&path, &[("days", days)])) aria-current=[(self.last == days).then_some("true")] { (words) }
                    }
                }
                form.row action=(path) {
                    div { label for="from" { "From" } input #from type="date" name="from" value=[end(self.days.from)]; }
                    div { label for="to" { "To" } input #to type="date" name="to" value=[end(self.days.to)]; }
                    button { "Show" }
                }
                p { "Download these numbers: " a href=(file("csv")) download { "CSV" } ", " a href=(file("json")) download { "JSON" } }
            }
        }
    }
}

async fn download_numbers(
    console: Console,
    Named(scope): Named<Scope>,
    Query(query): Query,
) -> PageResult<Response> {
    let (from, to) = (day(query.get("from"))?, day(query.get("to"))?);
    let (tables, days) = (console.tables()?, Days { from, to });
    let (kind, end, text) = if query.get("format") == "json" {
        let json = Box::pin(statistics::as_json(&tables, &scope, days)).await?;
        ("application/json", "json", format!("{json:#}\n"))
    } else {
        let csv = Box::pin(statistics::as_csv(&tables, &scope, days)).await?;
        (CSV, "csv", csv)
    };
    let name = format!("{}-{}.{end}", scope.campaign, scope.environment);
    Ok(download(&name, kind, text))
}
