//! The audit log.

use chrono::NaiveDate;
use common::domain::audit::{AuditRow, StoredAuditRow};
use ops_core::audit::{self, AuditRows, RowFilter};
use serde_json::Value;

use crate::prelude::*;

/// Half a kilobyte each; a day of reviewing makes a thousand.
const MAX_ROWS: usize = 400;

/// Groups of actions.
const ACTIONS: [(&str, &str); 13] = [
    ("", "all"),
    ("campaign", "campaigns"),
    ("submission", "submissions"),
    ("code", "codes"),
    ("key", "keys"),
    ("phone", "blocked phones"),
    ("export", "exports"),
    ("person", "people's data"),
    ("draw", "draws"),
    ("prize", "instant prizes"),
    ("webhook", "webhooks"),
    ("numbers", "numbers"),
    ("secret", "secrets"),
];

pub(crate) fn routes() -> Router<Console> {
    Router::new().route("/changes", get(list))
}

async fn list(console: Console, Query(query): Query) -> PageResult {
    let tables = console.tables()?;
    let (campaign, campaigns) = (query.get("campaign"), tables.campaigns.list().await?);
    let given = |name| Some(query.get(name)).filter(|text| !text.is_empty());
    let filter = RowFilter {
        campaign: campaign.parse().ok(),
        action: given("action").map(str::to_owned),
        who: given("who").map(str::to_owned),
        about: given("about").map(str::to_owned),
    };
    let (from, to) = (day(query.get("from"))?, day(query.get("to"))?);
    let AuditRows {
        mut rows,
        from,
        to,
        zone,
    } = audit::list(&tables, &filter, from, to, console.now()).await?;
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
            div { (select("action", "Action", ACTIONS, query.get("action"), false)) }
            div { label for="who" { "Person" } input.short #who name="who" value=(query.get("who")) maxlength="200" autocomplete="off"; }
            div { label for="about" { "Reference or id" } input.short #about name="about" value=(query.get("about")) maxlength="100" autocomplete="off"; }
            button { "Show" }
            a href="/changes" { "Clear" }
        }
        @if rows.is_empty() {
            p { "The audit log has no such rows in these days." }
        } @else {
            div.cards {
                (table("Changes and looks", &heading, html! { @for stored in rows.iter().take(MAX_ROWS) { (row(stored, zone)) } }))
            }
        }
        @if older > 0 {
            p { "These are the newest " (MAX_ROWS) ". " (older) " older rows of these days are not shown: choose fewer days." }
        }
        p.soft { code { "ops audit verify" } " verifies that no row was changed, removed or added by other means." }
    };
    Ok(Page::new("Changes", Section::Changes).render(content))
}

pub(super) fn day(text: &str) -> Result<Option<NaiveDate>, Failure> {
    let day = Some(text).filter(|text| !text.is_empty()).map(str::parse);
    let invalid = |_| failure!("days_invalid", "write days such as 2026-11-22");
    day.transpose().map_err(invalid)
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
            td data-name="Row" { (stored.sequence) }
            td data-name="Time" { (local_time(*at, zone)) }
            td data-name="Who" { (name_of(&entry.who)) @if let Some(by) = &entry.by { " (" (by) ")" } }
            td data-name="Action" { (entry.action) @if let Some(step) = step(&entry.details) { " (" (step) ")" } }
            td data-name="About" {
                (about.map(String::as_str).collect::<Vec<_>>().join(" ")) " "
                @match subject.parse::<SubmissionId>() {
                    Ok(id) => a href=(path_of_submission(id)) { (id.reference()) },
                    Err(_) => (subject),
                }
            }
            td data-name="Why" { (or_dash(entry.why.as_ref())) }
            td {
                @if entry.details != "{}" {
                    details { summary { "Details" span.unseen { " of row " (stored.sequence) } } code { (entry.details) } }
                }
            }
        }
    }
}

/// The part of one of two people.
fn step(details: &str) -> Option<&'static str> {
    let details: Value = serde_json::from_str(details).ok()?;
    match (details.get("proposal")?.as_bool()?, details.get("asked_by")) {
        (true, _) => Some("asked"),
        (false, Some(Value::String(_))) => Some("approved"),
        (false, _) => None,
    }
}

/// The end of an ARN; `ops audit list` shows all of it.
fn name_of(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or(arn)
}
