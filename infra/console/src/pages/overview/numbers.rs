//! The numbers of the overview: figures, plots and shares, each a link to its submissions.

use common::domain::win::Win;
use ops_core::statistics::Days;
use ops_core::statistics::aggregate::{
    PrizesLeft, aggregate, each_day, each_hour, figures, latest_hour, prizes_left, receipt_words,
};

use super::submissions_path;
use crate::plot::{Share, of_whole, over_time, shares};
use crate::prelude::*;

/// Two days show when people enter.
const HOURS: i64 = 48;
/// Consumers write regions; the rest are one row.
const MAX_SHARES: usize = 20;

/// Entries today, and yesterday.
pub(super) fn today(
    scope: &Scope,
    totals: &Aggregate,
    campaign: &Campaign,
    now: Timestamp,
) -> Markup {
    const DAY: Duration = Duration::from_hours(24);
    let zone = campaign.timezone;
    let days = [("Today", now), ("Yesterday", now.before(DAY))];
    html! {
        dl.figures {
            @for (name, at) in days {
                @let day = at.day_in(zone);
                @let sum = totals.get(&day).copied().unwrap_or_default();
                div {
                    dt { (name) ", entries" }
                    dd {
                        a href=(submissions_path(scope, &[("day", &day), ("state", "accepted")])) { (number(sum.entries)) }
                        " " span.soft { "from " (number(sum.records)) " submissions" }
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) scope: &'a Scope,
    pub(super) campaign: &'a Campaign,
    pub(super) days: Days,
    pub(super) counters: &'a Counters,
    pub(super) now: Timestamp,
}

impl Shown<'_> {
    /// The list of submissions with this filter, of the days that are shown.
    fn link(&self, filters: &[(&str, &str)]) -> String {
        let ends = [("from", self.days.from), ("to", self.days.to)];
        let ends = ends.map(|(name, end)| (name, end.map(|day| day.to_string())));
        let days = ends
            .iter()
            .filter_map(|(name, end)| Some((*name, end.as_deref()?)));
        let filters: Vec<_> = filters.iter().copied().chain(days).collect();
        submissions_path(self.scope, &filters)
    }

    pub(super) fn figures(&self) -> Markup {
        let link = |name: &str| match name {
            "Submissions" => Some(self.link(&[])),
            "Entries" => Some(self.link(&[("state", "accepted")])),
            _ if name.starts_with("Awaiting") => Some(self.link(&[("state", "unknown")])),
            _ => None,
        };
        html! {
            dl.figures {
                @for (name, value) in figures(self.counters, self.days.are_all()) {
                    div {
                        dt { (name) }
                        dd { @if let Some(path) = link(name) { a href=(path) { (value) } } @else { (value) } }
                    }
                }
            }
        }
    }

    pub(super) fn plots(&self) -> Markup {
        let Self {
            campaign,
            counters,
            now,
            ..
        } = self;
        let zone = campaign.timezone;
        let is_over = campaign.status(*now) == CampaignStatus::Ended;
        let today = now.day_in(zone);
        let is_past = self.days.to.is_some_and(|to| to.to_string() < today);
        let until = (!is_over && !is_past).then_some(today.as_str());
        let days = each_day(&by_dimension(counters, Metric::Days), until);
        let end = latest_hour(counters)
            .filter(|_| until.is_none())
            .unwrap_or(*now);
        let mut hours = each_hour(counters, zone, end, HOURS);
        // Hours of other days are not counted here.
        let from = self.days.from.map(|from| from.to_string());
        hours.retain(|(hour, _)| from.as_ref().is_none_or(|from| hour >= from));
        let until = hours.last().map_or("", |(hour, _)| hour);
        let of_day = |day: &str| Some(submissions_path(self.scope, &[("day", day)]));
        let section = |title: &str, heading: [&str; 2], rows: Vec<Share>| {
            html! {
                @if !rows.is_empty() { div { h2 { (title) } (shares(title, heading, rows)) } }
            }
        };
        let outcomes = of_whole(
            &by_dimension(counters, Metric::Outcomes),
            MAX_SHARES,
            |outcome| outcome.replacen('#', ", ", 1).replace('_', " "),
            |outcome| {
                let (state, reason) = outcome.split_once('#').unwrap_or((outcome, ""));
                Some(self.link(&[("state", state), ("reason", reason)]))
            },
        );
        let receipts = of_whole(
            &by_dimension(counters, Metric::Receipts),
            MAX_SHARES,
            receipt_words,
            |_| None,
        );
        let regions = of_whole(
            &named(by_dimension(counters, Metric::Regions)),
            MAX_SHARES,
            str::to_owned,
            |region| Some(self.link(&[("region", region)])),
        );
        let branches = aggregate(counters, Metric::Branches, |counter| {
            counter.dimension.clone()
        });
        let branches = of_whole(
            &named(branches),
            MAX_SHARES,
            |key| branch_name(campaign, key),
            |_| None,
        );
        html! {
            div.pair {
                (over_time("Entries by day", "Day", &days, of_day))
                (over_time(&format!("Entries by hour, until {until}"), "Hour", &hours, |_| None))
            }
            div.pair {
                (section("Outcomes", ["Outcome", "Submissions"], outcomes))
                (section("Receipts", ["State", "Submissions"], receipts))
            }
            div.pair {
                (section("Regions", ["Region", "Submissions"], regions))
                (section("Branches", ["Branch", "Submissions"], branches))
            }
        }
    }
}

/// Empty if none has a name.
fn named(aggregate: Aggregate) -> Aggregate {
    let has_name = aggregate.keys().any(|name| !name.is_empty());
    aggregate.into_iter().filter(|_| has_name).collect()
}

/// Its key, if the campaign no longer lists it.
fn branch_name(campaign: &Campaign, key: &str) -> String {
    let branches = campaign.receipt.iter().flat_map(|rules| &rules.branches);
    let mut branches = branches.filter(|branch| branch.key == key);
    let branch = branches.next();
    branch.map_or_else(|| visible(key), |branch| branch.name.clone())
}

/// `redeemed` is of the whole campaign.
pub(super) fn codes(
    scope: &Scope,
    redeemed: &Aggregate,
    batches: &[Batch],
    wins: &[Win],
) -> Markup {
    let row = |batch: &Batch| {
        let used = records_of(redeemed, &batch.name);
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
            words: html! {
                a href=(submissions_path(scope, &[("batch", &batch.name), ("state", "accepted")])) { (number(used)) } " of " (grouped(batch.count()))
            },
        }
    };
    let prize = |left: PrizesLeft<'_>| {
        let at_hand = left.left?;
        Some(Share {
            name: html! { (left.prize) br; span.soft { (left.batch.name) } },
            value: at_hand,
            of: left.codes,
            words: html! { (number(at_hand)) " of " (number(left.codes)) },
        })
    };
    let prizes: Vec<_> = prizes_left(batches, wins)
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
                        h2 { "Prizes left" }
                        (shares("Prizes that no winner has", ["Prize", "Left"], prizes))
                        p.soft { "Those of codes that are lost are among these." }
                    }
                }
            }
        }
    }
}
