//! What each way of planning the next step changes, and what it keeps.

use std::time::Duration;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn lookup_failures() -> LookupFailures {
    LookupFailures { missing: 2, ..LookupFailures::default() }
}

/// Under way, after questions and answers of every kind.
fn used() -> PendingSettlement {
    PendingSettlement {
        assignee: Assignee::Service,
        next_step_at: later(90),
        unfinished: 1,
        dependency: Dependency::Partner,
        asked: 3,
        may_have_arrived: false,
        silent_since: Some(NOW),
        lookup_failures: lookup_failures(),
        prize: Some("A kettle".to_owned()),
        anomaly: Some(Anomaly::from("partner_silent")),
    }
}

#[test]
fn asking_begins_the_first_step_at_once() {
    let asking = PendingSettlement::asking(NOW);
    let expected = PendingSettlement {
        dependency: Dependency::Partner,
        unfinished: 1,
        next_step_at: later(90),
        ..PendingSettlement::at_once(NOW, None)
    };
    assert_eq!(asking, expected);
    assert_eq!(PendingSettlement::at_once(NOW, None).dependency, Dependency::TaxAuthority);
}

#[test]
fn a_step_is_under_way_from_when_it_is_begun_until_it_is_lost() {
    let asking = PendingSettlement::asking(NOW);
    assert!(asking.is_under_way(NOW));
    assert!(asking.is_under_way(Timestamp::from_millis(later(90).as_millis() - 1)));
    assert!(!asking.is_under_way(later(90)));
    assert!(!asking.is_under_way(later(91)));
    let planned = PendingSettlement { unfinished: 0, ..asking };
    assert!(!planned.is_under_way(NOW));
}

#[test]
fn a_second_step_in_a_row_means_that_the_first_was_lost() {
    let after = |unfinished, may_have_arrived| PendingSettlement { unfinished, may_have_arrived, ..used() };
    assert!(!after(0, false).may_have_arrived());
    assert!(!after(1, false).may_have_arrived());
    assert!(after(2, false).may_have_arrived());
    assert!(after(3, false).may_have_arrived());
    assert!(after(0, true).may_have_arrived());
}

#[test]
fn another_step_keeps_what_is_known_and_remembers_a_lost_one() {
    let lost = PendingSettlement { unfinished: 2, ..used() };
    let (wait, counted) =
        (Duration::from_secs(60), LookupFailures { missing: 3, ..LookupFailures::default() });
    let again = lost.again_after(wait, counted, NOW, RetrySpeedup::default());
    let expected = PendingSettlement {
        unfinished: 0,
        may_have_arrived: true,
        lookup_failures: counted,
        next_step_at: later(60),
        ..used()
    };
    assert_eq!(again, expected);
}

#[test]
fn a_person_gets_it_with_all_that_is_known() {
    let lost = PendingSettlement { unfinished: 2, ..used() };
    let handed = lost.escalate(NOW);
    let expected = PendingSettlement {
        assignee: Assignee::Operator,
        unfinished: 0,
        may_have_arrived: true,
        next_step_at: NOW,
        ..used()
    };
    assert_eq!(handed, expected);
}

#[test]
fn resumed_it_is_due_at_once_and_starts_counting_anew() {
    let lost = PendingSettlement { assignee: Assignee::Operator, unfinished: 2, ..used() };
    let resumed = lost.resumed(NOW);
    let expected = PendingSettlement {
        assignee: Assignee::Service,
        unfinished: 0,
        may_have_arrived: true,
        silent_since: None,
        lookup_failures: LookupFailures::default(),
        next_step_at: NOW,
        ..used()
    };
    assert_eq!(resumed, expected);
    assert!(matches!(resumed.claim(NOW), StepClaim::Claimed(_)));
}

#[test]
fn the_names_of_counterparts_stand_in_the_index() {
    assert_eq!(Dependency::ALL.map(Dependency::as_str), ["tax", "partner"]);
}

#[test]
fn what_was_said_in_words_does_not_print() {
    let anomaly = Anomaly { what: "page_changed".to_owned(), excerpt: Some("10:15:30".to_owned()) };
    let printed = format!("{anomaly:?}");
    assert!(printed.contains("page_changed") && !printed.contains("10:15"), "{printed}");
}
