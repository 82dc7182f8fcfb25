//! A campaign's numbers at a glance.

use common::domain::receipt::schedule::LOOKUPS_PER_MINUTE;
use common::domain::settling::Dependency;
use common::error::StoreError;
use ops_core::campaigns::set_paused;
use ops_core::pace::{PartnerConcurrency, looked_up_by};
use ops_core::statistics::aggregate::{
    PrizesLeft, aggregate, each_day, each_hour, figures, latest_hour, prizes_left, receipt_words,
};
use ops_core::statistics::{self, Days};
use ops_core::webhooks;

use super::campaigns::status;
use super::webhooks::banner;
use crate::plot::{Share, of_largest, over_time, shares};
use crate::prelude::*;

/// Two days show when people enter.
const HOURS: i64 = 48;

pub(crate) fn routes() -> Router<Console> {
    let path = "/campaigns/{campaign}/{environment}";
    Router::new()
        .route(path, get(overview))
        .route(&format!("{path}/pause"), post(pause))
        .route(&format!("{path}/resume"), post(resume))
}

async fn overview(console: Console, Named(scope): Named<Scope>) -> PageResult {
    let tables = console.tables()?;
    let campaign = tables.campaign(&scope.campaign).await?;
    let counters = Box::pin(statistics::read(&tables, &scope, Days::default())).await?;
    let book = tables.code_books.overview(&scope).await?;
    let batches = book.map(|book| book.batches).unwrap_or_default();
    let backlog = backlog(&console, &tables, &scope, &campaign).await?;
    let listed = match campaign.has_webhooks() {
        true => webhooks::list(&tables, &scope).await?,
        false => Vec::new(),
    };
    let content = html! {
        (state(&scope, &campaign, console.now()))
        (banner(&listed, campaign.timezone, console.now()))
        @for waiting in backlog { p { (waiting) } }
        @if counters.is_empty() {
            p { "Nothing has been counted. New submissions are counted within a minute." }
        } @else {
            dl.figures { @for (name, value) in figures(&counters, true) { div { dt { (name) } dd { (value) } } } }
            (plots(&campaign, &counters, console.now()))
        }
        (codes(&counters, &batches))
        p.soft { "Numbers are at most a minute old. Days and hours are those of " (campaign.timezone.name()) "." }
    };
    Ok(Page::new(&campaign.name, Section::Overview)
        .in_scope(&scope)
        .render(content))
}

async fn pause(console: Console, Named(scope): Named<Scope>) -> PageResult<Redirect> {
    switch(&console, &scope, true).await
}

async fn resume(console: Console, Named(scope): Named<Scope>) -> PageResult<Redirect> {
    switch(&console, &scope, false).await
}

async fn switch(console: &Console, scope: &Scope, paused: bool) -> PageResult<Redirect> {
    let (tables, now) = (console.tables()?, console.now());
    set_paused(&tables, &scope.campaign, paused, None, now).await?;
    Ok(Redirect::to(&path_of(scope)))
}

fn state(scope: &Scope, campaign: &Campaign, now: Timestamp) -> Markup {
    let zone = campaign.timezone;
    let (does, name, note) = if campaign.paused {
        (
            "resume",
            "Resume",
            "It takes no entries, in test and live, until it is resumed.",
        )
    } else {
        (
            "pause",
            "Pause",
            "A pause holds for test and live, and callers see it within 5 seconds.",
        )
    };
    let is_over = campaign.status(now) == CampaignStatus::Ended;
    html! {
        div.state {
            p {
                (status(campaign, now)) " " (campaign.brand)
                @if let Some(start) = campaign.window.start { " · from " (zoned_time(start, zone)) }
                @if let Some(end) = campaign.window.end { " · to " (zoned_time(end, zone)) }
            }
            @if !is_over {
                form method="post" action={ (path_of(scope)) "/" (does) } {
                    button.danger[!campaign.paused] { (name) " the campaign" }
                    span.soft { (note) }
                }
            }
        }
    }
}

/// All campaigns share the pace, so the backlog of others counts too.
async fn backlog(
    console: &Console,
    tables: &Tables,
    scope: &Scope,
    campaign: &Campaign,
) -> PageResult<Vec<String>> {
    let (now, mut told) = (console.now(), Vec::new());
    if campaign.receipt.is_some() {
        let waiting = Waiting::count(tables, scope, Dependency::TaxAuthority, now).await?;
        told.push(match waiting.in_all() {
            0 => "No receipt is due at the tax authority; those that are tried again later are not counted.".to_owned(),
            in_all => format!(
                "Receipts that are due at the tax authority: {}. At {LOOKUPS_PER_MINUTE} a minute for all campaigns \
                 together, all are looked up by {}, unless more come.",
                waiting.in_words(),
                local_time(looked_up_by(now, in_all), campaign.timezone)
            ),
        });
    }
    if let Some(partner) = &campaign.partner {
        let waiting = Waiting::count(tables, scope, Dependency::Partner, now).await?;
        let concurrency = PartnerConcurrency::from_env(console.env())?;
        let seconds = waiting.answer_seconds(&tables.campaigns.list().await?);
        told.push(match waiting.in_all() {
            0 => "No submission is due at a partner; those that are tried again later are not counted.".to_owned(),
            in_all => format!(
                "Submissions that are due at a partner: {}. The queue asks about them for all campaigns together, {}. \
                 If every answer takes as long as its campaign lets it, all are asked about by {}, unless more come.",
                waiting.in_words(),
                concurrency.rate(partner.timeout_seconds),
                local_time(
                    now.after(Duration::from_mins(concurrency.minutes_for(in_all, seconds))),
                    campaign.timezone
                )
            ),
        });
    }
    Ok(told)
}

struct Waiting {
    here: u64,
    by_scope: HashMap<Scope, u64>,
}

impl Waiting {
    async fn count(
        tables: &Tables,
        scope: &Scope,
        dependency: Dependency,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let by_scope = tables.submissions().count_due(dependency, now).await?;
        Ok(Self {
            here: by_scope.get(scope).copied().unwrap_or_default(),
            by_scope,
        })
    }

    fn in_all(&self) -> u64 {
        self.by_scope.values().sum()
    }

    fn answer_seconds(&self, campaigns: &[Campaign]) -> u64 {
        let seconds_of = |scope: &Scope| {
            let mut campaigns = campaigns.iter();
            let campaign = campaigns.find(|campaign| campaign.slug == scope.campaign);
            let partner = campaign.and_then(|campaign| campaign.partner.as_ref());
            partner.map_or(0, |partner| u64::from(partner.timeout_seconds))
        };
        let seconds = self
            .by_scope
            .iter()
            .map(|(scope, count)| count * seconds_of(scope));
        seconds.sum()
    }

    fn in_words(&self) -> String {
        format!(
            "{} here, {} in all campaigns",
            grouped(self.here),
            grouped(self.in_all())
        )
    }
}

fn plots(campaign: &Campaign, counters: &Counters, now: Timestamp) -> Markup {
    let zone = campaign.timezone;
    let is_over = campaign.status(now) == CampaignStatus::Ended;
    let today = (!is_over).then(|| now.day_in(zone));
    let days = each_day(&by_dimension(counters, Metric::Days), today.as_deref());
    let end = latest_hour(counters).filter(|_| is_over).unwrap_or(now);
    let hours = each_hour(counters, zone, end, HOURS);
    let until = hours.last().map_or("", |(hour, _)| hour);
    let outcomes = aggregate(counters, Metric::Outcomes, |counter| {
        counter.dimension.replacen('#', ", ", 1)
    });
    let receipts = aggregate(counters, Metric::Receipts, |counter| {
        receipt_words(&counter.dimension)
    });
    let section = |title: &str, heading: [&str; 2], aggregate: &Aggregate| {
        html! {
            @if !aggregate.is_empty() {
                div {
                    h2 { (title) }
                    (shares(title, heading, of_largest(aggregate, |name| name.replace('_', " "))))
                }
            }
        }
    };
    html! {
        div.pair {
            (over_time("Entries by day", "Day", &days))
            (over_time(&format!("Entries by hour, the {HOURS} hours until {until}"), "Hour", &hours))
        }
        div.pair {
            (section("Outcomes", ["Outcome", "Submissions"], &outcomes))
            (section("Receipts", ["State", "Submissions"], &receipts))
        }
    }
}

fn codes(counters: &Counters, batches: &[Batch]) -> Markup {
    let redeemed = by_dimension(counters, Metric::Batches);
    let row = |batch: &Batch| {
        let used = records_of(&redeemed, &batch.name);
        let all = i64::try_from(batch.count()).unwrap_or(i64::MAX);
        let name = html! {
            (batch.name)
            @if batch.status == BatchStatus::Void { " " (pill("over", "void")) }
            @if let Some(prize) = &batch.prize { br; span.soft { (prize) } }
        };
        Share {
            name,
            value: used,
            of: all,
            words: format!("{} of {}", number(used), grouped(batch.count())),
        }
    };
    let prize = |left: PrizesLeft<'_>| {
        let at_most = left.at_most?;
        Some(Share {
            name: html! { (left.prize) br; span.soft { (left.batch.name) } },
            value: at_most,
            of: left.codes,
            words: format!("{} of {}", number(at_most), number(left.codes)),
        })
    };
    let prizes: Vec<_> = prizes_left(batches, &redeemed)
        .into_iter()
        .filter_map(prize)
        .collect();
    html! {
        @if !batches.is_empty() {
            div.pair {
                div {
                    h2 { "Codes" }
                    (shares("Redeemed codes of each batch", ["Batch", "Redeemed"], batches.iter().map(row).collect()))
                }
                @if !prizes.is_empty() {
                    div {
                        h2 { "Prizes left, at most" }
                        (shares("Prizes that are left, at most", ["Prize", "Left, at most"], prizes))
                        p.soft { "Held codes are among these, and those that stayed used after a revocation." }
                    }
                }
            }
        }
    }
}
