use super::approval::{Approval, ProposedChange};
use super::correction::Correction;
use super::transition::{Findings, Transition};
use super::*;
use crate::domain::Environment;
use crate::domain::partner::reply::UpstreamCode;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

impl Submission {
    /// Its partner is being asked.
    pub(crate) fn example() -> Self {
        Self {
            submission_id: SubmissionId::from_random([1; 24]),
            scope: Scope {
                campaign: "demo".parse().expect("a slug"),
                environment: Environment::Live,
            },
            entrant_id: EntrantId::from_record("0123456789abcdef0123456789abcdef"),
            phone: None,
            code_key: Some("demo#live#partner#1".to_owned()),
            batch: None,
            code_refusal: None,
            receipt_id: None,
            receipt: None,
            purchase: None,
            partner_code: Some("ABC123".parse().expect("a code")),
            upstream: None,
            status: SubmissionStatus::checking(),
            reasons: Vec::new(),
            day: "1970-01-01".to_owned(),
            region: None,
            channel: None,
            claimed: None,
            consent: None,
            decision: None,
            approval: None,
            spot_check: None,
            settling: Some(PendingSettlement::asking(NOW)),
            notify: false,
            revision: 7,
            created_at: NOW,
            updated_at: NOW,
            test_shift: None,
            request_id: None,
            history: Vec::new(),
        }
    }
}

/// The partner fails again at this minute.
fn fails_again(before: &Submission, anomaly: &str, minute: u64) -> Submission {
    let (begun_at, now) = (later(minute * 60), later(minute * 60 + 8));
    let settling = before.settling.clone().map(|settling| PendingSettlement {
        attempts_started: 1,
        ..settling
    });
    let begun = Submission {
        settling,
        ..before.changed(begun_at)
    };
    let found = Findings {
        anomaly: Some(anomaly.into()),
        ..Findings::default()
    };
    let transition = Transition::Unanswered {
        retry_at: later((minute + 1) * 60),
    };
    begun.apply(&transition, found, now).expect("open")
}

#[test]
fn day_without_an_answer_has_the_history_of_one_attempt() {
    let made = Submission::example();
    let day = (1..=60).fold(made.clone(), |before, minute| {
        fails_again(&before, "timeout", minute)
    });
    assert_eq!(day.revision, 7 + 2 * 60);
    assert_eq!(
        day.history,
        [
            made.state_now(),
            fails_again(&made, "timeout", 1).state_now()
        ]
    );
}

#[test]
fn the_history_keeps_the_first_state_and_the_latest() {
    let made = Submission::example();
    let mut submission = made.clone();
    for minute in 1..=60 {
        submission = fails_again(&submission, &format!("status_{minute}"), minute);
    }
    let anomalies: Vec<_> = submission
        .history
        .iter()
        .map(|state| state.anomaly.clone())
        .collect();
    assert_eq!(
        (anomalies.len(), &submission.history[0]),
        (12, &made.state_now())
    );
    assert_eq!(
        anomalies.last(),
        Some(&Some("status_59".to_owned())),
        "the present one comes later"
    );
}

#[test]
fn a_longer_history_of_an_earlier_release_is_cut() {
    let made = Submission::example();
    let state = |number: usize| PastState {
        reasons: vec![number.to_string()],
        ..made.state_now()
    };
    let long = Submission {
        history: (0..40).map(state).collect(),
        ..made.clone()
    };
    let kept = long.changed(later(1)).history;
    assert_eq!(
        (kept.len(), &kept[0], &kept[11]),
        (12, &state(0), &made.state_now())
    );
}

#[test]
fn a_step_that_was_started_is_under_way() {
    let under_way = |attempts_started| {
        let made = Submission::example();
        let settling = made.settling.clone().map(|settling| PendingSettlement {
            attempts_started,
            ..settling
        });
        Submission { settling, ..made }.state_now().is_under_way
    };
    assert_eq!([0, 1, 2].map(under_way), [false, true, true]);
    assert!(
        !Submission {
            settling: None,
            ..Submission::example()
        }
        .state_now()
        .is_under_way
    );
}

#[test]
fn erased_submission_keeps_its_outcome_and_no_person() {
    let decision = |by: &str, words: Option<&str>| OperatorDecision {
        by: by.to_owned(),
        at: NOW,
        why: words.map(str::to_owned),
        confirmed: Some(Confirmation {
            by: "baraka".to_owned(),
            why: words.map(str::to_owned),
            identity: None,
        }),
        identity: None,
    };
    let upstream = |message: Option<&str>| PartnerMessage {
        code: UpstreamCode::Text("20".to_owned()),
        message: message.map(str::to_owned),
    };
    let approval = |words| Approval {
        change: ProposedChange::Correct(Correction::Reopen),
        decision: decision("asha", words),
    };
    let past = |words| PastState {
        decision: Some(decision("juma", words)),
        ..Submission::example().state_now()
    };
    let person = Submission {
        phone: Some(serde_json::from_value("A".repeat(52).into()).expect("its form")),
        region: Some("Mwanza".to_owned()),
        claimed: Some(DeclaredPurchase::default()),
        upstream: Some(upstream(Some("Asha, you are in"))),
        decision: Some(decision("asha", Some("she called"))),
        approval: Some(approval(Some("her number"))),
        history: vec![past(Some("her sister called"))],
        ..Submission::example()
    };
    let tombstone = EntrantId::from_record("fedcba98765432100123456789abcdef");
    let expected = Submission {
        entrant_id: tombstone.clone(),
        upstream: Some(upstream(None)),
        decision: Some(decision("asha", None)),
        approval: Some(approval(None)),
        history: vec![past(None)],
        revision: 8,
        ..Submission::example()
    };
    assert_eq!(person.erased(tombstone), expected);
}

#[test]
fn retention_erases_a_settled_submission_once() {
    let open = Submission {
        region: Some("Mwanza".to_owned()),
        ..Submission::example()
    };
    assert_eq!(open.past_retention(), None);
    let reject = Transition::reject(MessageKey::Invalid);
    let settled = open.apply(&reject, Findings::default(), NOW).expect("open");
    let erased = settled.erased(settled.entrant_id.clone());
    assert_eq!(settled.past_retention(), Some(erased.clone()));
    assert_eq!(erased.past_retention(), Some(erased));
}

#[test]
fn a_campaign_with_webhooks_is_notified() {
    let notify = |webhooks| {
        let campaign = Campaign {
            webhooks,
            ..Campaign::example()
        };
        Submission::example().notifying(&campaign).notify
    };
    assert_eq!([0, 1].map(notify), [false, true]);
}

#[test]
fn key_of_the_code_is_read_in_its_scope() {
    let key = CodeKey::Partner("1".to_owned());
    assert_eq!(Submission::example().code_key(), Some(key));
}

#[test]
fn an_open_receipt_is_one_that_the_service_has_still_to_settle() {
    let receipt_id = Some(ReceiptId::from_random([2; 16]));
    let open = Submission {
        receipt_id,
        ..Submission::example()
    };
    assert!(open.has_open_receipt());
    assert!(
        !Submission::example().has_open_receipt(),
        "it has no receipt"
    );
    assert!(
        !Submission {
            settling: None,
            ..open.clone()
        }
        .has_open_receipt(),
        "it is settled"
    );
    let settling = open.settling.clone().map(|settling| PendingSettlement {
        assignee: Assignee::Operator,
        ..settling
    });
    assert!(
        !Submission { settling, ..open }.has_open_receipt(),
        "a person has to settle it"
    );
}

#[test]
fn only_an_accepted_submission_has_entries_and_perhaps_a_prize() {
    let shown = |status: &SubmissionStatus| {
        (
            status.message_key(),
            status.entries(),
            status.instant_win().map(str::to_owned),
        )
    };
    assert_eq!(
        shown(&SubmissionStatus::accepted(3, None)),
        (MessageKey::Entered, 3, None)
    );
    let prize = Some("A kettle".to_owned());
    assert_eq!(
        shown(&SubmissionStatus::accepted(2, prize.clone())),
        (MessageKey::InstantWin, 2, prize)
    );
    assert_eq!(
        shown(&SubmissionStatus::rejected(MessageKey::Blocked)),
        (MessageKey::Blocked, 0, None)
    );
    assert_eq!(
        shown(&SubmissionStatus::checking()),
        (MessageKey::Checking, 0, None)
    );
}

#[test]
fn it_is_asked_about_less_often_with_age() {
    let submission = Submission {
        settling: None,
        ..Submission::example()
    };
    for (age, expected) in [(0, 2), (29, 2), (30, 3), (299, 29), (300, 30), (1_000, 30)] {
        assert_eq!(
            submission.poll_after_seconds(later(age)),
            Some(expected),
            "after {age} s"
        );
    }
    let settled = submission
        .apply(
            &Transition::reject(MessageKey::Invalid),
            Findings::default(),
            NOW,
        )
        .expect("open");
    assert_eq!(settled.poll_after_seconds(NOW), None);
}

#[test]
fn polls_wait_for_the_next_step_and_for_a_persons_review() {
    let planned = |millis| {
        let next_step_at = Timestamp::from_millis(NOW.as_millis() + millis);
        let settling = PendingSettlement {
            next_step_at,
            ..PendingSettlement::due_at(NOW, None)
        };
        Submission {
            settling: Some(settling),
            ..Submission::example()
        }
    };
    assert_eq!(planned(45_000).poll_after_seconds(NOW), Some(45));
    assert_eq!(planned(45_001).poll_after_seconds(NOW), Some(46));
    assert_eq!(planned(1_000).poll_after_seconds(NOW), Some(2));
    assert_eq!(planned(45_000).poll_after_seconds(later(60)), Some(6));
    let reviewed = PendingSettlement::due_at(NOW, None).escalate(NOW);
    let reviewed = Submission {
        settling: Some(reviewed),
        ..Submission::example()
    };
    assert_eq!(reviewed.poll_after_seconds(NOW), Some(300));
}

#[test]
fn a_submission_is_accepted_since_it_was_accepted_last() {
    let made = Submission::example();
    assert_eq!(made.accepted_at(), None);
    let accept = |before: &Submission, at| Submission {
        status: SubmissionStatus::accepted(1, None),
        settling: None,
        ..before.changed(at)
    };
    let accepted = accept(&made, later(1));
    assert_eq!(accepted.accepted_at(), Some(later(1)));
    let reopened = Submission {
        status: SubmissionStatus::checking(),
        ..accepted.changed(later(2))
    };
    assert_eq!(reopened.accepted_at(), None);
    let again = accept(&reopened, later(3));
    assert_eq!(again.accepted_at(), Some(later(3)));
    let reworded = Submission {
        reasons: vec!["seen".to_owned()],
        ..again.changed(later(4))
    };
    assert_eq!(
        reworded.accepted_at(),
        Some(later(3)),
        "it was accepted all the time"
    );
}

#[test]
fn acceptances_are_changes_to_accepted() {
    for (states, times, is_first) in [
        (&[false][..], &[][..], false),
        (&[true], &[0], true),
        (&[false, true], &[1], true),
        (&[false, true, true], &[1], false),
        (&[false, true, false], &[1], false),
        (&[false, true, false, true], &[1, 3], false),
    ] {
        let past = (0..).zip(states).map(|(second, is_accepted)| PastState {
            at: later(second),
            status: match is_accepted {
                true => SubmissionStatus::accepted(1, None),
                false => SubmissionStatus::checking(),
            },
            ..Submission::example().state_now()
        });
        let mut history: Vec<_> = past.collect();
        let now = history.pop().expect("a state");
        let submission = Submission {
            status: now.status,
            updated_at: now.at,
            history,
            ..Submission::example()
        };
        let times: Vec<_> = times.iter().copied().map(later).collect();
        assert_eq!(
            submission.times_accepted().collect::<Vec<_>>(),
            times,
            "{states:?}"
        );
        assert_eq!(submission.is_first_acceptance(), is_first, "{states:?}");
    }
}
