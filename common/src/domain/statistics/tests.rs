//! Places where submissions and entrants count, and that changes add up.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::domain::submission::approval::{Approval, ProposedChange};
use crate::domain::submission::correction::Correction;
use crate::domain::submission::{Channel, DeclaredPurchase};
use crate::domain::{
    EntrantId, Findings, MessageKey, OperatorDecision, ReceiptId, ReceiptSummary, Transition,
};

const CREATED: Timestamp = Timestamp::from_millis(1_000_000);

fn later(seconds: u64) -> Timestamp {
    CREATED.after(Duration::from_secs(seconds))
}

fn with_receipt() -> Submission {
    Submission {
        receipt_id: Some(ReceiptId::from_random([2; 16])),
        ..Submission::example()
    }
}

fn apply(submission: &Submission, transition: &Transition, at: Timestamp) -> Submission {
    submission
        .apply(transition, Findings::default(), at)
        .expect("open")
}

fn accept(entries: u32) -> Transition {
    Transition::Accept {
        entries,
        prize: Some("A kettle".to_owned()),
    }
}

/// `metric day hour dimension records entries`, a line each.
fn shown(counters: &Counters) -> Vec<String> {
    let line = |(counter, amount): (&Counter, Amount)| {
        let Counter {
            metric,
            day,
            hour,
            dimension,
            ..
        } = counter;
        format!(
            "{} {day} {hour} {dimension} {} {}",
            metric.as_str(),
            amount.records,
            amount.entries
        )
    };
    counters.iter().map(line).collect()
}

#[test]
fn a_pending_submission_counts_by_hour_state_and_place() {
    let claimed = Some(DeclaredPurchase {
        branch: Some("kko".to_owned()),
        ..DeclaredPurchase::default()
    });
    let submission = Submission {
        region: Some("Mwanza".to_owned()),
        channel: Some(Channel::Ussd),
        claimed,
        ..with_receipt()
    };
    assert_eq!(
        shown(&of_submission(&submission)),
        [
            "days all  1970-01-01 1 0",
            "outcomes 1970-01-01 1970-01-01T00 pending#checking 1 0",
            "regions 1970-01-01  Mwanza 1 0",
            "channels 1970-01-01  ussd 1 0",
            "branches 1970-01-01  kko 1 0",
            "receipts 1970-01-01  checking# 1 0",
        ]
    );
}

#[test]
fn settling_moves_a_submission_from_one_cell_to_another() {
    let before = Submission {
        batch: Some("first".to_owned()),
        ..with_receipt()
    };
    let branch = Some("mwz".to_owned());
    let receipt = ReceiptSummary {
        date: None,
        branch,
        items_summary: None,
        counted_entries: None,
    };
    let found = Findings {
        receipt: Some(receipt),
        ..Findings::default()
    };
    let after = before.apply(&accept(3), found, later(59)).expect("open");
    assert_eq!(
        shown(&Counters::change(
            of_submission(&before),
            of_submission(&after)
        )),
        [
            "days all  1970-01-01 0 3",
            "outcomes 1970-01-01 1970-01-01T00 accepted#instant_win 1 3",
            "outcomes 1970-01-01 1970-01-01T00 pending#checking -1 0",
            "regions 1970-01-01   0 3",
            "branches 1970-01-01   -1 0",
            "branches 1970-01-01  mwz 1 3",
            "batches 1970-01-01  first 1 3",
            "prizes 1970-01-01  A kettle 1 3",
            "receipts 1970-01-01  checking# -1 0",
            "receipts 1970-01-01  verified#service 1 3",
            "decisions 1970-01-01  receipt#60 1 3",
        ]
    );
    assert!(Counters::change(of_submission(&after), of_submission(&after)).is_empty());
    let undone = Counters::change(of_submission(&after), Counters::default());
    assert!(undone.iter().all(|(_, amount)| amount.records == -1));
}

#[test]
fn persons_decision_is_told_from_a_refusal_at_once() {
    let decision = Some(OperatorDecision {
        by: "asha".to_owned(),
        at: later(60),
        why: None,
        confirmed: None,
        identity: None,
    });
    let declined = apply(
        &with_receipt(),
        &Transition::reject(MessageKey::ReceiptWrongStore),
        later(61),
    );
    let shown = shown(&of_submission(&Submission {
        decision,
        ..declined
    }));
    assert!(
        shown.contains(&"receipts 1970-01-01  declined#operator 1 0".to_owned()),
        "{shown:?}"
    );
    assert!(
        shown.contains(&"decisions 1970-01-01  receipt#120 1 0".to_owned()),
        "{shown:?}"
    );
    assert!(
        shown.contains(&"reviews 1970-01-01 1970-01-01T00 decided 1 0".to_owned()),
        "{shown:?}"
    );
    let refused = Submission {
        status: SubmissionStatus::rejected(MessageKey::Invalid),
        settling: None,
        revision: 0,
        ..Submission::example()
    };
    assert!(
        !of_submission(&refused)
            .iter()
            .any(|(counter, _)| counter.metric == Metric::Decisions)
    );
}

#[test]
fn a_change_after_the_decision_does_not_lengthen_the_wait() {
    let decided = apply(&with_receipt(), &accept(1), later(5));
    let waited =
        |submission: &Submission| decision_time::dimension(submission).expect("it was decided");
    assert_eq!(waited(&decided), "receipt#5");
    let changed = Submission {
        status: SubmissionStatus::rejected(MessageKey::Blocked),
        ..decided.changed(later(90_000))
    };
    assert_eq!(waited(&changed), "receipt#5");
}

#[test]
fn amounts_are_taken_from_each_other() {
    let of = |records, entries| Amount { records, entries };
    assert_eq!(of(3, 9).minus(of(1, 4)), of(2, 5));
    let counted = of_submission(&with_receipt());
    assert_eq!(
        (counted.clone().into_iter().count(), counted.is_empty()),
        (counted.len(), false)
    );
    assert!(Counters::change(counted.clone(), counted).is_empty());
}

#[test]
fn decision_at_once_waited_for_nothing_whatever_follows() {
    let at_once = Submission {
        status: SubmissionStatus::accepted(1, None),
        settling: None,
        revision: 0,
        ..Submission::example()
    };
    let correction = Correction::REVOKE;
    let decision = OperatorDecision {
        by: "asha".to_owned(),
        at: later(90),
        why: None,
        confirmed: None,
        identity: None,
    };
    let proposed = at_once.awaiting(Approval {
        change: ProposedChange::Correct(correction),
        decision: decision.clone(),
    });
    let revoked = at_once.corrected(correction, decision).expect("accepted");
    let erased = |submission: &Submission| submission.erased(EntrantId::tombstone([3; 16]));
    for changed in [&proposed, &revoked, &erased(&at_once), &erased(&revoked)] {
        assert_eq!(decision_time::dimension(changed), None, "{changed:?}");
    }
    let decided = apply(&with_receipt(), &accept(1), later(5));
    assert_eq!(
        decision_time::dimension(&erased(&decided)).as_deref(),
        Some("receipt#5")
    );
    let of_first_release = Submission {
        history: Vec::new(),
        ..decided
    };
    assert_eq!(
        decision_time::dimension(&of_first_release).as_deref(),
        Some("receipt#5")
    );
}

#[test]
fn long_texts_are_cut_so_that_they_fit_into_a_key() {
    let submission = Submission {
        region: Some("ä".repeat(500)),
        ..Submission::example()
    };
    let counters = of_submission(&submission);
    let longest = counters
        .iter()
        .map(|(counter, _)| counter.hour.len() + counter.dimension.len() + 1)
        .max();
    assert_eq!(longest, Some(401));
}

#[test]
fn only_regions_and_branches_are_free_text() {
    let free = Metric::ALL
        .into_iter()
        .filter(|metric| metric.is_free_text());
    assert!(free.eq([Metric::Regions, Metric::Branches]));
}

fn entrant(days: &[(&str, u32)], entries: u64) -> Counters {
    let days = days
        .iter()
        .map(|(day, count)| ((*day).to_owned(), *count))
        .collect();
    of_entrant(&EntrantCounts {
        scope: Submission::example().scope,
        days,
        entries,
    })
}

#[test]
fn a_phone_is_new_on_its_first_day_and_counts_by_its_entries() {
    assert!(
        entrant(&[], 0).is_empty(),
        "wrong codes alone make no entrant"
    );
    assert!(
        entrant(&[("2026-11-22", 0)], 0).is_empty(),
        "its only submission was rejected"
    );
    let one = entrant(&[("2026-11-22", 2)], 0);
    assert_eq!(
        shown(&one),
        [
            "new_phones 2026-11-22   1 0",
            "active_phones 2026-11-22   1 0",
            "entries_per_phone 2026-11-22  0 1 0",
        ]
    );
    let two = entrant(&[("2026-11-22", 2), ("2026-11-23", 1)], 4);
    assert_eq!(
        shown(&Counters::change(one, two.clone())),
        [
            "active_phones 2026-11-23   1 0",
            "entries_per_phone 2026-11-22  0 -1 0",
            "entries_per_phone 2026-11-22  3-5 1 4",
        ]
    );
    let first_rejected = entrant(&[("2026-11-22", 0), ("2026-11-23", 1)], 4);
    assert_eq!(
        shown(&Counters::change(two, first_rejected)),
        [
            "new_phones 2026-11-22   -1 0",
            "new_phones 2026-11-23   1 0",
            "active_phones 2026-11-22   -1 0",
            "entries_per_phone 2026-11-22  3-5 -1 -4",
            "entries_per_phone 2026-11-23  3-5 1 4",
        ]
    );
}

#[test]
fn every_number_of_entries_has_its_range() {
    for (entries, range) in [
        (0, "0"),
        (1, "1"),
        (2, "2"),
        (3, "3-5"),
        (5, "3-5"),
        (6, "6+"),
        (u64::MAX, "6+"),
    ] {
        assert_eq!(entries_range(entries), range);
        assert!(ENTRIES_RANGES.contains(&range));
    }
}

proptest! {
    #[test]
    fn the_changes_of_a_submission_add_up_to_what_it_is_in_the_end(
        steps in prop::collection::vec((0_u8..5, 1_u64..100_000, 0_u32..5), 0..8)
    ) {
        let mut submission = with_receipt();
        let mut numbers = of_submission(&submission);
        for (kind, seconds, entries) in steps {
            let transition = match kind {
                0 => accept(entries),
                1 => Transition::reject(MessageKey::ReceiptWrongStore),
                2 => Transition::Unanswered { retry_at: later(seconds) },
                3 => Transition::Review("unreadable"),
                _ => Transition::RetryAt(later(seconds)),
            };
            let Ok(after) = submission.apply(&transition, Findings::default(), later(seconds)) else { break };
            numbers.merge(Counters::change(of_submission(&submission), of_submission(&after)));
            submission = after;
        }
        prop_assert_eq!(&numbers, &of_submission(&submission));
        for metric in [Metric::Days, Metric::Outcomes, Metric::Regions, Metric::Branches, Metric::Receipts] {
            let records: i64 =
                numbers.iter().filter(|(counter, _)| counter.metric == metric).map(|(_, amount)| amount.records).sum();
            prop_assert_eq!(records, 1, "{:?}", metric);
        }
    }
}
