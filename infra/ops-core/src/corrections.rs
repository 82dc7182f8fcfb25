//! Reopening takes another person than the one who decided. If an instant or drawn prize was won,
//! both corrections take two people. Revoking takes two from the moment a draw of the entry begins
//! to be frozen until it is finished, and waits between the draw's round and its run.

use common::domain::submission::correction::NotCorrectable;
use common::store::Write;
use common::store::submission_writes::CorrectionResult;

use crate::approvals::{Agreed, agree, asked_by, change_json, decided, moved};
use crate::codes::find::of_submission;
use crate::draws::{self, chain};
use crate::prelude::*;
use crate::settle::notifying;
use crate::submissions::one;

/// Corrects the submission with an id or reference. Fails if its state does not allow it, or its
/// code or place is taken.
pub async fn correct(
    tables: &Tables,
    name: &str,
    correction: Correction,
    decision: OperatorDecision,
) -> Result<Decided> {
    correct_seen(tables, one(tables, name).await?, correction, decision).await
}

/// Corrects a submission as it was read; fails if it changed since.
pub async fn correct_seen(
    tables: &Tables,
    before: Submission,
    correction: Correction,
    decision: OperatorDecision,
) -> Result<Decided> {
    match before.corrected(correction, decision.clone()) {
        Ok(_) => {}
        Err(NotCorrectable::RevokedAlready) => {
            return match correction {
                Correction::Revoke {
                    free_code: true, ..
                } if keeps_code(tables, &before).await? => {
                    Err(not_correctable(&before, NotCorrectable::RevokedAlready))
                }
                Correction::Revoke { .. } | Correction::Reopen => Ok(Decided::Unchanged(before)),
            };
        }
        Err(refused) => return Err(not_correctable(&before, refused)),
    }
    let row = |decision: &OperatorDecision, is_proposal: bool| {
        let name = match correction {
            Correction::Revoke { .. } => "submission.revoke",
            Correction::Reopen => "submission.reopen",
        };
        let replaced = before.approval.as_ref().filter(|_| is_proposal);
        let replaced = replaced.map(|first| change_json(&first.change));
        let details =
            json!({ "correction": correction, "proposal": is_proposal, "replaced": replaced });
        let details = extended(details, asked_by(decision));
        decided(name, &before, decision).with(details)
    };
    // Before the draws are read, so that a later freeze is noticed.
    let lock = tables.draws.freeze_lock(&before.scope).await?;
    let win = match correction {
        Correction::Revoke { keep_prize, .. } => {
            revoked_win(tables, &before, keep_prize, decision.at).await?
        }
        Correction::Reopen => Vec::new(),
    };
    let (decision, condition) = if is_at_stake(tables, &before, decision.at).await? {
        let (change, row) = (ProposedChange::Correct(correction), row(&decision, true));
        let at_stake = "it can decide who gets a prize".to_owned();
        let agreed = agree(tables, &before, change, decision, at_stake, row);
        match Box::pin(agreed).await? {
            Agreed::Both(both) => (both, None),
            Agreed::Proposed(proposed) => return Ok(*proposed),
        }
    } else {
        if correction == Correction::Reopen {
            refuse_own_verdict(&before, &decision)?;
        }
        let alone = tables.draws.no_freeze_check(&before.scope, lock.as_ref());
        (decision, Some(alone))
    };
    tables
        .audit
        .append(row(&decision, false), decision.at)
        .await?;
    let after = before
        .corrected(correction, decision)
        .map_err(|refused| not_correctable(&before, refused))?;
    let further = condition.into_iter().chain(win).collect();
    write(tables, &before, after, correction, further).await
}

/// Revokes an accepted submission, reopens a rejected one. Each is atomic and needs its own
/// permission.
pub async fn reopen(tables: &Tables, name: &str, decision: OperatorDecision) -> Result<Decided> {
    let before = one(tables, name).await?;
    let correction = if before.status.state() == State::Accepted {
        Correction::REVOKE
    } else {
        Correction::Reopen
    };
    if before.status.is_terminal() && !is_at_stake(tables, &before, decision.at).await? {
        refuse_own_verdict(&before, &decision)?;
    }
    correct_seen(tables, before, correction, decision).await
}

/// True if the submission won an instant prize, is in an unfinished draw, or its phone won a draw
/// since.
async fn is_at_stake(tables: &Tables, before: &Submission, now: Timestamp) -> Result<bool> {
    let is_drawn = is_in_draw(tables, before, now).await?;
    if is_drawn || before.prize_won().is_some() {
        return Ok(true);
    }
    let mut contacts = tables.draws.all_contacts(&before.scope).await?;
    contacts.retain(|contact| {
        let drawn_at = contact.steps.first().map(|step| step.at);
        contact.holds_prize() && drawn_at.is_some_and(|drawn_at| before.sent_at() < drawn_at)
    });
    if contacts.is_empty() {
        return Ok(false);
    }
    // A draw's row has all entries of the phone; the contact names one.
    let (of_phone, unreadable) = tables
        .submissions()
        .of_entrant(&before.scope, &before.entrant_id)
        .await?;
    Failure::check_readable("nothing was corrected", &unreadable)?;
    let of_phone = of_phone
        .iter()
        .chain([before])
        .map(|submission| submission.submission_id);
    let is_drawn = |id| {
        contacts
            .iter()
            .any(|contact| contact.submission_id == Some(id))
    };
    Ok(of_phone.into_iter().any(is_drawn))
}

/// The change that takes an open win back with its entry. A prize that was handed over stays so, and
/// has to be named. A winning moment's prize goes to the next entry.
async fn revoked_win(
    tables: &Tables,
    before: &Submission,
    keep_prize: bool,
    now: Timestamp,
) -> Result<Vec<Write>> {
    let wins = tables.wins().of_submission(before).await?;
    let handed_over = wins
        .iter()
        .find(|win| win.status() == WinStatus::HandedOver);
    match (handed_over, keep_prize) {
        (Some(win), false) => bail!(
            "prize_handed_over",
            "the prize {} of {} was handed over, so nothing was changed; revoke it with --keep-prize, and the prize stays with \
             the winner",
            visible(&win.prize),
            win.reference
        ),
        (None, true) => bail!(
            "prize_not_handed_over",
            "no prize of {} was handed over, so there is none to keep; leave --keep-prize out",
            before.reference()
        ),
        (Some(_), true) | (None, false) => {}
    }
    // Of a moment, the time is proven: not by an operator's clock.
    let now = match wins.iter().any(|win| win.moment.is_some()) {
        true => draws::storage_time(tables).await?,
        false => now,
    };
    let revoked = |win: &Win| {
        let at = win.step_time(now).max(win.accepted_at);
        Some((win.clone(), win.revoked(at)?))
    };
    let Some((open, revoked)) = wins.iter().find_map(revoked) else {
        return Ok(Vec::new());
    };
    let mut writes = vec![tables.wins().change(&open, &revoked)];
    if let Some(moment) = open.moment {
        writes.extend(tables.store.plans().give_back(&open.scope, moment).await?);
    }
    Ok(writes)
}

/// True even if it may be in a draw that is being frozen.
async fn is_in_draw(tables: &Tables, before: &Submission, now: Timestamp) -> Result<bool> {
    let Submission { scope, .. } = before;
    let Some(accepted_at) = before.accepted_at() else {
        return Ok(false);
    };
    // Before the draws: a freeze recorded in between is among them.
    let lock = tables.draws.freeze_lock(scope).await?;
    let is_freezing = lock.is_some_and(|lock| lock.is_held(now));
    let mut draws = tables.draws.unfinished(scope, now).await?;
    draws.retain(|draw| draws::is_in_period(draw, accepted_at));
    for draw in draws.iter().filter(|draw| draw.outcome.is_none()) {
        chain::of_draw(tables, draw)?;
    }
    match draws.iter().find(|draw| draw.awaits_run(now)) {
        Some(draw) => Err(draws::run_first(draw, scope)),
        None => Ok(is_freezing || !draws.is_empty()),
    }
}

/// Refuses an operator who took the decision that reopening takes back; for a revoked submission,
/// the one before.
fn refuse_own_verdict(before: &Submission, decision: &OperatorDecision) -> Result<()> {
    let identity = decision.identity.as_deref().unwrap_or_default();
    let verdict = match before.history.last() {
        Some(last) if before.is_revoked() => last.decision.as_ref(),
        Some(_) | None => before.decision.as_ref(),
    };
    if !verdict.is_some_and(|verdict| verdict.is_by(identity, &decision.by)) {
        return Ok(());
    }
    bail!(
        "second_person_needed",
        "you decided {} yourself, so nothing was changed; ask a second person to reopen it, with their own AWS identity and \
         name",
        before.reference()
    )
}

async fn write(
    tables: &Tables,
    before: &Submission,
    after: Submission,
    correction: Correction,
    further: Vec<Write>,
) -> Result<Decided> {
    let after = notifying(tables, after).await?;
    let written = match correction {
        Correction::Revoke { free_code, .. } => {
            tables
                .store
                .revoke(before, &after, free_code, further)
                .await?
        }
        Correction::Reopen => {
            refuse_void_code(tables, before).await?;
            let campaign = tables.campaign(&before.scope.campaign).await?;
            tables.store.reopen(before, &after, campaign.limits).await?
        }
    };
    match written {
        CorrectionResult::Committed => Ok(Decided::Done(after)),
        CorrectionResult::StaleRevision => Err(moved()),
        CorrectionResult::CodeTaken => {
            bail!(
                "code_taken",
                "another submission has taken the code, or the code was voided; this one cannot have it again"
            )
        }
        CorrectionResult::PhoneRefused(MessageKey::Blocked) => {
            bail!(
                "phone_blocked",
                "the phone is on the blocklist; unblock it with `ops phone unblock` if the submission is to count"
            )
        }
        CorrectionResult::PhoneRefused(_) => {
            bail!(
                "place_taken",
                "the phone has reached the campaign's limit with other submissions; this one has no place any more"
            )
        }
    }
}

/// Such as `revoked: 2 entries taken back; its code stays used`.
pub fn done_in_words(after: &Submission, correction: Correction) -> String {
    let Correction::Revoke { free_code, .. } = correction else {
        return "waits for an operator".to_owned();
    };
    let lost = after.history.last();
    let entries = entries_in_words(lost.map_or(0, |before| before.status.entries()));
    let code = match (after.code_key().is_some(), free_code) {
        (false, _) => "",
        (true, true) => "; its code can be entered again",
        (true, false) => "; its code stays used",
    };
    format!("revoked: {entries} taken back{code}")
}

async fn keeps_code(tables: &Tables, submission: &Submission) -> Result<bool> {
    let (record, _) = of_submission(tables, submission).await?;
    let hold = record.and_then(|record| record.hold);
    Ok(hold.is_some_and(|hold| hold.submission_id == submission.submission_id))
}

/// A freed code's batch may have been voided since.
async fn refuse_void_code(tables: &Tables, submission: &Submission) -> Result<()> {
    let (record, batch) = of_submission(tables, submission).await?;
    let is_held = record.is_some_and(|record| record.hold.is_some());
    if !is_held && batch.is_some_and(|batch| batch.status != BatchStatus::Active) {
        bail!(
            "code_void",
            "the code's batch was voided since the submission lost the code; it cannot have the code again"
        );
    }
    Ok(())
}

pub(crate) fn not_correctable(submission: &Submission, refused: NotCorrectable) -> Failure {
    let reference = &submission.reference();
    let (code, message) = match refused {
        NotCorrectable::NotSettled => (
            "not_settled",
            "it is not settled; accept or reject it with `ops submission settle`",
        ),
        NotCorrectable::Rejected => (
            "not_accepted",
            "it was rejected, so there is nothing to revoke",
        ),
        NotCorrectable::RevokedAlready => (
            "already_revoked",
            "it was revoked already, and its code stays used; to free the code, reopen it with `ops submission reopen`, and \
             reject it with `ops submission settle`",
        ),
        NotCorrectable::Accepted => (
            "accepted",
            "it is accepted; revoke it first with `ops submission revoke`, then reopen it",
        ),
        NotCorrectable::Erased => (
            "erased",
            "its phone was erased, so the consumer could not be told the outcome; they can enter again if they ask",
        ),
        NotCorrectable::WithoutEvidence => (
            "nothing_to_reopen",
            "it was refused before it took a code or a receipt; the consumer can send both again",
        ),
    };
    Failure::new(
        code,
        format!("nothing was changed in {reference}: {message}"),
    )
}
