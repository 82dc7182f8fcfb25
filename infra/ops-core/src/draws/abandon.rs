//! Gives up a draw whose run is not finished. Two people agree on it, and it is published beside
//! the commitment, so that a second draw cannot go unseen.

use super::files::ABANDONED;
use super::openings::busy;
use super::prelude::*;
use super::{logged, step_time};
use crate::approvals;

const ABANDON: &str = "draw.abandon";

/// The request that a second person can confirm. After the round the winners can be computed, so
/// both have to ask knowing the same.
pub fn request(draw: &Draw, now: Timestamp) -> Option<&OperatorDecision> {
    let is_outdated = |first: &OperatorDecision| first.at < draw.round_at && draw.round_at <= now;
    draw.abandonment
        .as_ref()
        .filter(|first| first.confirmed.is_none() && !is_outdated(first))
}

pub fn awaits_second(draw: &Draw, now: Timestamp) -> bool {
    draw.outcome.is_none() && request(draw, now).is_some()
}

/// Takes the request back: its operator withdraws it, another one declines it.
pub async fn decline(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    why: &str,
    shown: Option<Timestamp>,
) -> Result<Draw> {
    let why = validate_reason(why, "the reason")?;
    let now = storage_time(tables).await?;
    let first = request(draw, now).filter(|first| Some(first.at) == shown);
    let first = first.ok_or_else(|| request_changed(&draw.name))?;
    let decision = tables.audit.decision(why.clone(), now).await?;
    let name = match approvals::is_own(first, &decision) {
        true => "draw.withdraw",
        false => "draw.decline",
    };
    let details = json!({ "request": first, "commitment": draw.commitment });
    let action = Action::new(name).in_scope(scope).on(&draw.name);
    let row = action.because(&why).with(details);
    tables.audit.append(row, now).await?;
    if !tables.draws.keep(scope, &draw.name, first).await? {
        return Err(busy(&draw.name));
    }
    super::find(tables, scope, &draw.name).await
}

fn request_changed(name: &DrawName) -> Failure {
    failure!(
        "request_changed",
        "nothing was done: another person asked to give the draw {name} up, or took that back, or its round came, since it was \
         shown; look at it again, and set this machine's clock right if it is wrong"
    )
}

/// Asks for it; as the second person, confirms and publishes it. Returns the draw after it.
///
/// `shown` is the time of the request that the person was shown, if there was one.
pub async fn abandon(
    tables: &Tables,
    scope: &Scope,
    draw: Draw,
    why: &str,
    shown: Option<Timestamp>,
) -> Result<Draw> {
    let why = validate_reason(why, "the reason")?;
    if draw.outcome.is_some() {
        return Err(has_winners(&draw));
    }
    // By a slow clock, the winners could be known before the round.
    let now = storage_time(tables).await?;
    let asked_at = request(&draw, now).map(|first| first.at);
    if asked_at != shown && !draw.is_abandoned() {
        return Err(request_changed(&draw.name));
    }
    let decision = tables.audit.decision(why.clone(), now).await?;
    let row = |decision: &OperatorDecision| {
        let proposal = decision.confirmed.is_none();
        let details = json!({ "proposal": proposal, "commitment": draw.commitment });
        let details = extended(details, approvals::asked_by(decision));
        let action = Action::new(ABANDON).in_scope(scope).on(&draw.name);
        action.because(&why).with(details)
    };
    let decision = match &draw.abandonment {
        // Publishing was interrupted.
        Some(both) if draw.is_abandoned() => both.clone(),
        Some(first) if asked_at.is_some() => {
            let (request, at_stake) = (row(&decision), "two people give a draw up");
            let both = approvals::confirmed(tables, &request, first, &decision, at_stake);
            Box::pin(both).await?.unwrap_or(decision)
        }
        Some(_) | None => decision,
    };
    let logged = tables.audit.append(row(&decision), now).await?;
    let is_written = tables.draws.abandon(scope, &draw, &decision).await?;
    let draw = super::find(tables, scope, &draw.name).await?;
    if draw.is_abandoned() {
        publish(tables, scope, &draw, &logged, now).await?;
    } else if draw.outcome.is_some() {
        return Err(has_winners(&draw));
    } else if !is_written {
        return Err(busy(&draw.name));
    }
    Ok(draw)
}

fn is_proposal(details: &Value) -> bool {
    details.get("proposal") != Some(&Value::Bool(false))
}

/// True if two people gave the draw up, by the audit log and a file that names its row.
pub(super) async fn is_decided(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    published: &BTreeMap<String, Timestamp>,
) -> Result<bool> {
    if !published.keys().any(|name| name.starts_with(ABANDONED)) {
        return Ok(false);
    }
    let rows = logged(tables, scope, draw.frozen_at, &draw.commitment, ABANDON).await?;
    let decision = |row: &AuditRow| OperatorDecision {
        by: row.entry.by.clone().unwrap_or_default(),
        at: row.at,
        why: None,
        confirmed: None,
        identity: Some(row.entry.who.clone()),
    };
    let is_confirmation = |(second, details): &&(AuditRow, Value)| {
        let by = second.entry.by.as_deref().unwrap_or_default();
        let is_first = |(first, details): &(AuditRow, Value)| {
            (is_proposal(details) && first.sequence < second.sequence)
                && !decision(first).is_by(&second.entry.who, by)
        };
        !is_proposal(details)
            && published.contains_key(&file_name(second.sequence))
            && rows.iter().any(is_first)
    };
    Ok(rows.iter().any(|row| is_confirmation(&row)))
}

fn file_name(audit_row: u64) -> String {
    format!("{ABANDONED}-{audit_row}.json")
}

/// Closes the places of a run that was not finished, and publishes them with the decision.
async fn publish(
    tables: &Tables,
    scope: &Scope,
    draw: &Draw,
    logged: &Recorded,
    now: Timestamp,
) -> Result<()> {
    let Some(both) = &draw.abandonment else {
        return Ok(());
    };
    let contacts = tables.draws.contacts(scope, &draw.name).await?;
    for contact in contacts.iter().filter(|contact| contact.is_open()) {
        let step = ContactStep {
            at: step_time(&contacts, now),
            by: None,
            event: ContactEvent::Skipped {
                reason: SkipReason::Abandoned,
                inspector: None,
            },
        };
        let is_closed = match contact.after(step) {
            Ok(closed) => tables.draws.change_contact(scope, contact, &closed).await?,
            Err(_) => false,
        };
        if !is_closed {
            return Err(busy(&draw.name));
        }
    }
    let place = |contact: &Contact| json!({ "prize": contact.prize, "place": contact.place, "row": contact.row });
    let text = json!({
        "draw": draw.name,
        "commitment": draw.commitment,
        "abandoned_at": both.at.to_string(),
        "why": both.why,
        "by": both.by,
        "confirmed_by": both.confirmed.as_ref().map(|second| &second.by),
        "confirmed_why": both.confirmed.as_ref().map(|second| &second.why),
        "places": contacts.iter().map(place).collect::<Vec<_>>(),
    });
    let files = DrawFiles::new(tables, scope, draw)?;
    let name = file_name(logged.number());
    files.publish_text(&name, &text.to_string()).await
}

fn has_winners(draw: &Draw) -> Failure {
    failure!(
        "draw_drawn",
        "the draw {} has winners, so it cannot be abandoned; `ops draw run` finishes a run that was interrupted",
        draw.name
    )
}
