//! The part of the overview that says what there is to do: what waits, what fails, what stands still.

use common::domain::campaign::CodePolicy;
use common::domain::receipt::schedule::LOOKUPS_PER_MINUTE;
use common::domain::settling::Dependency;
use common::domain::submission::OperatorDecision;
use common::domain::win::Win;
use common::error::StoreError;
use common::store::breakers::BreakerState;
use ops_core::approvals::{Requests, in_words};
use ops_core::pace::{PartnerConcurrency, looked_up_by};
use ops_core::{statistics, webhooks};

use super::submissions_path;
use crate::pages::draws::path_of_draw;
use crate::pages::prizes::path_of_prizes;
use crate::pages::webhooks::banner;
use crate::prelude::*;

pub(super) async fn tasks(
    console: &Console,
    tables: &Tables,
    scope: &Scope,
    campaign: &Campaign,
    batches: &[Batch],
    wins: &[Win],
) -> PageResult<Markup> {
    let (now, zone) = (console.now(), campaign.timezone);
    let waiting = tables
        .submissions()
        .count_waiting_for_operator(scope)
        .await?;
    let partner = match campaign.partner {
        Some(_) => partner_words(tables.partner_breaker(scope, now).await?, zone, now),
        None => None,
    };
    let stand_still = Box::pin(statistics::stand_still(tables, scope, now)).await?;
    let listed = match campaign.has_webhooks() {
        true => webhooks::list(tables, scope).await?,
        false => Vec::new(),
    };
    let has_codes = batches
        .iter()
        .any(|batch| batch.status == BatchStatus::Active);
    let is_over = campaign.status(now) == CampaignStatus::Ended;
    let needs_codes = campaign.code == CodePolicy::Service && !has_codes && !is_over;
    let failing = html! {
        @if let Some(words) = &partner { p.bad role="alert" { (words) } }
        (banner(&listed, zone, now))
        @if stand_still {
            p.bad role="alert" {
                "These numbers stand still: a submission that waits for more than five minutes is not counted. Nothing is lost. Tell the \
                 stack's administrator: the alarm counting-behind says more."
            }
        }
        @if needs_codes {
            p.bad { "There are no codes, so every entry is refused. " a href={ (path_of(scope)) "/codes" } { "Mint or import some" } "." }
        }
    };
    let to_call = wins.iter().filter(|win| {
        let state = win.state();
        matches!(state, ContactState::Drawn | ContactState::Called { .. })
    });
    let to_call = to_call.count();
    let requests = Requests::read(tables, scope, now).await?;
    let quiet = waiting == 0 && to_call == 0 && requests.count() == 0 && failing.0.is_empty();
    Ok(html! {
        section aria-label="To do" {
            @if waiting > 0 {
                p.task {
                    a.button href={ (path_of(scope)) "/review" } { (grouped(waiting)) " waiting for you: review" }
                    a href=(submissions_path(scope, &[("waiting", "person")])) { "Show the list" }
                }
            }
            @if to_call > 0 {
                p.task { a.button href=(path_of_prizes(scope)) { (grouped(to_call)) " instant prizes: call the winners" } }
            }
            (asked(tables, scope, requests, zone).await?)
            (failing)
            @if quiet { p.good { "Nothing waits for a person, and nothing fails." } }
            @for words in backlog(console, tables, scope, campaign).await? { p { (words) } }
        }
    })
}

/// Requests of which the overview names each.
const MAX_REQUESTS: usize = 5;

/// What waits for a second person, longest waiting first.
async fn asked(tables: &Tables, scope: &Scope, requests: Requests, zone: Tz) -> PageResult<Markup> {
    let more = requests.submissions.len().saturating_sub(MAX_REQUESTS);
    let mut first = requests.submissions;
    first.truncate(MAX_REQUESTS);
    let (first, _) = tables.submissions().read_unsettled(first).await?;
    let line = |decision: &OperatorDecision, what: Markup| {
        let why = decision.why.as_deref().unwrap_or("no reason given");
        html! { li { (decision.by) " asked on " (zoned_time(decision.at, zone)) " to " (what) ": “" (why) "”" } }
    };
    let submissions = first.iter().filter_map(|one| {
        let asked = one.approval.as_ref()?;
        let link = html! { (in_words(&asked.change)) " " a href=(path_of_submission(one.submission_id)) { (one.reference()) } };
        Some(line(&asked.decision, link))
    });
    let draws = requests.draws.iter().filter_map(|draw| {
        let link =
            html! { "give up the draw " a href=(path_of_draw(scope, &draw.name)) { (draw.name) } };
        Some(line(draw.abandonment.as_ref()?, link))
    });
    let lines: Vec<_> = submissions.chain(draws).collect();
    Ok(html! {
        @if !lines.is_empty() {
            div.asked {
                h2 { "Waits for a second person" }
                ul { @for line in lines { (line) } }
                @if more > 0 {
                    p { a href=(submissions_path(scope, &[("waiting", "person")])) { (grouped(more)) " more in the list" } }
                }
            }
        }
    })
}

/// `None` if the partner answers.
fn partner_words(state: BreakerState, zone: Tz, now: Timestamp) -> Option<String> {
    match state {
        BreakerState::Closed => None,
        BreakerState::Slow => {
            Some("The partner answers slowly. Entries that it does not answer in time are asked about again.".to_owned())
        }
        BreakerState::OpenUntil(until) => {
            let next = match until > now {
                true => format!("It is asked again at {}.", until.in_zone(zone).format("%H:%M:%S")),
                false => "It is asked again with the next entry.".to_owned(),
            };
            Some(format!(
                "The partner does not answer. New entries wait, and consumers are told that they are checked. {next}"
            ))
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
        let concurrency = PartnerConcurrency::from_env(&console.env)?;
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
