//! The log of calls to winners: the steps that operators log, and the next winner after a skip.

use common::domain::contact_log::RowStatus;

use super::assign_winners::Drawing;
use super::certificate::log_differs;
use super::openings::openings_changed;
use super::prelude::*;
use crate::contact_log::WinnersOf;

pub struct Winner {
    pub scope: Scope,
    pub draw: Draw,
    pub header: Header,
    pub contact: Contact,
}

pub struct Logged {
    pub contact: Contact,
    pub next: Vec<Contact>,
}

pub async fn find(
    tables: &Tables,
    scope: Scope,
    name: &DrawName,
    prize: Option<&str>,
    place: NonZeroU64,
) -> Result<Winner> {
    let draw = super::find(tables, &scope, name).await?;
    let header = super::header(&draw)?;
    let names = || joined(header.prizes.iter().map(|prize| &prize.name));
    let prize = match (prize, header.prizes.as_slice()) {
        (None, [only]) => only.name.clone(),
        (None, _) => {
            bail!(
                "tier_missing",
                "the draw {name} has several prizes; name one of them with --tier: {}",
                names()
            );
        }
        (Some(named), prizes) if prizes.iter().any(|prize| prize.name == named) => named.to_owned(),
        (Some(_), _) => {
            bail!(
                "tier_unknown",
                "the draw {name} has no such prize; name one of them with --tier: {}",
                names()
            );
        }
    };
    let contacts = match &draw.outcome {
        Some(_) => tables.draws.contacts(&scope, name).await?,
        // An interrupted run may draw more.
        None => Vec::new(),
    };
    let of_prize = |contact: &&Contact| contact.prize == prize;
    let found = contacts
        .iter()
        .find(|contact| of_prize(contact) && contact.place == place.get())
        .cloned();
    let contact = found.ok_or_else(|| {
        let message = match contacts.iter().filter(of_prize).map(|contact| contact.place).max() {
            None => format!("the draw {name} has no winners yet; draw them with `ops draw run`"),
            Some(last) => format!(
                "of {prize}, places 1 to {last} are drawn; place {place} is drawn once a winner before it is skipped"
            ),
        };
        Failure::new("winner_unknown", message)
    })?;
    Ok(Winner {
        scope,
        draw,
        header,
        contact,
    })
}

/// The submission of the contact's reference; `None` once the person was erased.
async fn submission(tables: &Tables, winner: &Winner) -> Result<Option<Submission>> {
    let Contact {
        submission_id,
        reference,
        ..
    } = &winner.contact;
    let Some(id) = *submission_id else {
        return Ok(None);
    };
    let found = tables.submissions().get(&winner.scope, id).await?;
    let is_other = |one: &Submission| Some(one.reference()) != *reference;
    if found.as_ref().is_some_and(is_other) {
        let difference = "a winner's submission is not the one of the reference";
        return Err(log_differs(&winner.draw, &difference));
    }
    Ok(found)
}

/// Submissions of open winners whose phones were blocked since the freeze.
pub async fn blocked(
    tables: &Tables,
    scope: &Scope,
    contacts: &[Contact],
) -> Result<HashSet<SubmissionId>> {
    let open = contacts.iter().filter(|contact| contact.is_open());
    let is_blocked = |id| async move {
        let Some(drawn) = tables.submissions().get(scope, id).await? else {
            return Ok(None);
        };
        let entrant = tables
            .entrants
            .get(scope, &drawn.entrant_id, &drawn.day)
            .await?;
        Ok::<_, Failure>(entrant.blocked.then_some(id))
    };
    let open: Vec<_> = open.filter_map(|contact| contact.submission_id).collect();
    let found = concurrently(open.into_iter().map(is_blocked)).await?;
    Ok(found.into_iter().flatten().collect())
}

/// The number to call, after a row of the audit log.
pub async fn show_phone(tables: &Tables, winner: &Winner, now: Timestamp) -> Result<String> {
    let Winner {
        scope,
        draw,
        contact,
        ..
    } = winner;
    let details = json!({ "prize": contact.prize, "place": contact.place, "row": contact.row });
    let action = Action::new("draw.show_phone")
        .in_scope(scope)
        .on(&draw.name)
        .with(details);
    tables.audit.append(action, now).await?;
    match submission(tables, winner).await? {
        Some(submission) => phones::shown(tables, &submission, true).await,
        None => Ok(phones::ERASED.to_owned()),
    }
}

/// Logs a step. After a skip, draws the next winner; finishes an interrupted skip.
pub async fn log(
    tables: &Tables,
    winner: &Winner,
    event: ContactEvent,
    now: Timestamp,
) -> Result<Logged> {
    let Winner {
        scope,
        draw,
        contact,
        ..
    } = winner;
    let is_skip = matches!(event, ContactEvent::Skipped { .. });
    let is_skipped = is_skip && matches!(contact.state(), ContactState::Skipped { .. });
    // The log keeps the first reason.
    let recorded = contact.steps.last().filter(|_| is_skipped);
    let recorded = recorded.map_or(&event, |step| &step.event);
    let details = json!({ "prize": contact.prize, "place": contact.place, "row": contact.row, "event": recorded });
    let action = Action::new(WinnersOf::Draw.action(&event))
        .in_scope(scope)
        .on(&draw.name)
        .with(details);
    let mut after = contact.clone();
    if !is_skipped {
        let row_status = row_status(tables, winner).await?;
        let contacts = tables.draws.contacts(scope, &draw.name).await?;
        let step = ContactStep {
            at: super::step_time(&contacts, now),
            by: Some(tables.audit.operator().await?),
            event,
        };
        after = contact
            .after_operator(step, row_status)
            .map_err(|refused| {
                failure!(
                    "step_refused",
                    "nothing was logged for place {} of {}: {refused}",
                    contact.place,
                    contact.prize
                )
            })?;
    }
    tables.audit.append(action, now).await?;
    if !is_skipped && !tables.draws.change_contact(scope, contact, &after).await? {
        bail!(
            "changed_meanwhile",
            "another operator logged a step for this winner at the same time; nothing was logged. Look with \
                       `ops draw show`, then run this again if it still applies"
        );
    }
    let next = if is_skip {
        draw_next(tables, winner, now).await?
    } else {
        Vec::new()
    };
    Ok(Logged {
        contact: after,
        next,
    })
}

/// The status of the winner's row; the entrant's other entries do not count.
async fn row_status(tables: &Tables, winner: &Winner) -> Result<RowStatus> {
    let Winner {
        scope,
        draw,
        contact,
        ..
    } = winner;
    let Some(drawn) = submission(tables, winner).await? else {
        return Ok(RowStatus::Counts);
    };
    let counts = |one: &Submission| one.status.state() == State::Accepted;
    if counts(&drawn) {
        return Ok(RowStatus::Counts);
    }
    let files = DrawFiles::new(tables, scope, draw)?;
    let committed = files.committed(draw).await?;
    let openings = files.openings(draw, &committed, |row, _| row == contact.row);
    let openings = openings.await?;
    // Without its opening, entries of the row that count could not be told from none.
    let opening = openings
        .get(&contact.row)
        .ok_or_else(|| openings_changed(draw, contact.row, "no opening"))?;
    let of_row = opening.references();
    let (all, unreadable) = tables
        .submissions()
        .of_entrant(scope, &drawn.entrant_id)
        .await?;
    Failure::check_readable("nothing was done", &unreadable)?;
    let is_in_row = |one: &Submission| of_row.contains(&one.reference().to_string());
    Ok(if all.iter().any(|one| is_in_row(one) && counts(one)) {
        RowStatus::Counts
    } else {
        RowStatus::Revoked
    })
}

async fn draw_next(
    tables: &Tables,
    Winner { scope, draw, .. }: &Winner,
    now: Timestamp,
) -> Result<Vec<Contact>> {
    let files = DrawFiles::new(tables, scope, draw)?;
    let committed = files.committed(draw).await?;
    let (drawing, _) = Drawing::recorded(tables, scope, draw, committed)?;
    drawing.assign_winners(now).await
}
