use super::super::typed_or;
use super::batches::kind_of;
use crate::codes::find::{CodeOfScope, lookup};
use crate::prelude::*;

const FACTS: &Columns = &[
    ("state", "/state"),
    ("is_void", "/is_void"),
    ("batch", "/batch"),
    ("origin", "/origin"),
    ("batch_status", "/batch_status"),
    ("prize", "/prize"),
    ("submission", "/submission/reference"),
    ("id", "/submission/id"),
    ("phone", "/submission/phone"),
    ("created_at", "/submission/created_at"),
];

const NOT_OF_THIS_CAMPAIGN: &str = "not_of_this_campaign";

pub(super) async fn show(
    tables: &Tables,
    scope: &Scope,
    argument: &str,
    zone: Tz,
    terminal: &mut Terminal<'_>,
) -> Result<Report> {
    let typed = typed_or(argument, "Code: ", terminal)?;
    let code: Code = typed
        .parse()
        .map_err(|why| failure!("code_invalid", "{why}; check what you typed"))?;
    if code.sentinel().is_some() {
        bail!(
            "code_is_sentinel",
            "this is a test code, which test keys accept as it is; it has no batch and no state"
        );
    }
    let found = lookup(tables, scope, CodePolicy::Service, &code).await?;
    let code = match &found {
        Some(code) => {
            let phone = match &code.submission {
                Some(submission) => Some(phones::shown(tables, submission, false).await?),
                None => None,
            };
            as_json(code, phone.as_deref())
        }
        None => json!({ "state": NOT_OF_THIS_CAMPAIGN }),
    };
    let text = match found {
        Some(_) => lines(&facts(FACTS, &code, zone)),
        None => format!("This is not a code of {}.", scope_in_words(scope)),
    };
    let json = json!({ "scope": scope, "code": code });
    Ok(Report::new(json, text))
}

fn as_json(code: &CodeOfScope, phone: Option<&str>) -> Value {
    let (batch, submission) = (code.batch.as_ref(), code.submission.as_ref());
    let submission = code.hold.as_ref().map(|hold| {
        json!({
            "id": hold.submission_id,
            "reference": submission.map(Submission::reference),
            "created_at": submission.map(|submission| submission.created_at),
            "phone": phone,
        })
    });
    json!({
        "state": code.state.as_str(),
        "is_void": code.is_void,
        "batch": batch.map(|batch| &batch.name),
        "origin": batch.map(kind_of),
        "batch_status": batch.map(|batch| batch.status),
        "prize": batch.and_then(|batch| batch.prize.as_ref()),
        "submission": submission,
    })
}
