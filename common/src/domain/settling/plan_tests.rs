use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

/// A first step after three unanswered requests.
fn asked() -> PendingSettlement {
    PendingSettlement {
        assignee: Assignee::Service,
        next_step_at: NOW.after(STEP_LEASE),
        attempts_started: 1,
        progress: Progress::Partner(PartnerProgress {
            attempts: 3,
            maybe_redeemed: false,
            unanswered_since: Some(NOW),
        }),
        prize: Some("A kettle".to_owned()),
        anomaly: Some(Anomaly::from("timeout")),
    }
}

fn lost() -> PendingSettlement {
    PendingSettlement {
        attempts_started: 2,
        ..asked()
    }
}

/// Progress once the loss is noticed.
fn maybe_redeemed() -> PartnerProgress {
    PartnerProgress {
        maybe_redeemed: true,
        ..asked().partner_progress()
    }
}

#[test]
fn a_started_step_belongs_to_one_worker_until_its_lease_ends() {
    let fresh = PendingSettlement::due_at(NOW, None);
    let StepLease::Leased(started) = fresh.lease(NOW) else {
        panic!("due at once")
    };
    let lease_end = NOW.after(STEP_LEASE);
    assert_eq!(
        started.lease(Timestamp::from_millis(lease_end.as_millis() - 1)),
        StepLease::NotDue
    );
    assert_eq!(
        started.next_attempt_at(),
        None,
        "a caller does not wait for the end of a lease"
    );
    assert!(matches!(started.lease(lease_end), StepLease::Leased(_)));
}

#[test]
fn step_that_crashes_its_worker_is_given_up() {
    let mut pending = PendingSettlement::due_at(NOW, None);
    let mut now = NOW;
    for _ in 0..5 {
        let StepLease::Leased(started) = pending.lease(now) else {
            panic!("due")
        };
        pending = started;
        now = now.after(STEP_LEASE);
    }
    assert_eq!(pending.lease(now), StepLease::Exhausted);
    let ended = pending.retry_at(later(60));
    assert_eq!(ended.next_attempt_at(), Some(later(60)));
    assert!(matches!(ended.lease(later(60)), StepLease::Leased(_)));
}

#[test]
fn an_operators_step_is_never_due() {
    let waiting = PendingSettlement::due_at(NOW, None).escalate(later(5));
    assert_eq!(waiting.lease(later(1_000_000)), StepLease::NotDue);
    assert_eq!(waiting.next_attempt_at(), None);
}

#[test]
fn asking_the_partner_starts_the_first_step() {
    let expected = PendingSettlement {
        progress: Progress::Partner(PartnerProgress::default()),
        attempts_started: 1,
        next_step_at: NOW.after(STEP_LEASE),
        ..PendingSettlement::due_at(NOW, None)
    };
    assert_eq!(PendingSettlement::asking(NOW), expected);
    let receipt = PendingSettlement::due_at(NOW, None);
    assert_eq!(receipt.progress.dependency(), Dependency::TaxAuthority);
}

#[test]
fn a_step_is_under_way_from_its_start_to_the_end_of_its_lease() {
    let asking = PendingSettlement::asking(NOW);
    let lease_end = NOW.after(STEP_LEASE);
    assert!(asking.is_under_way(NOW));
    assert!(asking.is_under_way(Timestamp::from_millis(lease_end.as_millis() - 1)));
    assert!(!asking.is_under_way(lease_end));
    let planned = PendingSettlement {
        attempts_started: 0,
        ..asking
    };
    assert!(!planned.is_under_way(NOW));
}

#[test]
fn second_start_in_a_row_may_have_asked_the_partner() {
    let is_maybe_redeemed = |attempts_started, maybe_redeemed| {
        let progress = Progress::Partner(PartnerProgress {
            maybe_redeemed,
            ..PartnerProgress::default()
        });
        let pending = PendingSettlement {
            attempts_started,
            progress,
            ..asked()
        };
        pending.partner_progress().maybe_redeemed
    };
    assert!(!is_maybe_redeemed(0, false));
    assert!(!is_maybe_redeemed(1, false));
    assert!(is_maybe_redeemed(2, false));
    assert!(is_maybe_redeemed(3, false));
    assert!(is_maybe_redeemed(0, true));
}

#[test]
fn a_retry_keeps_what_is_known_and_remembers_a_lost_step() {
    let expected = PendingSettlement {
        attempts_started: 0,
        progress: Progress::Partner(maybe_redeemed()),
        next_step_at: later(60),
        ..asked()
    };
    assert_eq!(lost().retry_at(later(60)), expected);
}

#[test]
fn an_operator_gets_everything_that_is_known() {
    let expected = PendingSettlement {
        assignee: Assignee::Operator,
        attempts_started: 0,
        progress: Progress::Partner(maybe_redeemed()),
        next_step_at: NOW,
        ..asked()
    };
    assert_eq!(lost().escalate(NOW), expected);
}

#[test]
fn a_resumed_submission_is_due_at_once_and_counts_anew() {
    let waiting = PendingSettlement {
        assignee: Assignee::Operator,
        ..lost()
    };
    let resumed = waiting.resumed(NOW);
    let expected = PendingSettlement {
        assignee: Assignee::Service,
        attempts_started: 0,
        progress: Progress::Partner(PartnerProgress {
            unanswered_since: None,
            ..maybe_redeemed()
        }),
        next_step_at: NOW,
        ..asked()
    };
    assert_eq!(resumed, expected);
    assert!(matches!(resumed.lease(NOW), StepLease::Leased(_)));
    let failures = LookupFailures {
        missing: 2,
        ..LookupFailures::default()
    };
    let progress = Progress::TaxAuthority(failures);
    let receipt = PendingSettlement {
        progress,
        ..PendingSettlement::due_at(NOW, None)
    };
    assert_eq!(receipt.escalate(NOW).lookup_failures(), failures);
    assert_eq!(
        receipt.escalate(NOW).resumed(NOW),
        PendingSettlement::due_at(NOW, None)
    );
}

#[test]
fn the_index_names_dependencies() {
    assert_eq!(Dependency::ALL.map(Dependency::as_str), ["tax", "partner"]);
}

#[test]
fn the_words_of_a_response_do_not_print() {
    let anomaly = Anomaly {
        summary: "page_changed".to_owned(),
        excerpt: Some("10:15:30".to_owned()),
    };
    let printed = format!("{anomaly:?}");
    assert!(
        printed.contains("page_changed") && !printed.contains("10:15"),
        "{printed}"
    );
}

#[test]
fn records_are_read_as_they_were_written() {
    for pending in [asked(), PendingSettlement::due_at(NOW, None).escalate(NOW)] {
        let record = serde_json::to_string(&pending).expect("writable");
        assert_eq!(
            serde_json::from_str::<PendingSettlement>(&record).expect("readable"),
            pending,
            "{record}"
        );
    }
}
