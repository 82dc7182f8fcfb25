use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::domain::partner::reply::UpstreamCode;
use crate::domain::receipt::judgement::Reason;
use crate::domain::retry::LookupFailures;
use crate::domain::{DisplayStatus, PartnerProgress, ReceiptId};

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn accept(entries: u32) -> Transition {
    Transition::Accept {
        entries,
        prize: None,
    }
}

fn unanswered() -> Transition {
    Transition::Unanswered {
        retry_at: later(60),
    }
}

fn escalate() -> Transition {
    Transition::Escalate {
        reason: Some("step_never_finished"),
    }
}

/// A step is under way; it has a prize and an earlier anomaly.
fn submission() -> Submission {
    let settling = PendingSettlement {
        attempts_started: 1,
        anomaly: Some("earlier".into()),
        ..PendingSettlement::due_at(NOW, Some("A kettle".to_owned()))
    };
    Submission {
        settling: Some(settling),
        ..Submission::example()
    }
}

fn summary() -> ReceiptSummary {
    ReceiptSummary {
        date: None,
        branch: Some("mwz".to_owned()),
        items_summary: None,
        counted_entries: None,
    }
}

fn applied(transition: &Transition) -> Submission {
    submission()
        .apply(transition, Findings::default(), later(1))
        .expect("open")
}

#[test]
fn a_settled_submission_forgets_its_plan_and_the_partners_code() {
    let before = submission();
    for transition in [accept(3), Transition::reject(MessageKey::Invalid)] {
        let after = before
            .apply(&transition, Findings::default(), later(1))
            .expect("open");
        let expected = Submission {
            status: after.status.clone(),
            reasons: transition.reasons(),
            settling: None,
            partner_code: None,
            revision: 8,
            updated_at: later(1),
            history: vec![before.state_now()],
            ..before.clone()
        };
        assert!(after.status.is_terminal());
        assert_eq!(after, expected);
        assert_eq!(
            after.apply(&escalate(), Findings::default(), later(2)),
            Err(AlreadySettled)
        );
    }
}

#[test]
fn unanswered_submission_keeps_the_code_and_plans_a_step() {
    let before = submission();
    let planned = before
        .settling
        .as_ref()
        .map(|settling| settling.retry_at(later(60)));
    let expected = Submission {
        status: SubmissionStatus::unknown(),
        settling: planned,
        revision: 8,
        updated_at: later(1),
        history: vec![before.state_now()],
        ..before.clone()
    };
    assert_eq!(applied(&unanswered()), expected);
}

#[test]
fn a_retry_changes_the_plan_alone() {
    let after = applied(&Transition::RetryAt(later(60)));
    let settling = after.settling.expect("open");
    assert_eq!(
        (settling.next_step_at, settling.attempts_started),
        (later(60), 0)
    );
    assert_eq!(after.status, submission().status);
}

#[test]
fn an_open_submission_without_a_plan_is_settled_already() {
    let odd = Submission {
        settling: None,
        ..submission()
    };
    assert_eq!(
        odd.apply(&unanswered(), Findings::default(), NOW),
        Err(AlreadySettled)
    );
}

#[test]
fn operator_gets_the_submission_with_reason_and_prize() {
    let none: [&str; 0] = [];
    for (transition, state, is_reviewed, reasons) in [
        (
            Transition::Review("no_qr_code"),
            State::Pending,
            true,
            &["no_qr_code"][..],
        ),
        (escalate(), State::Unknown, false, &["step_never_finished"]),
        (
            Transition::Escalate { reason: None },
            State::Unknown,
            false,
            &none,
        ),
        (
            Transition::Stay(MessageKey::Checking),
            State::Unknown,
            false,
            &none,
        ),
        (
            Transition::Stay(MessageKey::ReceiptReceived),
            State::Pending,
            false,
            &none,
        ),
    ] {
        let receipt_id = Some(ReceiptId::from_random([2; 16]));
        let before = Submission {
            receipt_id,
            ..submission()
        };
        let after = before
            .apply(&transition, Findings::default(), NOW)
            .expect("open");
        let settling = after.settling.expect("open");
        assert_eq!(
            (settling.assignee, settling.prize.as_deref()),
            (Assignee::Operator, Some("A kettle"))
        );
        assert_eq!(
            (after.status.state(), after.status.review_status().is_some()),
            (state, is_reviewed)
        );
        assert_eq!(after.reasons, reasons);
    }
}

#[test]
fn accepted_submission_wins_its_own_prize_or_its_codes() {
    let won = |prize: Option<&str>| {
        let transition = Transition::Accept {
            entries: 2,
            prize: prize.map(str::to_owned),
        };
        let status = applied(&transition).status;
        (status.entries(), status.instant_win().map(str::to_owned))
    };
    assert_eq!(won(None), (2, Some("A kettle".to_owned())));
    assert_eq!(won(Some("A mug")), (2, Some("A mug".to_owned())));
}

#[test]
fn a_rejection_gives_its_key_and_what_the_key_does_not_say() {
    let reasons = |reason| {
        applied(&Transition::Reject {
            key: MessageKey::ReceiptNotFound,
            reason,
        })
        .reasons
    };
    assert_eq!(reasons(None), ["receipt_not_found"]);
    assert_eq!(
        reasons(Some("receipt_cancelled")),
        ["receipt_not_found", "receipt_cancelled"]
    );
    assert_eq!(reasons(Some("receipt_not_found")), ["receipt_not_found"]);
}

#[test]
fn findings_replace_what_was_known_and_nothing_else_does() {
    let progress = Progress::TaxAuthority(LookupFailures {
        missing: 1,
        ..LookupFailures::default()
    });
    let found = Findings {
        progress: Some(progress),
        anomaly: Some("now".into()),
        receipt: Some(summary()),
        purchase: Some("AB12CD3456".parse().expect("a code")),
        upstream: Some(PartnerMessage {
            code: UpstreamCode::Number(20),
            message: None,
        }),
    };
    let known = |submission: &Submission| {
        let settling = submission.settling.clone().expect("open");
        Findings {
            progress: Some(settling.progress),
            anomaly: settling.anomaly,
            receipt: submission.receipt.clone(),
            purchase: submission.purchase.clone(),
            upstream: submission.upstream.clone(),
        }
    };
    let after = submission()
        .apply(&unanswered(), found.clone(), NOW)
        .expect("open");
    assert_eq!(known(&after), found);
    let later = after
        .apply(&unanswered(), Findings::default(), NOW)
        .expect("open");
    assert_eq!(known(&later), found);
}

#[test]
fn only_a_declined_receipt_leaves_its_purchase_free() {
    let record = FiscalRecord::example();
    let key = MessageKey::ReceiptNotFound;
    for (verdict, transition, is_free) in [
        (ReceiptVerdict::Verified { entries: 2 }, accept(2), false),
        (
            ReceiptVerdict::Review(Reason::TooManyEntries),
            Transition::Review("too_many_entries"),
            false,
        ),
        (
            ReceiptVerdict::Declined(key, Reason::Cancelled),
            Transition::Reject {
                key,
                reason: Some("receipt_cancelled"),
            },
            true,
        ),
    ] {
        let judgement = Judgement {
            verdict,
            summary: summary(),
        };
        let findings = Findings {
            receipt: Some(summary()),
            purchase: (!is_free).then(|| record.code.clone()),
            ..Findings::default()
        };
        assert_eq!(judgement.into_step(&record), (transition, findings));
    }
}

#[test]
fn a_lost_step_is_remembered_by_every_plan() {
    let asking = PendingSettlement {
        attempts_started: 2,
        ..PendingSettlement::asking(NOW)
    };
    let before = Submission {
        settling: Some(asking),
        ..Submission::example()
    };
    for transition in [unanswered(), Transition::RetryAt(NOW), escalate()] {
        let after = before
            .apply(&transition, Findings::default(), NOW)
            .expect("open");
        let expected = PartnerProgress {
            maybe_redeemed: true,
            ..PartnerProgress::default()
        };
        assert_eq!(
            after.settling.map(|settling| settling.progress),
            Some(Progress::Partner(expected))
        );
    }
}

#[test]
fn a_receipt_is_verified_or_declined_by_what_settles_it() {
    let review_status = |transition: &Transition, has_receipt: bool| {
        let receipt_id = has_receipt.then(|| ReceiptId::from_random([2; 16]));
        let before = Submission {
            receipt_id,
            ..submission()
        };
        before
            .apply(transition, Findings::default(), NOW)
            .expect("open")
            .status
            .review_status()
    };
    let review = Transition::Review("no_qr_code");
    let decline = Transition::reject(MessageKey::ReceiptWrongStore);
    assert_eq!(
        review_status(&accept(1), true),
        Some(ReviewStatus::Verified)
    );
    assert_eq!(review_status(&decline, true), Some(ReviewStatus::Declined));
    assert_eq!(
        review_status(&Transition::reject(MessageKey::Blocked), true),
        None
    );
    assert_eq!(
        review_status(&review, true),
        Some(ReviewStatus::UnderReview)
    );
    for transition in [accept(1), decline, review] {
        assert_eq!(review_status(&transition, false), None);
    }
}

fn any_transition() -> impl Strategy<Value = Transition> {
    prop_oneof![
        (0u32..9, prop::option::of("[a-z]{1,8}"))
            .prop_map(|(entries, prize)| Transition::Accept { entries, prize }),
        prop::sample::select(MessageKey::ALL.to_vec()).prop_map(Transition::reject),
        prop::sample::select(MessageKey::ALL.to_vec()).prop_map(Transition::Stay),
        Just(Transition::Review("no_qr_code")),
        Just(escalate()),
        Just(unanswered()),
        Just(Transition::RetryAt(later(60))),
    ]
}

fn any_status() -> impl Strategy<Value = SubmissionStatus> {
    prop::sample::select(vec![
        SubmissionStatus::checking(),
        SubmissionStatus::receipt_received(),
        SubmissionStatus::unknown(),
        SubmissionStatus::accepted(1, None),
        SubmissionStatus::rejected(MessageKey::Invalid),
    ])
}

proptest! {
    #[test]
    fn settled_submission_stays_and_an_open_one_settles_once(
        status in any_status(),
        transitions in prop::collection::vec(any_transition(), 1..6),
        has_receipt in any::<bool>(),
    ) {
        let mut status = status;
        for transition in transitions {
            let settles = matches!(transition, Transition::Accept { .. } | Transition::Reject { .. });
            prop_assert_eq!(transition.next_step(NOW).is_none(), settles);
            match status.after(&transition, None, has_receipt) {
                Err(AlreadySettled) => prop_assert!(status.is_terminal()),
                Ok(next) => {
                    prop_assert!(!status.is_terminal());
                    prop_assert_eq!(next.is_terminal(), settles);
                    prop_assert_eq!(next.counts(), !matches!(transition, Transition::Reject { .. }));
                    prop_assert!(next.state() == State::Accepted || next.entries() == 0);
                    prop_assert!(has_receipt || next.review_status().is_none());
                    status = next;
                }
            }
        }
    }

    #[test]
    fn only_a_fault_of_the_receipt_asks_for_the_consumers_attention(
        key in prop::sample::select(MessageKey::ALL.to_vec()), reviewed_first in any::<bool>()
    ) {
        let mut open = SubmissionStatus::receipt_received();
        if reviewed_first {
            open = open.after(&Transition::Review("no_qr_code"), None, true).expect("open");
            prop_assert_eq!(open.display_status(), DisplayStatus::ReceiptInReview);
        }
        let shown = open.after(&Transition::reject(key), None, true).expect("open").display_status();
        let expected =
            if key.blames_receipt() { DisplayStatus::NeedsAttention } else { DisplayStatus::NotAccepted };
        prop_assert_eq!(shown, expected);
    }
}
