use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::domain::submission::approval::{Approval, ProposedChange};
use crate::domain::{DisplayStatus, Findings, ReceiptId, ReceiptSummary, Timestamp, Transition};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const REVOKE: Correction = Correction::REVOKE;

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn decision(seconds: u64) -> OperatorDecision {
    let (by, why) = ("asha".to_owned(), Some("Staff of the shop".to_owned()));
    OperatorDecision {
        by,
        at: later(seconds),
        why,
        confirmed: None,
        identity: None,
    }
}

fn open() -> Submission {
    let phone = serde_json::from_value("A".repeat(52).into()).expect("its form");
    Submission {
        phone,
        ..Submission::example()
    }
}

fn settled(transition: &Transition, has_receipt: bool) -> Submission {
    let receipt_id = has_receipt.then(|| ReceiptId::from_random([2; 16]));
    let open = Submission {
        receipt_id,
        ..open()
    };
    open.apply(transition, Findings::default(), later(1))
        .expect("open")
}

fn accepted(prize: Option<&str>, has_receipt: bool) -> Submission {
    settled(
        &Transition::Accept {
            entries: 3,
            prize: prize.map(str::to_owned),
        },
        has_receipt,
    )
}

fn prize_when_reopened(before: &Submission, keep_prize: bool) -> Option<String> {
    let revoke = Correction::Revoke {
        free_code: false,
        keep_prize,
    };
    let revoked = before.corrected(revoke, decision(2)).expect("accepted");
    let reopened = revoked.corrected(Correction::Reopen, decision(3));
    reopened.expect("rejected").settling.expect("open").prize
}

/// Its moment has another winner by then.
#[test]
fn prize_of_a_moment_does_not_come_back_when_reopened() {
    let before = accepted(Some("A kettle"), true);
    let prize = prize_when_reopened(&before, false);
    assert_eq!(prize.as_deref(), Some("A kettle"));
    let status = before.status.clone().winning("Airtime".to_owned());
    let before = Submission { status, ..before };
    assert_eq!(prize_when_reopened(&before, false), None);
}

#[test]
fn prize_that_the_winner_kept_is_not_given_again() {
    let before = accepted(Some("A kettle"), true);
    assert_eq!(prize_when_reopened(&before, true), None);
}

#[test]
fn reopened_submission_keeps_the_purchase_of_a_record_alone() {
    let summary = ReceiptSummary {
        date: None,
        branch: None,
        items_summary: None,
        counted_entries: None,
    };
    for receipt in [None, Some(summary)] {
        let purchase = Some("AB12CD3456".parse().expect("a code"));
        let kept = purchase.clone().filter(|_| receipt.is_some());
        let rejected = Submission {
            purchase,
            receipt,
            ..settled(&Transition::reject(MessageKey::Blocked), true)
        };
        let reopened = rejected.corrected(Correction::Reopen, decision(2));
        assert_eq!(reopened.expect("rejected").purchase, kept);
    }
}

#[test]
fn revoked_submission_loses_entries_and_prize_but_no_history() {
    let before = accepted(Some("A kettle"), true);
    let after = before.corrected(REVOKE, decision(2)).expect("accepted");
    let status = &after.status;
    assert_eq!(
        (status.state(), status.entries(), status.instant_win()),
        (State::Rejected, 0, None)
    );
    assert_eq!(status.review_status(), Some(ReviewStatus::Verified));
    assert_eq!(status.display_status(), DisplayStatus::NotAccepted);
    assert_eq!(
        (status.message_key(), status.is_terminal()),
        (MessageKey::Blocked, true)
    );
    assert_eq!(after.reasons, ["blocked", "revoked"]);
    assert_eq!(
        (after.history.last(), &after.decision),
        (Some(&before.state_now()), &Some(decision(2)))
    );
    assert_eq!(
        (after.prize_won(), after.is_revoked()),
        (Some("A kettle"), true)
    );
    assert_eq!(after.poll_after_seconds(later(2)), None);
    assert_eq!(
        after.corrected(REVOKE, decision(3)),
        Err(NotCorrectable::RevokedAlready)
    );
}

#[test]
fn reopened_submission_waits_for_an_operator_with_its_prize() {
    let revoked = accepted(Some("A kettle"), true)
        .corrected(REVOKE, decision(2))
        .expect("accepted");
    let approval = Approval {
        change: ProposedChange::Correct(Correction::Reopen),
        decision: decision(2),
    };
    let reopened = revoked
        .awaiting(approval)
        .corrected(Correction::Reopen, decision(3))
        .expect("rejected");
    assert_eq!(
        reopened.status.display_status(),
        DisplayStatus::ReceiptInReview
    );
    assert_eq!(
        (reopened.reasons.as_slice(), &reopened.approval),
        (&[REOPENED.to_owned()][..], &None)
    );
    let settling = reopened.settling.clone().expect("open");
    assert_eq!(
        (settling.next_step_at, settling.prize.as_deref()),
        (later(3), Some("A kettle"))
    );
    assert_eq!(
        settling.next_attempt_at(),
        None,
        "the service does nothing by itself"
    );
    assert_eq!(
        reopened.history.last(),
        Some(&revoked.state_now()),
        "who revoked it, and why"
    );
    assert!(!reopened.is_revoked());

    let code_only = settled(&Transition::reject(MessageKey::AlreadyUsed), false);
    let reopened = code_only
        .corrected(Correction::Reopen, decision(2))
        .expect("rejected");
    assert_eq!(reopened.status, SubmissionStatus::unknown());
    assert_eq!(
        reopened.corrected(Correction::Reopen, decision(3)),
        Err(NotCorrectable::NotSettled)
    );
    assert_eq!(
        reopened.corrected(REVOKE, decision(3)),
        Err(NotCorrectable::NotSettled)
    );
}

#[test]
fn reopening_needs_evidence_and_revoking_an_acceptance() {
    let rejected = settled(&Transition::reject(MessageKey::Blocked), true);
    assert_eq!(
        rejected.corrected(REVOKE, decision(2)),
        Err(NotCorrectable::Rejected)
    );
    let refused = Submission {
        code_key: None,
        receipt_id: None,
        ..rejected
    };
    assert_eq!(
        refused.corrected(Correction::Reopen, decision(2)),
        Err(NotCorrectable::WithoutEvidence)
    );
    let reopened = accepted(None, true).corrected(Correction::Reopen, decision(2));
    assert_eq!(reopened, Err(NotCorrectable::Accepted));
}

#[test]
fn a_submission_without_its_person_is_not_reopened() {
    let rejected = settled(&Transition::reject(MessageKey::Blocked), true);
    let erased = rejected.erased(rejected.entrant_id.clone());
    assert_eq!(
        erased.corrected(Correction::Reopen, decision(2)),
        Err(NotCorrectable::Erased)
    );
}

#[test]
fn proposal_changes_nothing_that_callers_see() {
    let before = accepted(Some("A kettle"), false);
    let approval = Approval {
        change: ProposedChange::Correct(REVOKE),
        decision: decision(2),
    };
    let after = before.awaiting(approval.clone());
    let expected = Submission {
        approval: Some(approval),
        revision: before.revision + 1,
        ..before
    };
    assert_eq!(after, expected);
    assert_eq!(
        after
            .corrected(REVOKE, decision(3))
            .expect("accepted")
            .approval,
        None
    );
}

#[test]
fn an_erased_submission_keeps_no_operators_words() {
    let revoked = accepted(None, true)
        .corrected(REVOKE, decision(2))
        .expect("accepted");
    let reopened = revoked
        .corrected(Correction::Reopen, decision(3))
        .expect("rejected");
    let approval = Approval {
        change: ProposedChange::Correct(Correction::Reopen),
        decision: decision(4),
    };
    let erased = reopened
        .awaiting(approval)
        .erased(reopened.entrant_id.clone());
    let text = serde_json::to_string(&erased).expect("JSON");
    assert!(
        text.contains("asha") && !text.contains("Staff of the shop"),
        "{text}"
    );
}

/// The next act of an operator or the service.
#[derive(Clone, Debug)]
enum Act {
    Correct(Correction),
    Apply(Transition),
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        any::<bool>().prop_map(|free_code| Act::Correct(Correction::Revoke {
            free_code,
            keep_prize: false
        })),
        Just(Act::Correct(Correction::Reopen)),
        (0u32..9, prop::option::of("[a-z]{1,8}"))
            .prop_map(|(entries, prize)| Act::Apply(Transition::Accept { entries, prize })),
        prop::sample::select(MessageKey::ALL.to_vec())
            .prop_map(|key| Act::Apply(Transition::reject(key))),
    ]
}

proptest! {
    #[test]
    fn whatever_operators_do_a_submission_counts_once_or_not_at_all(
        acts in prop::collection::vec(any_act(), 1..20), has_receipt in any::<bool>(),
    ) {
        let receipt_id = has_receipt.then(|| ReceiptId::from_random([2; 16]));
        let mut submission = Submission { receipt_id, ..open() };
        // The phone's places and entries, as the tables would hold them.
        let (mut places, mut entries) = (1i64, 0i64);
        for (seconds, act) in (1..).zip(acts) {
            let before = submission.clone();
            let after = match &act {
                Act::Correct(correction) => before.corrected(*correction, decision(seconds)).ok(),
                Act::Apply(transition) => before.apply(transition, Findings::default(), later(seconds)).ok(),
            };
            let Some(after) = after else { continue };
            places += i64::from(after.status.counts()) - i64::from(before.status.counts());
            entries += i64::from(after.status.entries()) - i64::from(before.status.entries());
            prop_assert_eq!(places, i64::from(after.status.counts()));
            prop_assert_eq!(entries, i64::from(after.status.entries()));
            prop_assert_eq!(after.revision, before.revision + 1);
            prop_assert_eq!(after.status.is_terminal(), after.settling.is_none());
            prop_assert_eq!(after.is_revoked(), matches!(act, Act::Correct(Correction::Revoke { .. })));
            prop_assert!(after.history.last() == Some(&before.state_now()), "nothing is silent");
            submission = after;
        }
    }
}
