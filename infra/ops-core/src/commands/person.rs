use super::phone_or_typed;
use crate::atomic_file::AtomicFile;
use crate::cli::PersonCommand;
use crate::people::{self, MAX_SUBMISSIONS};
use crate::prelude::*;

pub(crate) async fn run(
    command: PersonCommand,
    env: &Env,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let (PersonCommand::Find { person }
    | PersonCommand::Export { person, .. }
    | PersonCommand::Erase { person, .. }) = &command;
    let phone = phone_or_typed(&person.phone, terminal)?;
    let tables = connection::tables(env).await?;
    let held = people::find(&tables, &phone, clock.now()).await?;
    match command {
        PersonCommand::Find { .. } => {
            let (scopes, texts) = described(&held, clock.now());
            let Report { json, text, .. } = found(&phone, &held);
            Ok(Report::new(
                extended(json, [("scopes", scopes)]),
                format!("{text}{texts}"),
            ))
        }
        PersonCommand::Export { output, .. } => {
            let file = AtomicFile::begin(&output)?;
            let exporting = people::export(&tables, &phone, &held, clock.now(), file);
            let stopped =
                "the export was stopped, and its file is removed; run this again for all of it";
            let file = unless_interrupted(exporting, stopped).await?;
            let failed = Failure::from_io(&output, "writing");
            file.sync().map_err(&failed)?;
            file.finish().map_err(|kept| failed(kept.error))?;
            let text = format!(
                "{}\nEverything is in {}.",
                summary(&phone, &held),
                output.display()
            );
            Ok(Report::new(
                json!({ "file": output, "held": counts(&held) }),
                text,
            ))
        }
        PersonCommand::Erase { why, .. } => {
            let why = validate_reason(&why, "--why")?;
            let (kept, held): (Vec<_>, Vec<_>) =
                held.into_iter().partition(PersonRecords::is_erased);
            if held.is_empty() {
                return Ok(found(&phone, &kept));
            }
            held.iter().try_for_each(people::check_settled)?;
            let question = format!(
                "{}\n{}",
                summary(&phone, &held),
                people::erasure_in_words(&held)
            );
            terminal.confirm_typed(&question, "erase")?;
            // A draw's round may have come while the question waited.
            people::erase_all(&tables, &held, &why, clock.now()).await?;
            let scopes = joined(held.iter().map(|held| &held.scope));
            let text = format!("{} is erased from {scopes}.", phone.masked());
            Ok(Report::new(
                json!({ "phone": phone.masked(), "erased": counts(&held) }),
                text,
            ))
        }
    }
}

fn found(phone: &Phone, held: &[PersonRecords]) -> Report {
    Report::new(
        json!({ "phone": phone.masked(), "held": counts(held) }),
        summary(phone, held),
    )
}

fn counts(held: &[PersonRecords]) -> Value {
    held.iter().map(count).collect()
}

fn count(held: &PersonRecords) -> Value {
    json!({
        "campaign": held.scope.campaign,
        "environment": held.scope.environment,
        "submissions": held.submissions_alone().map(|one| one.submission_id).collect::<Vec<_>>(),
        "unsettled": held.unsettled().count(),
        "photos": held.photos().count(),
        "instant_prizes": held.instant_prizes().count(),
        "drawn": held.contacts.len(),
        "blocked": held.entrant.blocked,
        "counted": held.entrant.total,
        "erased_at": held.entrant.erased_at,
    })
}

const HELD: &Columns = &[
    ("CAMPAIGN", "/campaign"),
    ("ENVIRONMENT", "/environment"),
    ("SUBMISSIONS", "/submissions"),
    ("UNSETTLED", "/unsettled"),
    ("PHOTOS", "/photos"),
    ("INSTANT PRIZES", "/instant_prizes"),
    ("DRAWN", "/drawn"),
    ("BLOCKED", "/blocked"),
    ("COUNTED", "/counted"),
];

fn summary(phone: &Phone, held: &[PersonRecords]) -> String {
    if held.is_empty() {
        return format!("Nothing is held on {}.", phone.masked());
    }
    let row = |held: &PersonRecords| {
        let blocked = if held.entrant.blocked { "yes" } else { "no" };
        let submissions = ("submissions", json!(held.submissions.len()));
        extended(count(held), [submissions, ("blocked", json!(blocked))])
    };
    let rows: Vec<_> = held.iter().map(row).collect();
    let text = format!("{}:\n{}", phone.masked(), table(HELD, &rows, Tz::UTC));
    let erased: Vec<_> = held.iter().filter(|held| held.is_erased()).collect();
    if erased.is_empty() {
        return text;
    }
    let scopes = joined(erased.iter().map(|held| &held.scope));
    let kept = people::limits_in_words(erased);
    format!("{text}The person is erased from {scopes}. {kept}")
}

const SUBMISSIONS: [(&str, &str); 4] = [
    ("REF", "/reference"),
    ("ID", "/id"),
    ("MESSAGE", "/message_key"),
    ("DAY", "/day"),
];

fn described(found: &[PersonRecords], now: Timestamp) -> (Value, String) {
    let views: Vec<_> = found.iter().map(|found| found.as_json(now)).collect();
    let text = found.iter().zip(&views);
    let text = text
        .map(|(found, view)| as_text(found, view, now))
        .collect();
    (views.into(), text)
}

fn as_text(found: &PersonRecords, view: &Value, now: Timestamp) -> String {
    let mut facts = vec![("campaign", scope_in_words(&found.scope))];
    facts.extend(found.facts(now));
    let mut text = format!("\n{}", lines(&facts));
    if let Some(submissions) = view.get("submissions").and_then(Value::as_array)
        && !submissions.is_empty()
    {
        text += &table(&SUBMISSIONS, submissions, found.campaign.timezone);
    }
    if found.submissions.len() >= MAX_SUBMISSIONS {
        text += &format!("These are the newest {MAX_SUBMISSIONS} submissions.\n");
    }
    text
}
