//! `ops prize`: the prize log.

use crate::cli::{CallArgs, CallOutcome, PrizeArgs, PrizeCommand, SkipArgs};
use crate::prelude::*;
use crate::prizes::{self, Winner};

const WINNERS: &Columns = &[
    ("PRIZE", "/prize"),
    ("REF", "/ref"),
    ("PHONE", "/phone"),
    ("REGION", "/region"),
    ("SOURCE", "/source"),
    ("STATE", "/state"),
];

pub(crate) async fn run(
    command: PrizeCommand,
    tables: &Tables,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    match command {
        PrizeCommand::List { scope, status } => list(&scope.into(), status, tables).await,
        PrizeCommand::Call(CallArgs {
            winner, outcome, ..
        }) => {
            let winner = find(&winner, tables).await?;
            let event = match outcome {
                None => return phone(&winner, tables, now).await,
                Some(CallOutcome::Reached) => ContactEvent::Reached,
                Some(CallOutcome::NoAnswer) => ContactEvent::NoAnswer,
            };
            step(winner, event, tables, now).await
        }
        PrizeCommand::Confirm(args) => {
            let winner = find(&args, tables).await?;
            step(winner, ContactEvent::Identified, tables, now).await
        }
        PrizeCommand::HandOver(args) => {
            let winner = find(&args, tables).await?;
            step(winner, ContactEvent::HandedOver, tables, now).await
        }
        PrizeCommand::Forfeit(SkipArgs {
            winner,
            reason,
            inspector,
        }) => {
            let inspector = Some(validate_reason(&inspector, "--inspector")?);
            let winner = find(&winner, tables).await?;
            let reference = winner.win.reference;
            let question = format!(
                "Take the prize {} from {reference}, because: {}? This cannot be undone.",
                visible(&winner.win.prize),
                reason.in_words()
            );
            terminal.confirm_typed(&question, &reference.to_string())?;
            let event = ContactEvent::Skipped { reason, inspector };
            step(winner, event, tables, now).await
        }
    }
}

async fn find(args: &PrizeArgs, tables: &Tables) -> Result<Winner> {
    prizes::find(tables, &args.name).await
}

async fn list(scope: &Scope, status: Option<WinStatus>, tables: &Tables) -> Result<Report> {
    let zone = tables.zone(scope).await?;
    let winners = prizes::list(tables, scope, status).await?;
    let row = |winner: &Winner| {
        let state = json!(winner.state_in_words());
        extended(winner.as_json(), [("state", state)])
    };
    let rows: Vec<_> = winners.iter().map(row).collect();
    let accepted = format!("ACCEPTED ({})", zone.name());
    let columns: Vec<_> = [(accepted.as_str(), "/accepted_at")]
        .into_iter()
        .chain(WINNERS.iter().copied())
        .collect();
    let text = match (rows.is_empty(), status) {
        (false, _) => table(&columns, &rows, zone),
        (true, None) => format!("{} has no instant prizes yet.", scope_in_words(scope)),
        (true, Some(status)) => {
            format!(
                "{} has no instant prizes that are {status}.",
                scope_in_words(scope)
            )
        }
    };
    let json: Vec<_> = winners.iter().map(Winner::as_json).collect();
    let next = winners.iter().find_map(Winner::next_step);
    Ok(Report::new(of_record(&json!({ "prizes": json })), text).with_note(next))
}

async fn phone(winner: &Winner, tables: &Tables, now: Timestamp) -> Result<Report> {
    let phone = prizes::show_phone(tables, &winner.win, now).await?;
    let json = of_record(&json!({ "winner": winner.as_json(), "phone": phone }));
    Ok(Report::new(json, line(winner, &phone)).with_note(winner.next_step()))
}

async fn step(
    winner: Winner,
    event: ContactEvent,
    tables: &Tables,
    now: Timestamp,
) -> Result<Report> {
    let win = prizes::log(tables, &winner.win, event, now).await?;
    let winner = prizes::with_submission(tables, win).await?;
    let json = of_record(&json!({ "winner": winner.as_json() }));
    Ok(Report::new(json, line(&winner, &winner.phone)).with_note(winner.next_step()))
}

fn line(winner: &Winner, phone: &str) -> String {
    format!(
        "{} of {}: {phone}, {}",
        visible(&winner.win.prize),
        winner.win.reference,
        winner.state_in_words()
    )
}
