//! `ops draw show` and `ops draw list`.

use std::collections::HashSet;

use chrono_tz::Tz;
use common::domain::draw::contact::{Contact, ContactStep};
use common::domain::draw::{Draw, DrawName};
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
use crate::view::extended;

pub(super) struct ShownDraw<'a> {
    scope: &'a Scope,
    pub(super) draw: Draw,
    contacts: Vec<Contact>,
    blocked: HashSet<SubmissionId>,
    zone: Tz,
}

pub(super) async fn one(
    args: DrawArgs,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report, Failure> {
    let (scope, name) = args.named();
    let shown = ShownDraw::find(tables, &scope, &name).await?;
    chain::of_draw(tables, &shown.draw)?;
    let next = next_step(&scope, &shown.draw, &shown.contacts, shown.zone, now)?;
    shown.report(next.map(|next| format!("next: {next}")))
}

pub(super) async fn all(args: DrawScopeArgs, tables: &Tables) -> Result<Report, Failure> {
    let scope = Scope::from(args);
    let zone = tables.campaign(&scope.campaign).await?.timezone;
    let draws = tables.draws.list(&scope).await?;
    let json: Vec<_> = draws
        .iter()
        .map(|draw| as_json(&scope, draw))
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

impl<'a> ShownDraw<'a> {
    pub(super) async fn find(
        tables: &Tables,
        scope: &'a Scope,
        name: &DrawName,
    ) -> Result<Self, Failure> {
        let draw = find(tables, scope, name).await?;
        let contacts = tables.draws.contacts(scope, name).await?;
        Ok(Self {
            scope,
            draw,
            blocked: blocked(tables, scope, &contacts).await?,
            contacts,
            zone: tables.campaign(&scope.campaign).await?.timezone,
        })
    }

    pub(super) fn report(&self, note: Option<String>) -> Result<Report, Failure> {
        Ok(Report {
            note,
            ..Report::new(self.json()?, self.text()?)
        })
    }

    pub(super) fn json(&self) -> Result<Value, Failure> {
        let winner = |contact| contact_json(contact, &self.blocked);
        let winners = self.contacts.iter().map(winner).collect();
        let json = as_json(self.scope, &self.draw)?;
        Ok(extended(json, [("winners", winners)]))
    }

    pub(super) fn text(&self) -> Result<String, Failure> {
        let row = |contact: &Contact| {
            vec![
                contact.prize.clone(),
                contact.place.to_string(),
                or_dash(contact.reference.as_ref()),
                or_dash(contact.region.as_ref()),
                or_dash(contact.masked_phone.as_ref()),
                state_of(contact, &self.blocked),
            ]
        };
        let mut text = lines(&facts(self.scope, &self.draw, self.zone)?);
        if !self.contacts.is_empty() {
            let rows: Vec<_> = self.contacts.iter().map(row).collect();
            let titles = ["PRIZE", "PLACE", "REF", "REGION", "PHONE", "STATE"];
            text.push_str(&format!("\n{}", table(&titles, &rows)));
        }
        if !self.blocked.is_empty() {
            text.push_str("\nWho is BLOCKED was blocked after the freeze: skip them with --reason excluded, or unblock the phone.\n");
        }
        Ok(text)
    }
}

fn as_json(scope: &Scope, draw: &Draw) -> Result<Value, Failure> {
    let outcome = draw.outcome.as_ref().map(|outcome| {
        json!({
            "signature": outcome.signature,
            "randomness": outcome.randomness,
            "drawn_at": outcome.drawn_at.to_string(),
            "drawn_by": outcome.drawn_by,
        })
    });
    let abandonment = draw.abandonment.as_ref().map(|decision| {
        json!({
            "at": decision.at.to_string(),
            "why": decision.why,
            "by": decision.by,
            "confirmed_by": decision.confirmed.as_ref().map(|second| &second.by),
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
        "abandonment": abandonment,
        "winners": [],
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
