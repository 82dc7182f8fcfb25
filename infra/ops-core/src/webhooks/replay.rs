use common::aws::event_queue::QueuedEvent;
use common::domain::webhook::{
    Endpoint, EndpointStatus, Event, EventId, EventType, current_events, is_known_from_reply,
};
use common::store::submissions::Selection;
use common::store::table_pages::TablePage;

use super::record;
use crate::cli::Moment;
use crate::prelude::*;
use crate::tables::take_pages;

/// On a schedule of their own; returns the endpoints' hosts.
pub async fn replay_event(
    tables: &Tables,
    endpoints: &[Endpoint],
    event: &EventId,
    now: Timestamp,
) -> Result<Vec<String>> {
    let mut hosts = Vec::new();
    for endpoint in endpoints {
        let key = format!("{}#{event}", endpoint.endpoint);
        let Some(kept) = tables.webhook_deliveries.get(&key).await? else {
            continue;
        };
        check_active(endpoint)?;
        let details = json!({ "event": event });
        record(tables, "webhook.replay", endpoint, details, now).await?;
        let again = kept.clone().replayed(now);
        // If another worker has it, it is sent at this moment.
        if tables.webhook_deliveries.replace(&kept, &again).await? {
            publish(tables, &[QueuedEvent::again(&again)]).await?;
        }
        hosts.push(endpoint.url.host().to_owned());
    }
    if hosts.is_empty() {
        bail!(
            "event_unknown",
            "no delivery of this event is kept: it arrived at once, or is over 30 days old; `ops webhook replay --from TIME` \
             sends submissions as they are now"
        );
    }
    Ok(hosts)
}

/// If none gets events, the error is that of the first.
pub(crate) fn active(mut endpoints: Vec<Endpoint>) -> Result<Vec<Endpoint>> {
    if let Some(first) = endpoints.first()
        && endpoints
            .iter()
            .all(|one| one.status != EndpointStatus::Active)
    {
        check_active(first)?;
    }
    endpoints.retain(|one| one.status == EndpointStatus::Active);
    Ok(endpoints)
}

fn check_active(endpoint: &Endpoint) -> Result<()> {
    if endpoint.status == EndpointStatus::Active {
        return Ok(());
    }
    bail!(
        "endpoint_not_active",
        "the endpoint {} at {} is {}, and gets no events; run `ops webhook start` for a stopped one, `ops webhook test` for \
         one that was never tested",
        endpoint.endpoint,
        endpoint.url.host(),
        endpoint.status
    )
}

async fn publish(tables: &Tables, events: &[QueuedEvent]) -> Result<()> {
    let sent = tables.event_queue()?.publish(events).await;
    Ok(sent.map_err(|unsent| unsent.error)?)
}

/// Submissions whose last change is in a time, and types of their events.
#[derive(Clone, Debug)]
pub struct Period {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Empty for the endpoint's, without what replies to requests told.
    pub types: Vec<EventType>,
}

impl Period {
    pub(crate) fn new(
        from: Moment,
        to: Option<Moment>,
        types: Vec<EventType>,
        zone: Tz,
        now: Timestamp,
    ) -> Result<Self> {
        let (from, to) = (from.begin(zone), to.map_or(now, |to| to.end(zone)));
        if from >= to {
            bail!(
                "period_empty",
                "no time is in this period: its end must be a later day or time than its beginning"
            );
        }
        Ok(Self { from, to, types })
    }

    /// An empty end is now.
    pub fn parse(from: &str, to: &str, zone: Tz, now: Timestamp) -> Result<Self> {
        let moment = |text: &str| {
            let parsed = text.parse::<Moment>();
            parsed.map_err(|why| failure!("time_invalid", "{why}"))
        };
        let to = (!to.is_empty()).then(|| moment(to)).transpose()?;
        Self::new(moment(from)?, to, Vec::new(), zone, now)
    }

    fn events(&self, endpoint: &Endpoint, submission: &Submission) -> Vec<QueuedEvent> {
        let changed_at = submission.real_time(submission.updated_at);
        let is_in = (self.from..self.to).contains(&changed_at);
        if !is_in || (self.types.is_empty() && is_known_from_reply(submission)) {
            return Vec::new();
        }
        let is_wanted = |kind: &EventType| {
            endpoint.types.contains(kind) && (self.types.is_empty() || self.types.contains(kind))
        };
        let types = current_events(submission).into_iter().filter(is_wanted);
        let event =
            |kind| QueuedEvent::new(submission, &endpoint.endpoint, Event::new(submission, kind));
        types.map(event).collect()
    }
}

pub async fn replay_period_unseen(
    tables: &Tables,
    endpoints: &[Endpoint],
    period: &Period,
    clock: &Clock,
) -> Result<usize> {
    let (mut out, mut err) = (io::sink(), io::sink());
    let mut terminal = Terminal {
        is_quiet: true,
        yes: true,
        ..Terminal::without_input(&mut out, &mut err)
    };
    replay_period(tables, endpoints, period, clock, &mut terminal).await
}

pub(crate) async fn replay_period(
    tables: &Tables,
    endpoints: &[Endpoint],
    period: &Period,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<usize> {
    let [first, ..] = endpoints else {
        bail!(
            "endpoint_unknown",
            "there is no endpoint to send to; `ops webhook add` adds one"
        );
    };
    for endpoint in endpoints {
        check_active(endpoint)?;
        let details = json!({ "from": period.from.to_string(), "to": period.to.to_string() });
        record(tables, "webhook.replay", endpoint, details, clock.now()).await?;
    }
    let selection = Selection {
        // Test submissions may have been created at a later time that a tester chose.
        to: first.scope.environment.is_live().then_some(period.to),
        ..Selection::all(first.scope.clone())
    };
    let send = |page: TablePage<Submission>| async move {
        let events: Vec<_> = page
            .records
            .iter()
            .flat_map(|submission| {
                endpoints
                    .iter()
                    .flat_map(move |endpoint| period.events(endpoint, submission))
            })
            .collect();
        publish(tables, &events).await?;
        Ok::<_, Failure>(TablePage {
            records: vec![events.len()],
            unreadable: page.unreadable,
            read: page.read,
        })
    };
    let mut count = 0;
    let add = |sent: Vec<usize>| {
        count += sent.iter().sum::<usize>();
        Ok(())
    };
    let pages = tables.submissions().select(&selection);
    let sent = pages.err_into().and_then(send);
    take_pages(sent, add, "not every submission was sent", clock, terminal).await?;
    Ok(count)
}
