use chrono_tz::Tz;
use common::domain::code::Code;
use common::domain::code_record::CodeHold;
use common::domain::codebook::Batch;
use common::domain::scope::Scope;
use common::domain::submission::Submission;
use serde_json::{Value, json};

use super::super::typed_or;
use super::batches::{kind_of, status_of};
use crate::codes::find::{CodeOfScope, State, lookup};
use crate::failure::Failure;
use crate::format::{lines, or_dash, zoned_time};
use crate::phones;
use crate::tables::Tables;
use crate::terminal::{Report, Terminal};

const NOT_OF_THIS_CAMPAIGN: &str = "not_of_this_campaign";

pub(super) async fn show(
    tables: &Tables,
    scope: &Scope,
    argument: &str,
    zone: Tz,
    terminal: &mut Terminal<'_>,
) -> Result<Report, Failure> {
    let typed = typed_or(argument, "Code: ", terminal)?;
    let code: Code = typed
        .parse()
        .map_err(|why| Failure::new("code_invalid", format!("{why}; check what you typed")))?;
    if code.sentinel().is_some() {
        let message =
            "this is a test code, which test keys accept as it is; it has no batch and no state";
        return Err(Failure::new("code_is_sentinel", message));
    }
    let found = lookup(tables, scope, &code.normal()).await?;
    let (code, text) = match &found {
        Some(code) => {
            let phone = match &code.submission {
                Some(submission) => Some(phones::shown(tables, submission, false).await?),
                None => None,
            };
            (
                as_json(code, phone.as_deref()),
                as_text(code, phone.as_deref(), scope, zone),
            )
        }
        None => {
            let text = format!(
                "This is not a code of {}, {}.",
                scope.campaign, scope.environment
            );
            (json!({ "state": NOT_OF_THIS_CAMPAIGN }), text)
        }
    };
    let json =
        json!({ "campaign": scope.campaign, "environment": scope.environment, "code": code });
    Ok(Report::new(json, text))
}

fn as_json(code: &CodeOfScope, phone: Option<&str>) -> Value {
    let CodeOfScope {
        batch,
        state,
        is_void,
        hold,
        submission,
    } = code;
    let submission = hold.as_ref().map(|hold| {
        json!({
            "id": hold.submission_id,
            "reference": submission.as_ref().map(Submission::reference),
            "created_at": submission.as_ref().map(|submission| submission.created_at.to_string()),
            "phone": phone,
        })
    });
    json!({
        "state": state.as_str(),
        "is_void": is_void,
        "batch": batch.as_ref().map(|batch| &batch.name),
        "origin": batch.as_ref().map(kind_of),
        "batch_status": batch.as_ref().map(|batch| batch.status),
        "prize": batch.as_ref().and_then(|batch| batch.prize.as_ref()),
        "submission": submission,
    })
}

fn as_text(code: &CodeOfScope, phone: Option<&str>, scope: &Scope, zone: Tz) -> String {
    let CodeOfScope {
        batch,
        state,
        is_void,
        hold,
        submission,
    } = code;
    let batch_words =
        |batch: &Batch| format!("{} ({}, {})", batch.name, kind_of(batch), status_of(batch));
    let mut pairs = vec![
        (
            "campaign",
            format!("{}, {}", scope.campaign, scope.environment),
        ),
        ("batch", or_dash(batch.as_ref().map(batch_words))),
        (
            "prize",
            or_dash(batch.as_ref().and_then(|batch| batch.prize.as_ref())),
        ),
        ("state", state_words(*state, *is_void).to_owned()),
    ];
    if let Some(hold) = hold {
        pairs.push((
            "submission",
            submission_words(hold, submission.as_ref(), phone, zone),
        ));
    }
    lines(&pairs)
}

fn state_words(state: State, is_void: bool) -> &'static str {
    match (state, is_void) {
        (State::Unused, _) => "unused",
        (State::Held, false) => "held by a submission that is not settled",
        (State::Held, true) => "held by a submission that is not settled, and voided since",
        (State::Redeemed, false) => "redeemed",
        (State::Redeemed, true) => "redeemed, and voided since",
        (State::Void, _) => "void",
        (State::Reserved, _) => {
            "not active: its batch is being minted, or its minting was cut short"
        }
    }
}

fn submission_words(
    hold: &CodeHold,
    submission: Option<&Submission>,
    phone: Option<&str>,
    zone: Tz,
) -> String {
    let Some(submission) = submission else {
        return hold.submission_id.to_string();
    };
    let phone = or_dash(phone);
    let created_at = zoned_time(submission.created_at, zone);
    format!(
        "{} ({}) of {phone}, {created_at}",
        submission.reference(),
        hold.submission_id
    )
}
