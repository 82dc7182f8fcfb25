use common::domain::receipt::rules::ReceiptRules;
use common::domain::submission::transition::{Findings, Transition};
use common::store::submission_writes::SettleResult;

use crate::approvals::{Agreed, action, agree, asked_by, decided, moved};
use crate::campaign_file::MAX_ENTRIES;
use crate::codes::find::of_submission;
use crate::prelude::*;
use crate::submissions::one;

/// Reason recorded beside the message key.
pub const OPERATOR_DECISION: &str = "operator_decision";
/// Reason recorded if an accepted receipt's purchase is unknown.
const WITHOUT_RECEIPT_CODE: &str = "without_receipt_code";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accept {
        /// `None` takes the number on the receipt's record, otherwise the campaign's.
        entries: Option<u32>,
        proof: Proof,
    },
    Reject(MessageKey),
}

impl Verdict {
    /// Refuses no or too many entries, and a message key that rejects nothing.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Accept {
                entries: Some(entries),
                ..
            } if !(1..=MAX_ENTRIES).contains(entries) => {
                bail!(
                    "entries_invalid",
                    "an accepted submission has 1 to {} entries",
                    grouped(MAX_ENTRIES)
                )
            }
            Self::Reject(key) if !key.rejects() => Err(failure!(
                "reason_invalid",
                "`{key}` is not a reason to reject; choose another"
            )),
            Self::Accept { .. } | Self::Reject(_) => Ok(()),
        }
    }
}

/// Proof of the purchase, which counts only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The tax authority's record, if found already.
    Record,
    /// The code that the operator read.
    Read(VerificationCode),
    /// It may stay unknown.
    Waived,
}

/// Settles a submission by hand. Accepting awards the entries and the code's prize, and claims the
/// purchase; a prize, or more entries than the service would give, needs a second operator.
/// Rejecting frees the code and the place under the phone's limits.
///
/// If the service settles it at the same time, the first write wins. Fails if the submission is
/// settled, a partner may be redeeming a rejected one's code, or the purchase is unknown or taken.
pub async fn settle(
    tables: &Tables,
    name: &str,
    verdict: Verdict,
    decision: OperatorDecision,
) -> Result<Decided> {
    settle_seen(tables, one(tables, name).await?, verdict, decision).await
}

pub(crate) async fn settle_seen(
    tables: &Tables,
    before: Submission,
    verdict: Verdict,
    decision: OperatorDecision,
) -> Result<Decided> {
    verdict.check()?;
    if before.status.is_terminal() {
        return Err(settled_already(&before));
    }
    let (entries, proof) = match verdict {
        Verdict::Reject(_) if is_with_the_partner(&before) => {
            bail!(
                "partner_is_asked",
                "the partner may be redeeming the code right now, and the service keeps asking it; wait for the \
                           answer, or until the submission is left to you (`ops submission show` says who acts next), \
                           and then ask the partner about this id before you reject"
            );
        }
        Verdict::Reject(key) => {
            let purchase = before.purchase.clone();
            return write(tables, &before, Transition::reject(key), purchase, decision).await;
        }
        Verdict::Accept { entries, proof } => (entries, proof),
    };
    let purchase = purchase(&before, proof)?;
    let campaign = tables.campaign(&before.scope.campaign).await?;
    let entries = match entries {
        Some(entries) => entries,
        None => checked_entries(&campaign, &before)?,
    };
    let prize = prize(tables, &before).await?;
    let decision = match at_stake(prize.as_deref(), entries, &campaign, &before) {
        None => decision,
        Some(at_stake) => {
            let purchase = purchase.clone();
            let row = decided("submission.settle", &before, &decision).with(json!({
                "before": before.status.message_key(),
                "after": before.status.message_key(),
                "entries": entries,
                "without_receipt_code": is_unproved(&before, purchase.as_ref()),
                "proposal": true,
            }));
            let change = ProposedChange::Accept(Acceptance { entries, purchase });
            let agreed = agree(tables, &before, change, decision, at_stake, row);
            match Box::pin(agreed).await? {
                Agreed::Both(both) => both,
                Agreed::Proposed(proposed) => return Ok(*proposed),
            }
        }
    };
    let accept = Transition::Accept { entries, prize };
    write(tables, &before, accept, purchase, decision).await
}

fn is_unproved(submission: &Submission, purchase: Option<&VerificationCode>) -> bool {
    submission.receipt_id.is_some() && purchase.is_none()
}

async fn write(
    tables: &Tables,
    before: &Submission,
    transition: Transition,
    purchase: Option<VerificationCode>,
    decision: OperatorDecision,
) -> Result<Decided> {
    let after = before.apply(&transition, Findings::default(), decision.at);
    let after = after.map_err(|_| settled_already(before))?;
    let is_accepted = matches!(transition, Transition::Accept { .. });
    let is_unproved = is_accepted && is_unproved(before, purchase.as_ref());
    let reasons = [after.status.message_key().as_str(), OPERATOR_DECISION]
        .into_iter()
        .chain(is_unproved.then_some(WITHOUT_RECEIPT_CODE));
    let details = json!({
        "before": before.status.message_key(),
        "after": after.status.message_key(),
        "entries": after.status.entries(),
        "without_receipt_code": is_unproved,
        "proposal": false,
    });
    let row = decided("submission.settle", before, &decision);
    let row = row.with(extended(details, asked_by(&decision)));
    let decided_at = decision.at;
    let after = Submission {
        reasons: reasons.map(str::to_owned).collect(),
        purchase,
        decision: Some(decision),
        ..after
    };
    let after = notifying(tables, after).await?;
    tables.audit.append(row, decided_at).await?;
    match tables.store.settle(before, &after, None).await? {
        SettleResult::Committed => Ok(Decided::Done(after)),
        SettleResult::ReceiptAlreadyUsed => {
            bail!(
                "purchase_taken",
                "another submission was accepted with the same receipt; reject this one with \
                           `--reject receipt_already_used`"
            )
        }
        SettleResult::StaleRevision => Err(moved()),
    }
}

/// The submission, to be published if its campaign has webhooks.
pub(crate) async fn notifying(tables: &Tables, after: Submission) -> Result<Submission> {
    let campaign = tables.campaigns.get(&after.scope.campaign).await?;
    Ok(match campaign {
        Some(campaign) => after.notifying(&campaign),
        None => after,
    })
}

/// Reason for a second operator; `None` if one is enough.
fn at_stake(
    prize: Option<&str>,
    entries: u32,
    campaign: &Campaign,
    submission: &Submission,
) -> Option<String> {
    if let Some(prize) = prize {
        return Some(format!("it gives the instant prize “{prize}”"));
    }
    let max_entries_alone = counted_entries(submission)
        .map_or(campaign.entries_per_submission, |counted| {
            counted.min(max_entries(campaign))
        });
    (entries > max_entries_alone).then(|| {
        format!(
            "it gives {}, and the service itself gives {max_entries_alone} at most",
            entries_in_words(entries)
        )
    })
}

fn counted_entries(submission: &Submission) -> Option<u32> {
    submission.receipt.as_ref()?.counted_entries
}

fn max_entries(campaign: &Campaign) -> u32 {
    campaign
        .receipt
        .as_ref()
        .map_or(ReceiptRules::DEFAULT_MAX_ENTRIES, |rules| rules.max_entries)
}

/// Entries without the operator's number: the first operator's, the counted ones, or the
/// campaign's. `None` if more than `receipt.max_entries` were counted.
pub fn usual_entries(campaign: &Campaign, submission: &Submission) -> Option<u32> {
    if let Some((first, _)) = submission.first_acceptance() {
        return Some(first.entries);
    }
    match counted_entries(submission) {
        Some(counted) => (counted <= max_entries(campaign)).then_some(counted),
        None => Some(campaign.entries_per_submission),
    }
}

fn checked_entries(campaign: &Campaign, submission: &Submission) -> Result<u32> {
    usual_entries(campaign, submission).ok_or_else(|| {
        failure!(
            "entries_needed",
            "{} entries were counted on the receipt, which may be the till's mistake; look at it with \
             `ops submission show`, and set the number with --entries",
            grouped(counted_entries(submission).unwrap_or_default())
        )
    })
}

/// True if the service may ask the partner now, or just has.
fn is_with_the_partner(submission: &Submission) -> bool {
    let asks = submission.assignee() == Some(Assignee::Service);
    asks && submission.partner_code.is_some()
}

/// Hands a waiting submission back to the service, which starts over.
pub async fn resume(tables: &Tables, name: &str, now: Timestamp) -> Result<Submission> {
    let before = one(tables, name).await?;
    let settling = match &before.settling {
        None => return Err(settled_already(&before)),
        Some(settling) if settling.assignee == Assignee::Service => {
            bail!(
                "not_waiting",
                "the service works on the submission already; `ops submission show` says what comes next"
            );
        }
        Some(_) if !has_work(&before) => {
            bail!(
                "nothing_to_resume",
                "the service has no more questions about this submission; settle it with \
                           `ops submission settle`"
            );
        }
        Some(settling) => settling.resumed(now),
    };
    let after = Submission {
        settling: Some(settling),
        reasons: Vec::new(),
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

/// True with a receipt, a partner or a test code. A submission reopened without a receipt has none
/// of these, and would be accepted unseen.
fn has_work(submission: &Submission) -> bool {
    submission.receipt_id.is_some()
        || submission.partner_code.is_some()
        || matches!(submission.code_key(), Some(CodeKey::Sentinel(_)))
}

/// `None` without a receipt, or if the proof is waived.
fn purchase(submission: &Submission, proof: Proof) -> Result<Option<VerificationCode>> {
    match (&submission.purchase, proof, submission.receipt_id) {
        (Some(known), Proof::Read(read), _) if *known != read => {
            bail!(
                "receipt_code_differs",
                "the tax authority's record has another code than --receipt-code; compare both with \
                           `ops submission show ID --show-receipt`, and leave --receipt-code out to accept the \
                           purchase of the record"
            )
        }
        (Some(known), Proof::Record | Proof::Read(_) | Proof::Waived, _) => Ok(Some(known.clone())),
        (None, Proof::Read(_), None) => {
            bail!(
                "receipt_absent",
                "the submission came without a receipt; leave --receipt-code out"
            )
        }
        (None, Proof::Read(read), Some(_)) => Ok(Some(read)),
        (None, Proof::Record, Some(_)) => {
            bail!(
                "receipt_code_needed",
                "the purchase of this receipt is still unknown, so the receipt could be entered again: read its \
                           verification code (`ops submission show ID --show-photo` links to the photo, with --show-receipt it \
                           shows what was typed) and add --receipt-code CODE, or accept it anyway with \
                           --without-receipt-code"
            )
        }
        (None, Proof::Record | Proof::Waived, _) => Ok(None),
    }
}

fn settled_already(submission: &Submission) -> Failure {
    let by_whom = match &submission.decision {
        Some(decision) => format!(" by {} at {}", decision.by, decision.at),
        None => format!(" since {}", submission.updated_at),
    };
    failure!(
        "already_settled",
        "the submission is settled already as `{}`{by_whom}; `ops submission revoke` takes an accepted one \
         back, `ops submission reopen` a rejected one",
        submission.status.message_key()
    )
}

pub(crate) async fn prize(tables: &Tables, submission: &Submission) -> Result<Option<String>> {
    if submission.has_kept_prize() {
        return Ok(None);
    }
    if let Some(prize) = submission
        .settling
        .as_ref()
        .and_then(|settling| settling.prize.clone())
    {
        return Ok(Some(prize));
    }
    let (_, batch) = of_submission(tables, submission).await?;
    Ok(batch.and_then(|batch| batch.prize))
}
