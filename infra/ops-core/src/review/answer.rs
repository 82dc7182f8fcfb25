use crate::approvals::{action, moved};
use crate::prelude::*;
use crate::review::lookup::can_look_up;
use crate::settle::{Proof, Verdict, settle_seen};

/// The screen has keys for decisions, and no text.
const WHY: &str = "reviewed in the console";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDecision {
    pub submission_id: SubmissionId,
    /// Seen by the reviewer; an answer to another one is not written.
    pub revision: u32,
    /// True if the answer is only compared with a decision.
    pub is_spot_check: bool,
    pub verdict: Verdict,
    /// The tax authority's answer about the typed code; `None` if it was not asked.
    pub looked_up: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub enum ReviewResult {
    Decided(Decided),
    SpotCheck(Submission),
    /// Nothing written: this other submission has the receipt.
    ReceiptTaken(Submission),
}

/// Fails if the reviewer saw another revision.
pub async fn write(
    tables: &Tables,
    scope: &Scope,
    answer: &ReviewDecision,
    now: Timestamp,
) -> Result<ReviewResult> {
    let ReviewDecision {
        submission_id,
        revision,
        is_spot_check,
        verdict,
        looked_up,
    } = answer;
    let before = tables.submissions().get(scope, *submission_id).await?;
    let before = before
        .filter(|before| before.revision == *revision)
        .ok_or_else(moved)?;
    if !is_spot_check {
        let why = format!("{WHY}{}", look_up_in_words(&before, verdict, *looked_up));
        let decision = tables.audit.decision(why, now).await?;
        let code = purchase(&before, verdict);
        return match settle_seen(tables, before, verdict.clone(), decision).await {
            Ok(decided) => Ok(ReviewResult::Decided(decided)),
            Err(failure) if failure.code == "purchase_taken" => {
                let other = accepted_with(tables, scope, code).await?;
                other.map(ReviewResult::ReceiptTaken).ok_or(failure)
            }
            Err(failure) => Err(failure),
        };
    }
    let rejects = match verdict {
        Verdict::Reject(key) => Some(*key),
        Verdict::Accept { .. } => None,
    };
    let by = tables.audit.operator_name().await?;
    let after = before.with_spot_check(by, rejects, now);
    let agrees = after.spot_check.as_ref().is_some_and(|look| look.agrees);
    let details = json!({ "rejects": rejects, "agrees": agrees });
    tables
        .audit
        .append(action("submission.second_look", &before).with(details), now)
        .await?;
    if tables.store.annotate(&before, &after).await? {
        Ok(ReviewResult::SpotCheck(after))
    } else {
        Err(moved())
    }
}

/// What an accepted receipt without a tax record rests on.
fn look_up_in_words(before: &Submission, verdict: &Verdict, looked_up: Option<&str>) -> String {
    let is_known = before.purchase.is_some() || before.receipt_id.is_none();
    match (verdict, looked_up) {
        (Verdict::Accept { .. }, _) if is_known => String::new(),
        (Verdict::Accept { .. }, Some(answer)) => {
            format!("; looked up: {}", answer.replace('_', " "))
        }
        (Verdict::Accept { proof, .. }, None) => match proof {
            Proof::Read(_) if !can_look_up(before) => "; not looked up: a test receipt".to_owned(),
            Proof::Read(_) => "; not looked up: no time typed".to_owned(),
            Proof::Record | Proof::Waived => "; not looked up: no code typed".to_owned(),
        },
        (Verdict::Reject(_), _) => String::new(),
    }
}

fn purchase(before: &Submission, verdict: &Verdict) -> Option<VerificationCode> {
    match verdict {
        Verdict::Accept {
            proof: Proof::Read(code),
            ..
        } => Some(code.clone()),
        Verdict::Accept {
            proof: Proof::Record | Proof::Waived,
            ..
        }
        | Verdict::Reject(_) => before.purchase.clone(),
    }
}

async fn accepted_with(
    tables: &Tables,
    scope: &Scope,
    code: Option<VerificationCode>,
) -> Result<Option<Submission>> {
    let Some(code) = code else { return Ok(None) };
    match tables.store.receipts().purchase(scope, &code).await? {
        Some(id) => Ok(tables.submissions().get(scope, id).await?),
        None => Ok(None),
    }
}
