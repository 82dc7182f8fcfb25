//! `ops submission revoke` and `reopen`.

use common::domain::code_record::CodeKey;
use common::domain::submission::Submission;
use common::domain::submission::correction::Correction;
use serde_json::json;

use crate::corrections::{Corrected, correct};
use crate::failure::Failure;
use crate::format::entries_in_words;
use crate::phones;
use crate::submissions::view::as_json;
use crate::tables::Tables;
use crate::terminal::Report;
use crate::view::extended;
use common::domain::submission::OperatorDecision;

pub(super) async fn run(
    tables: &Tables,
    name: &str,
    correction: Correction,
    decision: OperatorDecision,
) -> Result<Report, Failure> {
    let by = decision.by.clone();
    let mut replaced_proposal = None;
    let (submission, text) = match correct(tables, name, correction, decision).await? {
        Corrected::Done(after) => {
            let text = done(&after, correction);
            (after, text)
        }
        Corrected::Proposed { after, replaced } => {
            let instead = replaced.as_ref().map(|(correction, first)| {
                format!(
                    ". This replaces what {} asked for at {}: to {}",
                    first.by,
                    first.at,
                    in_words(*correction)
                )
            });
            let text = format!(
                "{by} asks to {} {}; that can decide who gets a prize, so nothing has changed yet. A second operator has to run the same command, \
                 with their own AWS identity and name{}",
                in_words(correction),
                after.reference(),
                instead.unwrap_or_default()
            );
            replaced_proposal = replaced;
            (after, text)
        }
        Corrected::Nothing(before) => {
            let decision = before.decision.as_ref();
            let when = decision.map(|decision| format!(" by {} at {}", decision.by, decision.at));
            let text = format!(
                "{} was revoked already{}; nothing was changed",
                before.reference(),
                when.unwrap_or_default()
            );
            (before, text)
        }
    };
    let phone = phones::shown(tables, &submission, false).await?;
    let mut json = as_json(&submission, &phone);
    if let Some((correction, decision)) = replaced_proposal {
        let replaced = json!({ "correction": correction, "decision": decision });
        json = extended(json, [("replaced_proposal", replaced)]);
    }
    Ok(Report::new(json, text))
}

fn in_words(correction: Correction) -> &'static str {
    match correction {
        Correction::Revoke { free_code: false } => "revoke",
        Correction::Revoke { free_code: true } => "free the code of, and revoke,",
        Correction::Reopen => "reopen",
    }
}

fn done(after: &Submission, correction: Correction) -> String {
    let reference = &after.reference();
    let has_code = after
        .code_key
        .as_ref()
        .is_some_and(|key| CodeKey::parse(&after.scope, key).is_some());
    match correction {
        Correction::Reopen => {
            format!("{reference} waits for an operator; settle it with `ops submission settle`")
        }
        Correction::Revoke { free_code } => {
            let lost = after
                .history
                .last()
                .map_or(0, |before| before.status.entries());
            let entries = entries_in_words(lost);
            let code = match (has_code, free_code) {
                (false, _) => "",
                (true, true) => "; its code can be entered again",
                (true, false) => "; its code stays used",
            };
            format!("{reference} revoked: {entries} taken back{code}")
        }
    }
}
