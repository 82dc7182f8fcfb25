//! `ops draw call`, `confirm`, `hand-over` and `skip`: the contact log.

use super::show::contact_json;
use crate::cli::{CallArgs, CallOutcome, SkipArgs, WinnerArgs};
use crate::contact_log::WinnersOf;
use crate::draws::call_log::{self, Logged, Winner};
use crate::draws::shown::{is_blocked, options, prize_option, state_of};
use crate::prelude::*;

pub(super) async fn call(
    args: CallArgs<WinnerArgs>,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report> {
    let CallArgs {
        winner,
        outcome,
        show_phone: _,
    } = args;
    let winner = find(winner, tables).await?;
    let event = match outcome {
        None => return phone(&winner, tables, now).await,
        Some(CallOutcome::Reached) => ContactEvent::Reached,
        Some(CallOutcome::NoAnswer) => ContactEvent::NoAnswer,
    };
    step(&winner, event, tables, now).await
}

pub(super) async fn log_step(
    args: WinnerArgs,
    event: ContactEvent,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report> {
    step(&find(args, tables).await?, event, tables, now).await
}

pub(super) async fn skip(
    args: SkipArgs<WinnerArgs>,
    tables: &Tables,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let SkipArgs {
        winner,
        reason,
        inspector,
    } = args;
    let inspector = Some(validate_reason(&inspector, "--inspector")?);
    let winner = find(winner, tables).await?;
    let Contact {
        prize,
        place,
        reference,
        ..
    } = &winner.contact;
    let reference = reference
        .as_ref()
        .map(|reference| format!(" ({reference})"))
        .unwrap_or_default();
    let question = format!(
        "Skip place {place} of {prize}{reference}, because: {}? The next in the order is drawn.",
        reason.in_words()
    );
    terminal.confirm_typed(&question, winner.draw.name.as_str())?;
    step(
        &winner,
        ContactEvent::Skipped { reason, inspector },
        tables,
        now,
    )
    .await
}

async fn find(args: WinnerArgs, tables: &Tables) -> Result<Winner> {
    let WinnerArgs { draw, winner, tier } = args;
    let (scope, name) = draw.named();
    call_log::find(tables, scope, &name, tier.as_deref(), winner).await
}

async fn phone(winner: &Winner, tables: &Tables, now: Timestamp) -> Result<Report> {
    let (contact, phone) = (
        &winner.contact,
        call_log::show_phone(tables, winner, now).await?,
    );
    let blocked = call_log::blocked(tables, &winner.scope, std::slice::from_ref(contact)).await?;
    let text = format!(
        "place {} of {}: {phone}, {}",
        contact.place,
        contact.prize,
        state_of(contact, &blocked)
    );
    let note = next_step(winner, contact, !blocked.is_empty());
    Ok(Report::new(
        json!({ "winner": contact_json(contact, &blocked), "phone": phone }),
        text,
    )
    .with_note(note))
}

async fn step(
    winner: &Winner,
    event: ContactEvent,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report> {
    let Logged { contact, next } = call_log::log(tables, winner, event, now).await?;
    let all: Vec<_> = next.iter().chain([&contact]).cloned().collect();
    let blocked = call_log::blocked(tables, &winner.scope, &all).await?;
    let line = |contact: &Contact| {
        let reference = contact
            .reference
            .as_ref()
            .map_or_else(|| "-".to_owned(), ToString::to_string);
        let phone = contact.masked_phone.as_deref().unwrap_or("-");
        format!(
            "place {} of {}: {reference}, {phone}, {}",
            contact.place,
            contact.prize,
            state_of(contact, &blocked)
        )
    };
    let mut text = line(&contact);
    for contact in &next {
        text += &format!("\nnext: {}", line(contact));
    }
    let json = json!({
        "winner": contact_json(&contact, &blocked),
        "next": next.iter().map(|contact| contact_json(contact, &blocked)).collect::<Vec<_>>(),
    });
    let note = next_step(winner, &contact, is_blocked(&contact, &blocked));
    Ok(Report::new(json, text).with_note(note))
}

fn next_step(winner: &Winner, contact: &Contact, is_blocked: bool) -> Option<String> {
    let step = WinnersOf::Draw.next_command(&contact.log, is_blocked)?;
    let options = options(&winner.scope, &winner.draw.name);
    let tier = prize_option(&winner.header, &contact.prize);
    Some(format!(
        "next: `ops draw {step} {options}{tier} --winner {}`",
        contact.place
    ))
}
