//! `ops draw show`.

use crate::contact_log::steps_json;
use crate::draws::call_log::blocked;
use crate::draws::shown::{facts, is_blocked, next_step, state, state_of};
use crate::draws::{chain, find, header};
use crate::prelude::*;

const WINNERS: &Columns = &[
    ("PRIZE", "/prize"),
    ("PLACE", "/place"),
    ("REF", "/ref"),
    ("REGION", "/region"),
    ("PHONE", "/phone"),
    ("STATE", "/state"),
];

pub(super) struct ShownDraw<'a> {
    scope: &'a Scope,
    pub(super) draw: Draw,
    contacts: Vec<Contact>,
    blocked: HashSet<SubmissionId>,
    zone: Tz,
}

pub(super) async fn one(
    scope: &Scope,
    name: &DrawName,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report> {
    let shown = ShownDraw::find(tables, scope, name).await?;
    chain::of_draw(tables, &shown.draw)?;
    let next = next_step(scope, &shown.draw, &shown.contacts, shown.zone, now)?;
    shown.report(next.map(|next| format!("next: {next}")))
}

pub(super) async fn all(scope: &Scope, tables: &Tables) -> Result<Report> {
    let zone = tables.zone(scope).await?;
    let draws = tables.draws.list(scope).await?;
    let views = draws.iter().map(|draw| as_json(scope, draw));
    let views: Vec<_> = views.collect::<Result<_, _>>()?;
    let round = format!("ROUND ({})", zone.name());
    let columns = [
        ("DRAW", "/draw"),
        ("STATE", "/state"),
        ("ENTRANTS", "/header/rows"),
        ("ENTRIES", "/header/total"),
        (&round, "/round_at"),
    ];
    let text = match views.is_empty() {
        true => format!(
            "{} has no draws; `ops draw freeze` begins one.",
            scope_in_words(scope)
        ),
        false => table(&columns, &views, zone),
    };
    Ok(Report::new(json!({ "draws": views }), text))
}

impl<'a> ShownDraw<'a> {
    pub(super) async fn find(tables: &Tables, scope: &'a Scope, name: &DrawName) -> Result<Self> {
        let draw = find(tables, scope, name).await?;
        let contacts = tables.draws.contacts(scope, name).await?;
        Ok(Self {
            scope,
            draw,
            blocked: blocked(tables, scope, &contacts).await?,
            contacts,
            zone: tables.zone(scope).await?,
        })
    }

    pub(super) fn report(&self, note: Option<String>) -> Result<Report> {
        Ok(Report::new(self.json()?, self.text()?).with_note(note))
    }

    pub(super) fn json(&self) -> Result<Value> {
        let winner = |contact| contact_json(contact, &self.blocked);
        let winners = self.contacts.iter().map(winner).collect();
        let json = as_json(self.scope, &self.draw)?;
        Ok(extended(json, [("winners", winners)]))
    }

    pub(super) fn text(&self) -> Result<String> {
        let row = |contact: &Contact| {
            let state = json!(state_of(contact, &self.blocked));
            extended(contact_json(contact, &self.blocked), [("state", state)])
        };
        let rows: Vec<_> = self.contacts.iter().map(row).collect();
        let mut text = lines(&facts(self.scope, &self.draw, self.zone)?);
        if !rows.is_empty() {
            text += &format!("\n{}", table(WINNERS, &rows, self.zone));
        }
        if !self.blocked.is_empty() {
            text += "\nWinners marked BLOCKED were blocked after the freeze: skip them with --reason excluded, or unblock the phone.\n";
        }
        Ok(text)
    }
}

fn as_json(scope: &Scope, draw: &Draw) -> Result<Value> {
    let abandonment = draw.abandonment.as_ref().map(|decision| {
        json!({
            "at": decision.at,
            "why": decision.why,
            "by": decision.by,
            "confirmed_by": decision.confirmed.as_ref().map(|second| &second.by),
        })
    });
    Ok(of_record(&json!({
        "scope": scope,
        "draw": draw.name,
        "state": state(draw),
        "commitment": draw.commitment,
        "root": draw.root,
        "header": header(draw)?,
        "chain": draw.chain,
        "round": draw.round,
        "round_at": draw.round_at,
        "frozen_at": draw.frozen_at,
        "frozen_by": draw.frozen_by,
        "published_at": draw.published_at,
        "unsettled_count": draw.unsettled,
        "largest_rows": draw.largest_rows,
        "given_by_hand": draw.given_by_hand,
        "outcome": draw.outcome,
        "abandonment": abandonment,
        "winners": [],
    })))
}

pub(super) fn contact_json(contact: &Contact, blocked: &HashSet<SubmissionId>) -> Value {
    json!({
        "prize": contact.prize,
        "place": contact.place,
        "row": contact.row,
        "ref": contact.reference.as_ref().map(ToString::to_string),
        "region": contact.region,
        "phone": contact.masked_phone,
        "state": contact.state(),
        "blocked": is_blocked(contact, blocked),
        "steps": steps_json(&contact.log),
    })
}
