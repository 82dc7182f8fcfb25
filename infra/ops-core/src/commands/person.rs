//! `ops person`.

use common::aws::photos::Photos;
use common::config::Env;
use common::domain::draw::contact::{Contact, ContactStep};
use common::domain::phone::Phone;
use common::domain::receipt::Source;
use common::domain::receipt::photo::PhotoType;
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};

use super::submission::show::as_json;
use super::submission::words;
use crate::audit::Action;
use crate::cli::{PersonArgs, PersonCommand};
use crate::confirm::Answer;
use crate::connection;
use crate::failure::Failure;
use crate::format::table;
use crate::people::{self, Held};
use crate::person_file::{self, Photo};
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

pub(crate) async fn run(
    command: PersonCommand,
    env: &Env,
    now: Timestamp,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let (PersonCommand::Find { person }
    | PersonCommand::Export { person, .. }
    | PersonCommand::Erase { person, .. }) = &command;
    let phone = parse(person)?;
    let tables = connection::tables(env).await?;
    let held = people::find(&tables, &phone, now).await?;
    match command {
        PersonCommand::Find { .. } => Ok(found(&phone, &held)),
        PersonCommand::Export { output, .. } => {
            let data = data(&phone, &held, now);
            record("person.export", None, &tables, &held, now).await?;
            let photos = photos(&tables, env, &held).await?;
            person_file::write(&output, &data, &photos)?;
            let text = format!("{}\nEverything is in {}.", summary(&phone, &held), output.display());
            Ok(Report::new(json!({ "file": output, "held": counts(&held) }), text))
        }
        PersonCommand::Erase { why, confirm, .. } => {
            let why = words(&why, "--why")?;
            if held.is_empty() {
                return Ok(found(&phone, &held));
            }
            held.iter().try_for_each(people::check_settled)?;
            let question = format!(
                "{}\nEvery submission above gets a random id in place of the phone; photos, regions and claims are \
                 deleted. References, outcomes, entries, days and prizes stay, and a blocked number stays blocked.",
                summary(&phone, &held)
            );
            terminal.confirm(&question, Answer::Word("erase"), confirm)?;
            record("person.erase", Some(&why), &tables, &held, now).await?;
            erase(&tables, env, &held).await?;
            let scopes: Vec<_> = held.iter().map(|held| held.scope.to_string()).collect();
            let text = format!("{} is erased from {}.", phone.masked(), scopes.join(", "));
            Ok(Report::new(json!({ "phone": phone.masked(), "erased": counts(&held) }), text))
        }
    }
}

fn parse(person: &PersonArgs) -> Result<Phone, Failure> {
    person.phone.parse().map_err(|_| {
        Failure::new("phone_invalid", "--phone is not a Tanzanian mobile number, such as 0712 345 678")
    })
}

/// Writes a row for each campaign and environment. It names submissions and not the phone's id, which would outlive an
/// erasure in the log.
async fn record(
    name: &'static str,
    why: Option<&str>,
    tables: &Tables,
    held: &[Held],
    now: Timestamp,
) -> Result<(), Failure> {
    for held in held {
        let submissions: Vec<_> =
            held.submissions.iter().map(|(submission, _)| submission.submission_id).collect();
        let details = json!({ "submissions": submissions, "photos": held.photos().count() });
        let action = Action::new(name).in_scope(&held.scope).with(details);
        let action = why.into_iter().fold(action, |action, why| action.because(why));
        tables.audit.append(action, now).await?;
    }
    Ok(())
}

async fn erase(tables: &Tables, env: &Env, held: &[Held]) -> Result<(), Failure> {
    let photos = tables.photos(env)?;
    for held in held {
        people::erase(tables, env, &photos, held).await?;
    }
    Ok(())
}

fn found(phone: &Phone, held: &[Held]) -> Report {
    Report::new(json!({ "phone": phone.masked(), "held": counts(held) }), summary(phone, held))
}

/// What is held, in numbers.
fn counts(held: &[Held]) -> Value {
    let count = |held: &Held| {
        json!({
            "campaign": held.scope.campaign,
            "environment": held.scope.environment,
            "submissions": held.submissions.iter().map(|(submission, _)| submission.submission_id).collect::<Vec<_>>(),
            "unsettled": held.unsettled().count(),
            "photos": held.photos().count(),
            "drawn": held.contacts.len(),
            "blocked": held.entrant.blocked,
        })
    };
    held.iter().map(count).collect()
}

fn summary(phone: &Phone, held: &[Held]) -> String {
    if held.is_empty() {
        return format!("Nothing is held on {}.", phone.masked());
    }
    let row = |held: &Held| {
        vec![
            held.scope.campaign.to_string(),
            held.scope.environment.to_string(),
            held.submissions.len().to_string(),
            held.unsettled().count().to_string(),
            held.photos().count().to_string(),
            held.contacts.len().to_string(),
            if held.entrant.blocked { "yes" } else { "no" }.to_owned(),
        ]
    };
    let rows: Vec<_> = held.iter().map(row).collect();
    let header = ["CAMPAIGN", "ENVIRONMENT", "SUBMISSIONS", "UNSETTLED", "PHOTOS", "DRAWN", "BLOCKED"];
    format!("{}:\n{}", phone.masked(), table(&header, &rows))
}

/// Everything that is held.
fn data(phone: &Phone, held: &[Held], now: Timestamp) -> Value {
    let number = phone.expose_e164();
    let campaigns = held.iter().map(|held| {
        let submissions = held.submissions.iter().map(|(submission, receipt)| {
            let mut json = as_json(submission, number);
            if let Some(fields) = json.as_object_mut() {
                let source = receipt.as_ref().map(|receipt| match &receipt.source {
                    Source::Typed { code, time } => {
                        json!({ "type": "typed", "code": code, "time": time.expose() })
                    }
                    Source::Photo { content_type, size_bytes, qr_payload } => json!({
                        "type": "photo",
                        "content_type": content_type.media_type(),
                        "size_bytes": size_bytes,
                        "qr_payload": qr_payload,
                    }),
                });
                fields.insert("receipt_source".to_owned(), json!(source));
                fields.insert("history".to_owned(), json!(submission.history));
            }
            json
        });
        let entrant = &held.entrant;
        json!({
            "campaign": held.scope.campaign,
            "environment": held.scope.environment,
            "limits": {
                "submissions": entrant.total,
                "submissions_today": entrant.today,
                "entries": entrant.entries,
                "wrong_codes_at": entrant.wrong_codes.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "throttled_until": entrant.throttled_until.map(|until| until.to_string()),
                "blocked": entrant.blocked,
            },
            "submissions": submissions.collect::<Vec<_>>(),
            "draws": held.contacts.iter().map(drawn).collect::<Vec<_>>(),
        })
    });
    json!({ "phone": number, "exported_at": now.to_string(), "campaigns": campaigns.collect::<Vec<_>>() })
}

/// A contact without the operators, who are people too.
fn drawn(contact: &Contact) -> Value {
    let step = |step: &ContactStep| json!({ "at": step.at.to_string(), "event": step.event });
    json!({
        "draw": contact.draw,
        "prize": contact.prize,
        "place": contact.place,
        "ref": contact.reference.as_ref().map(ToString::to_string),
        "region": contact.region,
        "masked_phone": contact.masked_phone,
        "steps": contact.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

async fn photos(tables: &Tables, env: &Env, held: &[Held]) -> Result<Vec<Photo>, Failure> {
    let mut found = Vec::new();
    let mut bucket: Option<Photos> = None;
    for (scope, receipt) in held.iter().flat_map(|held| held.photos().map(|receipt| (&held.scope, receipt))) {
        let bucket = match &mut bucket {
            Some(bucket) => bucket,
            none => none.insert(tables.photos(env)?),
        };
        let extension =
            receipt.arrived.and_then(|arrived| arrived.photo_type).map_or("bin", PhotoType::extension);
        if let Some(bytes) = bucket.read(scope, receipt.receipt_id).await? {
            found.push(Photo { name: format!("photos/{}.{extension}", receipt.receipt_id), bytes });
        }
    }
    Ok(found)
}
