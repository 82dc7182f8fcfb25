//! All campaigns, with what waits for a person; and the form of one.

mod change;
mod form;

use common::aws::concurrently;
use common::domain::statistics::ALL_DAYS;
use common::error::StoreError;
use ops_core::approvals::Requests;
use ops_core::format::counted;

use super::overview::submissions_path;
use crate::prelude::*;

/// Seconds of a time that people read have no meaning here.
const MINUTE: usize = "2026-11-22 17:00".len();
const DAY: Duration = Duration::from_hours(24);

pub(crate) fn routes() -> Router<Console> {
    Router::new().route("/", get(list)).merge(change::routes())
}

async fn list(console: Console, Query(query): Query) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let all = tables.campaigns.list().await?;
    let (status, text) = (query.get("status"), query.get("text").to_lowercase());
    let mut campaigns: Vec<_> = all
        .iter()
        .filter(|campaign| is_wanted(campaign, status, &text, now))
        .collect();
    campaigns.sort_by_key(|campaign| {
        (
            campaign.archived,
            campaign.status(now) == CampaignStatus::Ended,
        )
    });
    let live = campaigns
        .iter()
        .map(|campaign| Live::read(&tables, campaign, now).boxed());
    let live = concurrently(live.collect::<Vec<_>>()).await?;
    let rows = html! { @for (campaign, live) in campaigns.iter().zip(live) { (row(campaign, &live, now)) } };
    let may_add = console.has(Role::Operator).await?;
    let content = html! {
        @if may_add {
            p { a.button href="/campaigns/new" { "New campaign" } }
        } @else {
            (lacks("To add a campaign", Role::Operator))
        }
        @if all.is_empty() {
            p { "There are no campaigns yet." }
        } @else {
            (filters(status, query.get("text")))
            @if campaigns.is_empty() {
                p { "No campaign is like this." }
            } @else {
                (list_table(rows))
                p.soft { "Numbers are those of live, at most a minute old. Days are those of each campaign’s time zone." }
            }
        }
    };
    Ok(Page::new("Campaigns", Section::Campaigns).render(content))
}

fn is_wanted(campaign: &Campaign, wanted: &str, text: &str, now: Timestamp) -> bool {
    let (_, word) = status_words(campaign, now);
    let is_status = match wanted {
        "" => !campaign.archived,
        wanted => word.replace(' ', "_") == wanted,
    };
    let texts = [&campaign.name, &campaign.brand];
    let is_named = campaign.slug.as_str().contains(text)
        || texts.iter().any(|name| name.to_lowercase().contains(text));
    is_status && is_named
}

fn filters(status: &str, text: &str) -> Markup {
    let statuses = [
        ("", "all but archived"),
        ("live", "live"),
        ("paused", "paused"),
        ("not_started", "not started"),
        ("ended", "ended"),
        ("archived", "archived"),
    ];
    html! {
        form.row action="/" {
            div { (select("status", "Status", statuses, status, false)) }
            div { label for="text" { "Brand or name" } input #text name="text" value=(text) autocomplete="off"; }
            button { "Show" }
        }
    }
}

/// Numbers of live; `None` for roles that may not read them.
struct Live {
    days: Option<Aggregate>,
    waiting: Option<u64>,
    /// Requests that wait for a second person.
    requests: Option<usize>,
}

impl Live {
    async fn read(tables: &Tables, campaign: &Campaign, now: Timestamp) -> PageResult<Self> {
        let [_, live] = campaign.slug.scopes();
        let days = tables
            .statistics
            .counters(&live, Metric::Days, ALL_DAYS)
            .await;
        let waiting = tables.submissions().count_waiting_for_operator(&live).await;
        let requests = Requests::read(tables, &live, now).await;
        Ok(Self {
            days: if_allowed(days)?.map(|days| by_dimension(&days, Metric::Days)),
            waiting: if_allowed(waiting)?,
            requests: if_allowed(requests)?.map(|requests| requests.count()),
        })
    }
}

fn if_allowed<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.denied().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

const HEADING: [&str; 7] = [
    "Campaign",
    "Status",
    "Waiting for a person",
    "Entries today",
    "Yesterday",
    "Begins and ends",
    "Open",
];

/// On a phone, a row is a card, and its cells have their names.
fn list_table(rows: Markup) -> Markup {
    html! {
        div.cards { (table("All campaigns", &HEADING, rows)) }
    }
}

fn row(campaign: &Campaign, live: &Live, now: Timestamp) -> Markup {
    let zone = campaign.timezone;
    let time = |at: Option<Timestamp>| or_dash(at.map(|at| minute(at, zone)));
    let entries = |at: Timestamp| {
        let days = live.days.as_ref()?;
        let sum = days.get(&at.day_in(zone)).copied().unwrap_or_default();
        Some(number(sum.entries))
    };
    let [test, scope] = campaign.slug.scopes();
    let [_, status_name, waiting_name, today, yesterday, window, open] = HEADING;
    html! {
        tr {
            td { a href=(path_of(&scope)) { (campaign.name) } br; span.soft { (campaign.brand) " · " (campaign.slug) } }
            td data-name=(status_name) { (status(campaign, now)) }
            td data-name=(waiting_name) {
                @match live.waiting {
                    Some(0) => "0",
                    Some(waiting) => a.waiting href={ (path_of(&scope)) "/review" } { (grouped(waiting)) span.unseen { " of " (campaign.name) } },
                    None => "—",
                }
                @if let Some(requests) = live.requests.filter(|requests| *requests > 0) { br; a.waiting href=(path_of(&scope)) { (counted(requests, "request")) span.unseen { " in " (campaign.name) } } }
            }
            td data-name=(today) { (or_dash(entries(now))) }
            td data-name=(yesterday) {
                @let day = now.before(DAY);
                @match entries(day) {
                    Some(entries) => a href=(submissions_path(&scope, &[("day", &day.day_in(zone)), ("state", "accepted")])) { (entries) span.unseen { " of " (campaign.name) } },
                    None => "—",
                }
            }
            td data-name=(window) { (time(campaign.window.start)) " to " br; (time(campaign.window.end)) }
            td data-name=(open) {
                span {
                    @for of in [scope.clone(), test] {
                        a.plain href=(path_of(&of)) { (environment(of.environment)) span.unseen { " " (campaign.name) } } " "
                    }
                }
            }
        }
    }
}

fn minute(at: Timestamp, zone: Tz) -> String {
    local_time(at, zone).chars().take(MINUTE).collect()
}

/// Class and word: each status has its own colour.
fn status_words(campaign: &Campaign, now: Timestamp) -> (&'static str, &'static str) {
    match campaign.status(now) {
        _ if campaign.archived => ("archived", "archived"),
        CampaignStatus::Live => ("good", "live"),
        CampaignStatus::Paused => ("paused", "paused"),
        CampaignStatus::NotStarted => ("soon", "not started"),
        CampaignStatus::Ended => ("over", "ended"),
    }
}

pub(crate) fn status(campaign: &Campaign, now: Timestamp) -> Markup {
    let (class, word) = status_words(campaign, now);
    pill(class, word)
}
