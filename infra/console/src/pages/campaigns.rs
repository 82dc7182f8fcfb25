//! All campaigns.

use common::aws::concurrently;
use common::domain::statistics::ALL_DAYS;
use ops_core::statistics::aggregate::total;

use crate::prelude::*;

pub(crate) fn routes() -> Router<Console> {
    Router::new().route("/", get(list))
}

async fn list(console: Console) -> PageResult {
    let (tables, now) = (console.tables()?, console.now());
    let mut campaigns = tables.campaigns.list().await?;
    campaigns.sort_by_key(|campaign| {
        (
            campaign.archived,
            campaign.status(now) == CampaignStatus::Ended,
        )
    });
    let totals = campaigns
        .iter()
        .map(|campaign| live_total(&tables, campaign).boxed());
    let totals = concurrently(totals.collect::<Vec<_>>()).await?;
    let rows = html! { @for (campaign, total) in campaigns.iter().zip(totals) { (row(campaign, total, now)) } };
    let content = html! {
        @if campaigns.is_empty() {
            p { "There are no campaigns yet; " code { "ops campaign apply FILE.yaml" } " adds one." }
        } @else {
            (table("All campaigns", &["Campaign", "Status", "Begins", "Ends", "Submissions", "Entries", "Open"], rows))
            p.soft { "Submissions and entries are those of live, at most a minute old." }
        }
    };
    Ok(Page::new("Campaigns", Section::Campaigns).render(content))
}

/// `None` for roles that may not read numbers.
async fn live_total(tables: &Tables, campaign: &Campaign) -> PageResult<Option<Amount>> {
    let [_, live] = campaign.slug.scopes();
    match tables
        .statistics
        .counters(&live, Metric::Days, ALL_DAYS)
        .await
    {
        Ok(counters) => Ok(Some(total(&by_dimension(&counters, Metric::Days)))),
        Err(error) if error.denied().is_some() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn row(campaign: &Campaign, total: Option<Amount>, now: Timestamp) -> Markup {
    let zone = campaign.timezone;
    let time = |at: Option<Timestamp>| or_dash(at.map(|at| minute(at, zone)));
    let [test, live] = campaign.slug.scopes();
    html! {
        tr {
            td { a href=(path_of(&live)) { (campaign.name) } br; span.soft { (campaign.brand) " · " (campaign.slug) } }
            td { (status(campaign, now)) }
            td { (time(campaign.window.start)) }
            td { (time(campaign.window.end)) }
            td { (or_dash(total.map(|total| number(total.records)))) }
            td { (or_dash(total.map(|total| number(total.entries)))) }
            td {
                @for of in [live, test] {
                    a.plain href=(path_of(&of)) { (environment(of.environment)) span.unseen { " " (campaign.name) } } " "
                }
            }
        }
    }
}

fn minute(at: Timestamp, zone: Tz) -> String {
    local_time(at, zone)
        .chars()
        .take("2026-11-22 17:00".len())
        .collect()
}

pub(crate) fn status(campaign: &Campaign, now: Timestamp) -> Markup {
    let (class, word) = match campaign.status(now) {
        _ if campaign.archived => ("over", "archived"),
        CampaignStatus::Live => ("good", "live"),
        CampaignStatus::Paused => ("paused", "paused"),
        CampaignStatus::NotStarted => ("over", "not started"),
        CampaignStatus::Ended => ("over", "ended"),
    };
    pill(class, word)
}
