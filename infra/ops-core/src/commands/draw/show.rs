//! `ops draw show` and `ops draw list`.

use std::collections::HashSet;

use chrono_tz::Tz;
use common::domain::draw::Draw;
use common::domain::draw::contact::{Contact, ContactStep};
use common::domain::ids::SubmissionId;
use common::domain::scope::Scope;
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::cli::{DrawArgs, DrawScopeArgs};
use crate::draws::call_log::blocked;
use crate::draws::shown::{facts, next_step, state, state_of};
use crate::draws::{chain, find, header};
use crate::failure::Failure;
use crate::format::{grouped, lines, or_dash, scope_in_words, table, zoned_time};
use crate::tables::Tables;
use crate::terminal::Report;

pub(super) async fn one(
    args: DrawArgs,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report, Failure> {
    let scope = Scope::from(args.scope);
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let draw = find(tables, &scope, &args.name).await?;
    chain::of_draw(tables, &draw)?;
    let contacts = tables.draws.contacts(&scope, &draw.name).await?;
    let blocked = blocked(tables, &scope, &contacts).await?;
    let note = next_step(&scope, &draw, &contacts, zone, now)?.map(|next| format!("next: {next}"));
    let text = described(&scope, &draw, &contacts, &blocked, zone)?;
    Ok(Report {
        note,
        ..Report::new(as_json(&scope, &draw, &contacts, &blocked)?, text)
    })
}

pub(super) async fn all(args: DrawScopeArgs, tables: &Tables) -> Result<Report, Failure> {
    let scope = Scope::from(args);
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let draws = tables.draws.list(&scope).await?;
    let json: Vec<_> = draws
        .iter()
        .map(|draw| as_json(&scope, draw, &[], &HashSet::new()))
        .collect::<Result<_, _>>()?;
    if draws.is_empty() {
        return Ok(Report::new(
            json!({ "draws": json }),
            format!(
                "{} has no draws; `ops draw freeze` begins one.",
                scope_in_words(&scope)
            ),
        ));
    }
    let row = |draw: &Draw| -> Result<Vec<String>, Failure> {
        let header = header(draw)?;
        Ok(vec![
            draw.name.to_string(),
            state(draw).to_owned(),
            grouped(header.rows.get()),
            grouped(header.total.get()),
            zoned_time(draw.round_at, zone),
        ])
    };
    let rows = draws.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let text = table(&["DRAW", "STATE", "ENTRANTS", "ENTRIES", "ROUND"], &rows);
    Ok(Report::new(json!({ "draws": json }), text))
}

pub(super) fn as_json(
    scope: &Scope,
    draw: &Draw,
    contacts: &[Contact],
    blocked: &HashSet<SubmissionId>,
) -> Result<Value, Failure> {
    let outcome = draw.outcome.as_ref().map(|outcome| {
        json!({
            "signature": outcome.signature,
            "randomness": outcome.randomness,
            "drawn_at": outcome.drawn_at.to_string(),
            "drawn_by": outcome.drawn_by,
        })
    });
    Ok(json!({
        "campaign": scope.campaign,
        "environment": scope.environment,
        "draw": draw.name,
        "state": state(draw),
        "commitment": draw.commitment,
        "root": draw.root,
        "header": header(draw)?,
        "chain": draw.chain,
        "round": draw.round,
        "round_at": draw.round_at.to_string(),
        "frozen_at": draw.frozen_at.to_string(),
        "frozen_by": draw.frozen_by,
        "published_at": draw.published_at.map(|at| at.to_string()),
        "unsettled_count": draw.unsettled,
        "largest_rows": draw.largest_rows,
        "given_by_hand": draw.given_by_hand,
        "outcome": outcome,
        "winners": contacts.iter().map(|contact| contact_json(contact, blocked)).collect::<Vec<_>>(),
    }))
}

pub(super) fn contact_json(contact: &Contact, blocked: &HashSet<SubmissionId>) -> Value {
    let step = |step: &ContactStep| json!({ "at": step.at.to_string(), "by": step.by, "event": step.event });
    json!({
        "prize": contact.prize,
        "place": contact.place,
        "row": contact.row,
        "ref": contact.reference.as_ref().map(ToString::to_string),
        "region": contact.region,
        "phone": contact.masked_phone,
        "state": contact.state(),
        "blocked": contact.submission_id.is_some_and(|id| blocked.contains(&id)),
        "steps": contact.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

pub(super) fn described(
    scope: &Scope,
    draw: &Draw,
    contacts: &[Contact],
    blocked: &HashSet<SubmissionId>,
    zone: Tz,
) -> Result<String, Failure> {
    let row = |contact: &Contact| {
        vec![
            contact.prize.clone(),
            contact.place.to_string(),
            or_dash(contact.reference.as_ref()),
            or_dash(contact.region.as_ref()),
            or_dash(contact.masked_phone.as_ref()),
            state_of(contact, blocked),
        ]
    };
    let mut text = lines(&facts(scope, draw, zone)?);
    if !contacts.is_empty() {
        let rows: Vec<_> = contacts.iter().map(row).collect();
        text.push_str(&format!(
            "\n{}",
            table(
                &["PRIZE", "PLACE", "REF", "REGION", "PHONE", "STATE"],
                &rows
            )
        ));
    }
    if !blocked.is_empty() {
        text.push_str("\nWho is BLOCKED was blocked after the freeze: skip them with --reason excluded, or unblock the phone.\n");
    }
    Ok(text)
}
