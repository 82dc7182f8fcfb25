//! The audit log.

use axum::Router;
use axum::routing::get;
use chrono::{Days, NaiveDate};
use chrono_tz::Tz;
use common::domain::audit::{AuditRow, StoredAuditRow};
use common::domain::ids::SubmissionId;
use maud::{Markup, html};
use ops_core::audit::{RowFilter, rows, zone};
use ops_core::failure::Failure;
use ops_core::format::{local_time, or_dash};

use super::submission::path_of_submission;
use crate::failure::PageResult;
use crate::form::{Query, select};
use crate::layout::{Page, Section, table};
use crate::state::Console;

const USUAL_DAYS: u64 = 30;

/// Half a kilobyte each; a day of reviewing makes a thousand.
const MAX_ROWS: usize = 400;

pub(crate) fn routes() -> Router<Console> {
    Router::new().route("/changes", get(list))
}

async fn list(console: Console, Query(query): Query) -> PageResult {
    let tables = console.tables()?;
    let (campaign, campaigns) = (query.get("campaign"), tables.campaigns.list().await?);
    let wanted = campaigns
        .iter()
        .map(|one| &one.slug)
        .find(|slug| slug.as_str() == campaign);
    // An unknown campaign has no rows.
    let filter = RowFilter {
        campaign: campaign.parse().ok(),
        ..RowFilter::default()
    };
    let zone = zone(&tables, wanted).await?;
    let today = console.now().day_in(zone);
    let to = day(query.get("to"), &today)?;
    let from = match query.get("from") {
        "" => to.checked_sub_days(Days::new(USUAL_DAYS - 1)).unwrap_or(to),
        from => day(from, &today)?,
    };
    let mut rows = rows(&tables, from, to, zone, &filter).await?;
    rows.reverse();
    let older = rows.len().saturating_sub(MAX_ROWS);
    let heading = [
        "Row",
        &format!("Time ({})", zone.name()),
        "Who",
        "Action",
        "About",
        "Why",
        "More",
    ];
    let slugs = campaigns
        .iter()
        .map(|one| (one.slug.as_str(), one.slug.as_str()));
    let content = html! {
        form.row {
            div { label for="from" { "From" } input #from type="date" name="from" value=(from); }
            div { label for="to" { "To" } input #to type="date" name="to" value=(to); }
            div { (select("campaign", "Campaign", std::iter::once(("", "all")).chain(slugs), campaign, false)) }
            button { "Show" }
        }
        @if rows.is_empty() {
            p { "The audit log has no such rows in these days." }
        } @else {
            (table("Changes and looks", &heading, html! { @for stored in rows.iter().take(MAX_ROWS) { (row(stored, zone)) } }))
        }
        @if older > 0 {
            p { "These are the newest " (MAX_ROWS) ". " (older) " older rows of these days are not shown: choose fewer days." }
        }
        p.soft { code { "ops audit verify" } " verifies that no row was changed, removed or added by other means." }
    };
    Ok(Page::new("Changes", Section::Changes).render(content))
}

fn day(text: &str, today: &str) -> Result<NaiveDate, Failure> {
    let text = if text.is_empty() { today } else { text };
    text.parse()
        .map_err(|_| Failure::new("days_invalid", "write days such as 2026-11-22"))
}

fn row(stored: &StoredAuditRow, zone: Tz) -> Markup {
    let Some(AuditRow { at, entry, .. }) = &stored.row else {
        return html! {
            tr { td { (stored.sequence) } td colspan="6" { "cannot be read; run " code { "ops audit verify" } } }
        };
    };
    let about = [&entry.campaign, &entry.environment].into_iter().flatten();
    let subject = entry.subject.as_deref().unwrap_or_default();
    html! {
        tr {
            td { (stored.sequence) }
            td { (local_time(*at, zone)) }
            td { (name_of(&entry.who)) @if let Some(by) = &entry.by { " (" (by) ")" } }
            td { (entry.action) }
            td {
                (about.map(String::as_str).collect::<Vec<_>>().join(" ")) " "
                @match subject.parse::<SubmissionId>() {
                    Ok(id) => a href=(path_of_submission(id)) { (id) },
                    Err(_) => (subject),
                }
            }
            td { (or_dash(entry.why.as_ref())) }
            td {
                @if entry.details != "{}" {
                    details { summary { "Details" span.unseen { " of row " (stored.sequence) } } code { (entry.details) } }
                }
            }
        }
    }
}

/// The end of an ARN; `ops audit list` shows all of it.
fn name_of(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}
