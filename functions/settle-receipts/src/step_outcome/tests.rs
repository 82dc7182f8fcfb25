//! Outcomes of the tax authority's answers, and failures counted.

mod example;

use std::time::Duration;

use common::domain::RetrySpeedup;
use common::upstream::http_client::TransportError;
use common::upstream::tax_authority::answer::UnexpectedPage;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(100_000_000);

fn retry() -> RetryContext {
    RetryContext {
        now: NOW,
        speedup: RetrySpeedup::default(),
        jitter: 0.5,
    }
}

fn page() -> LookupAnswer {
    LookupAnswer::Unexpected(Box::new(UnexpectedPage {
        final_path: "/error".to_owned(),
        status: 200,
        excerpt: "Karibu".to_owned(),
        why: "unknown_page",
    }))
}

/// A step's log line, a moment after the submission.
fn logged(outcome: &StepOutcome) -> JobOutcome {
    outcome.logged(&example::submission(NOW))
}

#[test]
fn late_receipt_alone_keeps_no_submission_open_too_long() {
    let created_at = Timestamp::from_millis(NOW.as_millis() - 60 * 60 * 1_000);
    let old = Submission {
        updated_at: NOW,
        ..example::submission(created_at)
    };
    let metrics = |obstacle| {
        let stays: StepOutcome = Transition::Stay(MessageKey::Checking).into();
        StepOutcome { obstacle, ..stays }.logged(&old).metrics
    };
    assert_eq!(metrics(None), []);
    assert_eq!(metrics(Some(LookupAnswer::NotFoundYet.as_str())), []);
    assert_eq!(metrics(Some("service_failed")), [("PendingTooLong", 1)]);
}

#[test]
fn a_step_that_started_too_often_is_logged_as_that() {
    let exhausted = StepOutcome::exhausted(&example::submission(NOW));
    let escalated = vec![("EscalatedToOperator", 1)];
    assert_eq!(
        (logged(&exhausted).outcome, logged(&exhausted).metrics),
        (ATTEMPTS_EXHAUSTED, escalated)
    );
}

#[test]
fn an_obstacle_is_counted_by_who_has_to_act() {
    let metrics = |obstacle: LookupAnswer| {
        let met = StepOutcome {
            obstacle: Some(obstacle.as_str()),
            ..StepOutcome::review("any")
        };
        (logged(&met).outcome, logged(&met).metrics)
    };
    assert_eq!(
        metrics(page()),
        ("unexpected_page", vec![("TaxAuthorityUnreadable", 1)])
    );
    assert_eq!(
        metrics(LookupAnswer::RefererRefused),
        ("referer_refused", vec![("TaxAuthorityUnreadable", 1)])
    );
    let trouble = || LookupAnswer::Unavailable(TransportError::ConnectTimeout.into());
    assert_eq!(
        metrics(trouble()),
        ("trouble", vec![("TaxAuthorityDown", 1)])
    );
    assert_eq!(
        metrics(LookupAnswer::Throttled),
        ("throttled", vec![("TaxAuthorityDown", 1)])
    );
    assert_eq!(
        metrics(LookupAnswer::NotFoundYet),
        (LookupAnswer::NotFoundYet.as_str(), vec![])
    );
    let given_up = logged(&Transition::Escalate { reason: None }.into());
    assert_eq!(
        (given_up.outcome, given_up.metrics),
        ("unanswered", vec![("EscalatedToOperator", 1)])
    );
}

#[test]
fn every_outcome_has_a_name_in_the_log() {
    let outcome = |transition: Transition| logged(&transition.into()).outcome;
    assert_eq!(
        outcome(Transition::Accept {
            entries: 1,
            prize: None
        }),
        "accepted"
    );
    assert_eq!(outcome(Transition::reject(MessageKey::Blocked)), "blocked");
    assert_eq!(outcome(Transition::Review("no_qr_code")), "under_review");
    assert_eq!(outcome(Transition::RetryAt(NOW)), "again_later");
    assert_eq!(
        outcome(Transition::Unanswered { retry_at: NOW }),
        "again_later"
    );
    assert_eq!(outcome(Transition::Stay(MessageKey::Checking)), "stays");
}

#[test]
fn an_operator_sees_what_was_unexpected() {
    let told =
        |answer: LookupAnswer| anomaly(&answer).map(|anomaly| (anomaly.summary, anomaly.excerpt));
    let page = told(page()).expect("something to tell");
    assert_eq!(
        page,
        (
            "unknown_page at /error (status 200)".to_owned(),
            Some("Karibu".to_owned())
        )
    );
    let trouble = LookupAnswer::Unavailable(TransportError::ConnectTimeout.into());
    assert_eq!(told(trouble), Some(("connect_timeout".to_owned(), None)));
    assert!(told(LookupAnswer::RefererRefused).is_some());
    for expected in [
        LookupAnswer::WrongTime,
        LookupAnswer::NotFoundYet,
        LookupAnswer::Throttled,
    ] {
        assert_eq!(told(expected), None);
    }
}

/// One more failure after `failures`.
fn after(failures: LookupFailures, failure: LookupFailure) -> StepOutcome {
    let mut submission = example::submission(NOW);
    let progress = Progress::TaxAuthority(failures);
    submission.settling = submission.settling.map(|pending| PendingSettlement {
        progress,
        ..pending
    });
    StepOutcome::from_lookup_failure(failure, &submission, Some("why"), retry())
}

#[test]
fn a_failed_look_up_is_retried_with_one_more_failure_counted() {
    let outcome = after(LookupFailures::default(), LookupFailure::Missing);
    let failures = LookupFailures {
        missing: 1,
        ..LookupFailures::default()
    };
    assert_eq!(
        outcome.transition,
        Transition::RetryAt(NOW.after(Duration::from_mins(15)))
    );
    assert_eq!(
        outcome.findings.progress,
        Some(Progress::TaxAuthority(failures))
    );
}

#[test]
fn receipt_that_never_comes_is_rejected() {
    let missing = LookupFailures {
        missing: 6,
        ..LookupFailures::default()
    };
    let rejected = Transition::reject(MessageKey::ReceiptNotFound);
    assert_eq!(after(missing, LookupFailure::Missing).transition, rejected);
    let unanswered_since = Some(Timestamp::from_millis(
        NOW.as_millis() - 24 * 60 * 60 * 1_000,
    ));
    let unanswered = LookupFailures {
        unanswered_since,
        ..LookupFailures::default()
    };
    let escalated = Transition::Escalate {
        reason: Some("why"),
    };
    assert_eq!(
        after(unanswered, LookupFailure::Throttled).transition,
        escalated
    );
}

#[test]
fn failure_of_the_service_is_retried_like_the_authoritys() {
    let submission = example::submission(NOW);
    let failed = StepOutcome::from_failure(&submission, retry());
    let (failures, decision) = LookupFailures::default().after(LookupFailure::Failed, retry());
    let RetryDecision::RetryAfter(wait) = decision else {
        panic!("the first one is retried")
    };
    assert_eq!(failed.transition, Transition::RetryAt(NOW.after(wait)));
    assert_eq!(
        failed.findings.progress,
        Some(Progress::TaxAuthority(failures))
    );
    assert_eq!(
        (logged(&failed).outcome, failed.findings.anomaly.is_some()),
        ("service_failed", true)
    );
}

#[test]
fn submission_without_its_purchase_shows_the_same_receipt() {
    let receipt = Some(ReceiptSummary::made_up(None));
    let outcome = StepOutcome::already_used(receipt.clone());
    let after = outcome.apply(&example::submission(NOW), NOW).expect("open");
    assert_eq!((after.receipt, after.purchase), (receipt, None));
    assert_eq!(after.reasons, ["receipt_already_used"]);
}

#[test]
fn a_submission_that_waits_says_for_what() {
    let outcome = StepOutcome::wait_until(NOW, "phone_throttled");
    assert_eq!(
        outcome,
        StepOutcome {
            obstacle: Some("phone_throttled"),
            ..Transition::RetryAt(NOW).into()
        }
    );
}

#[test]
fn a_test_receipt_is_verified_with_made_up_contents_or_has_none() {
    let campaign = example::campaign();
    let outcome = |sentinel| {
        StepOutcome::from_sentinel(sentinel, &campaign, State::Pending, retry())
            .findings
            .receipt
    };
    let verified = ReceiptSummary::made_up(campaign.receipt.as_ref());
    assert_eq!(outcome(ReceiptSentinel::Verified), Some(verified));
    assert_eq!(outcome(ReceiptSentinel::Review), None);
}

#[test]
fn whatever_keeps_a_receipt_open_is_counted_and_recorded() {
    let (campaign, submission) = (example::campaign(), example::submission(NOW));
    let rules = campaign.receipt.as_ref().expect("it takes receipts");
    let outcome = |answer: &LookupAnswer| {
        StepOutcome::from_answer(answer, &campaign, rules, &submission, retry())
    };
    for answer in [
        page(),
        LookupAnswer::Unavailable(TransportError::ConnectTimeout.into()),
        LookupAnswer::Throttled,
    ] {
        let failure = if answer == LookupAnswer::Throttled {
            LookupFailure::Throttled
        } else {
            LookupFailure::Failed
        };
        let StepOutcome {
            findings,
            obstacle,
            transition,
            ..
        } = outcome(&answer);
        let expected = StepOutcome::from_lookup_failure(failure, &submission, None, retry());
        assert_eq!(
            (obstacle, transition),
            (Some(answer.as_str()), expected.transition)
        );
        assert_eq!(
            findings,
            Findings {
                anomaly: anomaly(&answer),
                ..expected.findings
            }
        );
    }
    let refused = outcome(&LookupAnswer::RefererRefused);
    assert_eq!(
        refused.transition,
        Transition::Escalate {
            reason: Some("referer_refused")
        }
    );
    assert_eq!(refused.obstacle, Some("referer_refused"));
    assert_eq!(
        refused.findings.anomaly,
        anomaly(&LookupAnswer::RefererRefused)
    );
    let mistyped = outcome(&LookupAnswer::WrongTime);
    assert!(
        mistyped.receipt_time_mismatch && mistyped.obstacle.is_none(),
        "{mistyped:?}"
    );
}
