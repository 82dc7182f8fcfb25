//! Settles submissions by hand, and hands them back to the service.

use common::domain::campaign::Campaign;
use common::domain::code_record::CodeKey;
use common::domain::codebook::Batch;
use common::domain::message::MessageKey;
use common::domain::receipt::payload::VerificationCode;
use common::domain::receipt::rules::ReceiptRules;
use common::domain::settling::Assignee;
use common::domain::submission::approval::{Acceptance, Agreement, Approval, ProposedChange};
use common::domain::submission::transition::{Findings, Transition};
use common::domain::submission::{OperatorDecision, Submission};
use common::domain::timestamp::Timestamp;
use common::store::submission_writes::SettleResult;
use serde_json::json;

use crate::audit::Action;
use crate::campaign_file::MAX_ENTRIES;
use crate::failure::Failure;
use crate::format::{entries_in_words, grouped};
use crate::submissions::one;
use crate::tables::Tables;

/// Recorded as a reason beside the message key.
pub const OPERATOR_DECISION: &str = "operator_decision";
/// Recorded as a reason when the purchase of an accepted receipt is unknown.
const WITHOUT_RECEIPT_CODE: &str = "without_receipt_code";

/// An operator's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The entry counts.
    Accept {
        /// Entries to award. When absent: the number counted on the receipt's record, otherwise the campaign's.
        entries: Option<u32>,
        /// How the receipt's purchase is known.
        proof: Proof,
    },
    /// The entry does not count, for this reason.
    Reject(MessageKey),
}

impl Verdict {
    /// Refuses obvious mistakes: no or too many entries, and a message key that rejects nothing.
    ///
    /// # Errors
    /// Says which.
    pub fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Accept {
                entries: Some(entries),
                ..
            } if !(1..=MAX_ENTRIES).contains(entries) => {
                let message = format!(
                    "an accepted submission has 1 to {} entries",
                    grouped(MAX_ENTRIES.into())
                );
                Err(Failure::new("entries_invalid", message))
            }
            Self::Reject(key) if !key.rejects() => Err(Failure::new(
                "reason_invalid",
                format!("`{key}` is not a reason to reject; choose another"),
            )),
            Self::Accept { .. } | Self::Reject(_) => Ok(()),
        }
    }
}

/// How the purchase of a receipt is known, so that it counts only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// From the tax authority's record, if it was found already.
    Record,
    /// From the verification code, as the operator read it.
    Read(VerificationCode),
    /// It may stay unknown.
    Waived,
}

/// The result of settling by hand.
#[derive(Clone, Debug)]
pub enum ManualSettlement {
    /// It is settled.
    Done(Submission),
    /// A second operator has to accept it too.
    Proposed {
        /// With the first acceptance.
        after: Submission,
        /// Why, such as `it gives the instant prize “Kettle”`.
        at_stake: String,
        /// The earlier acceptance, with other entries or another code, that it replaces.
        replaced: Option<Box<Approval>>,
    },
}

/// Settles a submission as the operator decided. Accepting awards the entries and the code's prize, and claims the
/// purchase; a prize, or more entries than the service itself would give, needs a second operator who accepts the same. Rejecting frees the code and the place under the phone's
/// limits. If the service settles it at the same time, the first write wins and the other writes nothing.
///
/// # Errors
/// When there is no such submission, it is settled already, a partner may be redeeming the code of a rejected one, its
/// purchase is unknown or taken, it needs a second operator and this is the first, or a table does not answer.
pub async fn settle(
    tables: &Tables,
    name: &str,
    verdict: Verdict,
    decision: OperatorDecision,
) -> Result<ManualSettlement, Failure> {
    settle_seen(tables, one(tables, name).await?, verdict, decision).await
}

/// [`settle`], for a submission as the operator saw it.
pub(crate) async fn settle_seen(
    tables: &Tables,
    before: Submission,
    verdict: Verdict,
    decision: OperatorDecision,
) -> Result<ManualSettlement, Failure> {
    verdict.check()?;
    if before.status.is_terminal() {
        return Err(settled_already(&before));
    }
    let decision = OperatorDecision {
        identity: Some(tables.audit.identity().await?.to_owned()),
        ..decision
    };
    let (entries, proof) = match verdict {
        Verdict::Reject(_) if is_with_the_partner(&before) => {
            let message = "the partner may be redeeming the code right now, and the service keeps asking it; wait for the \
                           answer, or until the submission is left to you (`ops submission show` says who acts next), \
                           and then ask the partner about this id before you reject";
            return Err(Failure::new("partner_is_asked", message));
        }
        Verdict::Reject(key) => {
            let purchase = before.purchase.clone();
            let after = settled(&before, &Transition::reject(key), purchase, decision)?;
            return write(tables, &before, after).await;
        }
        Verdict::Accept { entries, proof } => (entries, proof),
    };
    let purchase = purchase(&before, proof)?;
    let campaign = tables.campaign(&before.scope.campaign).await?;
    let entries = match entries {
        Some(entries) => entries,
        None => checked_entries(&campaign, &before)?,
    };
    let acceptance = Acceptance {
        entries,
        purchase: purchase.clone(),
    };
    let approval = Approval {
        change: ProposedChange::Accept(acceptance),
        decision,
    };
    let prize = prize(tables, &before).await?;
    let at_stake = at_stake(
        prize.as_deref(),
        entries,
        max_entries_alone(&campaign, &before),
    );
    let decision = match (before.agreement(&approval), at_stake) {
        (_, None) => approval.decision,
        (Agreement::Reached(both), Some(_)) => both,
        (Agreement::Awaited, Some(at_stake)) => {
            return propose(tables, before.awaiting(approval), before, at_stake).await;
        }
        (Agreement::SamePerson, Some(at_stake)) => {
            return Err(second_person_needed(&before, &at_stake));
        }
    };
    let after = settled(
        &before,
        &Transition::Accept { entries, prize },
        purchase,
        decision,
    )?;
    write(tables, &before, after).await
}

/// The submission once it is settled.
fn settled(
    before: &Submission,
    transition: &Transition,
    purchase: Option<VerificationCode>,
    decision: OperatorDecision,
) -> Result<Submission, Failure> {
    let after = before.apply(transition, Findings::default(), decision.at);
    let mut after = after.map_err(|_| settled_already(before))?;
    after.reasons = vec![
        after.status.message_key().as_str().to_owned(),
        OPERATOR_DECISION.to_owned(),
    ];
    let is_accepted = matches!(transition, Transition::Accept { .. });
    if is_accepted && is_unproved(before, purchase.as_ref()) {
        after.reasons.push(WITHOUT_RECEIPT_CODE.to_owned());
    }
    Ok(Submission {
        purchase,
        decision: Some(decision),
        ..after
    })
}

fn is_unproved(submission: &Submission, purchase: Option<&VerificationCode>) -> bool {
    submission.receipt_id.is_some() && purchase.is_none()
}

/// Writes a settled submission, after its row in the audit log.
async fn write(
    tables: &Tables,
    before: &Submission,
    after: Submission,
) -> Result<ManualSettlement, Failure> {
    let details = json!({
        "before": before.status.message_key(),
        "after": after.status.message_key(),
        "entries": after.status.entries(),
        "without_receipt_code": after.reasons.iter().any(|reason| reason == WITHOUT_RECEIPT_CODE),
        "proposal": false,
    });
    let decision = after.decision.as_ref();
    // The row is that of the second operator, if there are two.
    let why = decision.and_then(|both| {
        both.confirmed
            .as_ref()
            .map_or(both.why.as_ref(), |second| second.why.as_ref())
    });
    let row = action("submission.settle", before)
        .because(why.map_or("", String::as_str))
        .with(details);
    tables.audit.append(row, after.updated_at).await?;
    match tables.store.settle(before, &after, None).await? {
        SettleResult::Committed => Ok(ManualSettlement::Done(after)),
        SettleResult::ReceiptAlreadyUsed => {
            let message = "another submission was accepted with the same receipt; reject this one with \
                           `--reject receipt_already_used`";
            Err(Failure::new("purchase_taken", message))
        }
        SettleResult::StaleRevision => Err(moved()),
    }
}

/// Records the acceptance of a first operator; nothing else changes.
async fn propose(
    tables: &Tables,
    after: Submission,
    before: Submission,
    at_stake: String,
) -> Result<ManualSettlement, Failure> {
    if let Some((Acceptance { entries, purchase }, decision)) = after.first_acceptance() {
        let key = before.status.message_key();
        let details = json!({
            "before": key,
            "after": key,
            "entries": entries,
            "without_receipt_code": is_unproved(&before, purchase.as_ref()),
            "proposal": true,
        });
        let row = action("submission.settle", &before)
            .because(decision.why.as_deref().unwrap_or_default())
            .with(details);
        tables.audit.append(row, decision.at).await?;
    }
    if !tables.store.annotate(&before, &after).await? {
        return Err(moved());
    }
    Ok(ManualSettlement::Proposed {
        after,
        at_stake,
        replaced: before.approval.map(Box::new),
    })
}

/// Why two people have to accept it; `None` if one is enough.
fn at_stake(prize: Option<&str>, entries: u32, max_entries_alone: u32) -> Option<String> {
    let too_many = || {
        format!(
            "it gives {}, and the service itself gives {max_entries_alone} at most",
            entries_in_words(entries)
        )
    };
    match prize {
        Some(prize) => Some(format!(
            "it gives the instant prize \u{201c}{prize}\u{201d}"
        )),
        None => (entries > max_entries_alone).then(too_many),
    }
}

/// The most entries that the service itself would give, and so one operator alone may.
fn max_entries_alone(campaign: &Campaign, submission: &Submission) -> u32 {
    let counted = submission
        .receipt
        .as_ref()
        .and_then(|receipt| receipt.counted_entries);
    counted.map_or(campaign.entries_per_submission, |counted| {
        counted.min(max_entries(campaign))
    })
}

fn max_entries(campaign: &Campaign) -> u32 {
    campaign
        .receipt
        .as_ref()
        .map_or(ReceiptRules::DEFAULT_MAX_ENTRIES, |rules| rules.max_entries)
}

fn second_person_needed(submission: &Submission, at_stake: &str) -> Failure {
    let first = submission.first_acceptance();
    let by = first
        .map(|(_, first)| format!(", and {} accepted it at {}", first.by, first.at))
        .unwrap_or_default();
    let message = format!(
        "{at_stake}{by}; nothing happens until a second operator accepts it too, with their own AWS identity and name"
    );
    Failure::new("second_person_needed", message)
}

/// The number of entries if the operator gives none: those that a first operator accepted. `None` if more were counted than
/// `receipt.max_entries`: the operator has to name the number.
pub fn usual_entries(campaign: &Campaign, submission: &Submission) -> Option<u32> {
    if let Some((first, _)) = submission.first_acceptance() {
        return Some(first.entries);
    }
    match submission
        .receipt
        .as_ref()
        .and_then(|receipt| receipt.counted_entries)
    {
        Some(counted) => (counted <= max_entries(campaign)).then_some(counted),
        None => Some(campaign.entries_per_submission),
    }
}

fn checked_entries(campaign: &Campaign, submission: &Submission) -> Result<u32, Failure> {
    usual_entries(campaign, submission).ok_or_else(|| {
        let counted = submission.receipt.as_ref().and_then(|receipt| receipt.counted_entries);
        let message = format!(
            "{} entries were counted on the receipt, which may be the till's mistake; look at it with \
             `ops submission show`, and set the number with --entries",
            grouped(counted.unwrap_or_default().into())
        );
        Failure::new("entries_needed", message)
    })
}

/// True if the service may ask the partner at any moment, or has just done so.
fn is_with_the_partner(submission: &Submission) -> bool {
    let asks = submission
        .settling
        .as_ref()
        .is_some_and(|settling| settling.assignee == Assignee::Service);
    asks && submission.partner_code.is_some()
}

/// Hands a submission back from the operator to the service, which starts over as if nothing had been tried.
///
/// # Errors
/// When there is no such submission, it does not wait for an operator, it changed in between, or a table does not
/// answer.
pub async fn resume(tables: &Tables, name: &str, now: Timestamp) -> Result<Submission, Failure> {
    let before = one(tables, name).await?;
    let settling = match &before.settling {
        None => return Err(settled_already(&before)),
        Some(settling) if settling.assignee == Assignee::Service => {
            let message = "the service works on the submission already; `ops submission show` says what comes next";
            return Err(Failure::new("not_waiting", message));
        }
        Some(_) if !has_work(&before) => {
            let message = "nothing is left that the service could ask about this submission; settle it with \
                           `ops submission settle`";
            return Err(Failure::new("nothing_to_resume", message));
        }
        Some(settling) => settling.resumed(now),
    };
    let (reasons, settling) = (Vec::new(), Some(settling));
    let after = Submission {
        settling,
        reasons,
        decision: None,
        approval: None,
        ..before.changed(now)
    };
    tables
        .audit
        .append(action("submission.resume", &before), now)
        .await?;
    match tables.store.settle(&before, &after, None).await? {
        SettleResult::Committed => Ok(after),
        SettleResult::StaleRevision | SettleResult::ReceiptAlreadyUsed => Err(moved()),
    }
}

pub(crate) fn action(name: &'static str, submission: &Submission) -> Action {
    Action::new(name)
        .in_scope(&submission.scope)
        .on(submission.submission_id)
}

/// True if the service can settle it: by its receipt, by asking the partner, or as its test code says. A submission that
/// was reopened without a receipt has nothing of these, and would be accepted unseen.
fn has_work(submission: &Submission) -> bool {
    let code = submission
        .code_key
        .as_ref()
        .and_then(|key| CodeKey::parse(&submission.scope, key));
    submission.receipt_id.is_some()
        || submission.partner_code.is_some()
        || matches!(code, Some(CodeKey::Sentinel(_)))
}

pub(crate) fn moved() -> Failure {
    let message = "the submission changed in the meantime; look at it with `ops submission show` and try again if it \
                   still waits";
    Failure::new("submission_moved", message)
}

/// The purchase that accepting claims; `None` if the submission has no receipt, or the proof was waived.
fn purchase(submission: &Submission, proof: Proof) -> Result<Option<VerificationCode>, Failure> {
    match (&submission.purchase, proof, submission.receipt_id) {
        (Some(known), Proof::Read(read), _) if *known != read => {
            let message = "the tax authority's record has another code than --receipt-code; compare both with \
                           `ops submission show ID --show-receipt`, and leave --receipt-code out to accept the \
                           purchase of the record";
            Err(Failure::new("receipt_code_differs", message))
        }
        (Some(known), Proof::Record | Proof::Read(_) | Proof::Waived, _) => Ok(Some(known.clone())),
        (None, Proof::Read(_), None) => {
            let message = "the submission came without a receipt; leave --receipt-code out";
            Err(Failure::new("receipt_absent", message))
        }
        (None, Proof::Read(read), Some(_)) => Ok(Some(read)),
        (None, Proof::Record, Some(_)) => {
            let message = "the purchase of this receipt is still unknown, so the receipt could be entered again: read its \
                           verification code (`ops submission show ID --show-photo` links to the photo, with --show-receipt it \
                           shows what was typed) and add --receipt-code CODE, or accept it anyway with \
                           --without-receipt-code";
            Err(Failure::new("receipt_code_needed", message))
        }
        (None, Proof::Record | Proof::Waived, _) => Ok(None),
    }
}

fn settled_already(submission: &Submission) -> Failure {
    let by_whom = match &submission.decision {
        Some(decision) => format!(" by {} at {}", decision.by, decision.at),
        None => format!(" since {}", submission.updated_at),
    };
    let message = format!(
        "the submission is settled already as `{}`{by_whom}; `ops submission revoke` takes an accepted one \
         back, `ops submission reopen` a rejected one",
        submission.status.message_key()
    );
    Failure::new("already_settled", message)
}

/// The instant prize of the code that a submission holds.
pub(crate) async fn prize(
    tables: &Tables,
    submission: &Submission,
) -> Result<Option<String>, Failure> {
    if let Some(prize) = submission
        .settling
        .as_ref()
        .and_then(|settling| settling.prize.clone())
    {
        return Ok(Some(prize));
    }
    Ok(code_batch(tables, submission)
        .await?
        .and_then(|batch| batch.prize))
}

/// The batch of the code that a submission has or had.
pub(crate) async fn code_batch(
    tables: &Tables,
    submission: &Submission,
) -> Result<Option<Batch>, Failure> {
    let (Some(code_key), Some(book)) = (
        &submission.code_key,
        tables.code_books.overview(&submission.scope).await?,
    ) else {
        return Ok(None);
    };
    let batch = match CodeKey::parse(&submission.scope, code_key) {
        Some(CodeKey::Minted(serial)) => book.batch_of(serial).cloned(),
        Some(key @ CodeKey::Imported { .. }) => {
            let record = tables
                .codes()
                .get(&submission.scope, &key)
                .await?
                .unwrap_or_default();
            record.batch.and_then(|name| book.batch(&name).cloned())
        }
        Some(CodeKey::Partner(_) | CodeKey::Sentinel(_)) | None => None,
    };
    Ok(batch)
}
