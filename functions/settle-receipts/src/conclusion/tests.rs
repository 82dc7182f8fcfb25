//! What each answer of the tax authority makes of a submission, and what is counted of it.

use common::domain::settling::Assignee;
use common::domain::submission::SubmissionStatus;
use common::upstream::http_client::TransportError;
use common::upstream::tax_authority::answer::UnexpectedPage;

use super::*;
use crate::example;

const NOW: Timestamp = Timestamp::from_millis(100_000_000);

fn applied(conclusion: &StepOutcome) -> Submission {
    let before = Submission { settling: Some(begun()), ..example::submission(NOW) };
    conclusion.apply(&before, NOW, RetrySpeedup::default()).expect("open")
}

/// A step that is under way, and holds what must not be lost.
fn begun() -> PendingSettlement {
    PendingSettlement {
        unfinished: 1,
        anomaly: Some("earlier".into()),
        ..PendingSettlement::at_once(NOW, Some("A kettle".to_owned()))
    }
}

fn page() -> Answer {
    Answer::Unexpected(Box::new(UnexpectedPage {
        final_path: "/error".to_owned(),
        status: 200,
        excerpt: "Karibu".to_owned(),
        why: "unknown_page",
    }))
}

#[test]
fn a_receipt_that_is_not_there_yet_is_not_hindered() {
    let after = |obstacle| StepOutcome { obstacle, ..Transition::StaysPending(MessageKey::Checking).into() };
    assert!(!after(None).is_blocked_upstream());
    assert!(!after(Some(Answer::NotFoundYet.as_str())).is_blocked_upstream());
    for answer in [Answer::Throttled, Answer::RefererRefused] {
        assert!(after(Some(answer.as_str())).is_blocked_upstream(), "{}", answer.as_str());
    }
}

#[test]
fn what_is_met_instead_of_an_answer_is_counted_by_what_has_to_be_done_about_it() {
    let figures = |obstacle: Answer| {
        let met = StepOutcome { obstacle: Some(obstacle.as_str()), ..Transition::Review.into() };
        (met.finding().outcome, met.finding().figures)
    };
    assert_eq!(figures(page()), ("unexpected_page", vec![("TaxAuthorityChanged", 1)]));
    assert_eq!(figures(Answer::RefererRefused), ("referer_refused", vec![("TaxAuthorityChanged", 1)]));
    let trouble = Answer::Trouble(TransportError::ConnectTimeout.into());
    assert_eq!(figures(trouble), ("trouble", vec![("TaxAuthorityDown", 1)]));
    assert_eq!(figures(Answer::Throttled), ("throttled", vec![("TaxAuthorityDown", 1)]));
    assert_eq!(figures(Answer::NotFoundYet), (Answer::NotFoundYet.as_str(), vec![]));
    let given_up = StepOutcome::from(Transition::Unanswered).finding();
    assert_eq!((given_up.outcome, given_up.figures), ("unanswered", vec![("LeftToAPerson", 1)]));
}

#[test]
fn every_end_of_a_step_has_its_word() {
    let outcome = |next: Transition| StepOutcome::from(next).finding().outcome;
    assert_eq!(outcome(Transition::Accept { entries: 1, prize: None }), "accepted");
    assert_eq!(outcome(Transition::Reject(MessageKey::Blocked)), "blocked");
    assert_eq!(outcome(Transition::Review), "under_review");
    assert_eq!(outcome(Transition::RetryAfter(SENTINEL_DELAY, LookupFailures::default())), "again_later");
    assert_eq!(outcome(Transition::AcceptLater), "again_later");
    assert_eq!(outcome(Transition::StaysPending(MessageKey::Checking)), "stays");
}

#[test]
fn an_operator_is_told_what_was_not_as_expected() {
    let told = |answer: Answer| anomaly(&answer).map(|anomaly| (anomaly.what, anomaly.excerpt));
    let page = told(page()).expect("something to tell");
    assert_eq!(page, ("unknown_page at /error (status 200)".to_owned(), Some("Karibu".to_owned())));
    let trouble = Answer::Trouble(TransportError::ConnectTimeout.into());
    assert_eq!(told(trouble), Some(("connect_timeout".to_owned(), None)));
    assert!(told(Answer::RefererRefused).is_some());
    for expected in [Answer::WrongTime, Answer::NotFoundYet, Answer::Throttled] {
        assert_eq!(told(expected), None);
    }
}

#[test]
fn the_latest_surprise_stays_until_there_is_another() {
    let lookup_failures = LookupFailures { missing: 1, ..LookupFailures::default() };
    let anomaly = |anomaly: Option<&str>| {
        let again = StepOutcome {
            anomaly: anomaly.map(Anomaly::from),
            ..Transition::RetryAfter(SENTINEL_DELAY, lookup_failures).into()
        };
        applied(&again).settling.expect("open").anomaly.expect("one").what
    };
    assert_eq!(anomaly(None), "earlier");
    assert_eq!(anomaly(Some("now")), "now");
}

#[test]
fn another_step_is_planned_with_what_was_counted() {
    let lookup_failures = LookupFailures { missing: 1, ..LookupFailures::default() };
    let wait = Duration::from_secs(60);
    let after = applied(&Transition::RetryAfter(wait, lookup_failures).into());
    let settling = after.settling.expect("open");
    assert_eq!(
        (settling.lookup_failures, settling.next_step_at, settling.unfinished),
        (lookup_failures, NOW.after(wait), 0)
    );
    assert_eq!((after.status, after.revision), (SubmissionStatus::receipt_received(), 1));
}

#[test]
fn what_a_person_has_to_look_at_keeps_its_plan_and_its_reason() {
    for (conclusion, status, reasons) in [
        (StepOutcome::review("no_qr_code"), "under_review", vec!["no_qr_code".to_owned()]),
        (Transition::Unanswered.into(), "unanswered", vec![]),
        (Transition::StaysPending(MessageKey::Checking).into(), "unanswered", vec![]),
        (Transition::StaysPending(MessageKey::ReceiptReceived).into(), "stays", vec![]),
    ] {
        let after = applied(&conclusion);
        let settling = after.settling.expect("open");
        assert_eq!((settling.assignee, settling.prize.as_deref()), (Assignee::Operator, Some("A kettle")));
        assert_eq!(after.reasons, reasons);
        let expected = match status {
            "under_review" => (State::Pending, true),
            "unanswered" => (State::Unknown, false),
            _ => (State::Pending, false),
        };
        assert_eq!((after.status.state(), after.status.review_status().is_some()), expected);
    }
}

#[test]
fn an_accepted_one_wins_its_own_prize_or_its_codes() {
    let won = |prize: Option<&str>| {
        let prize = prize.map(str::to_owned);
        let after = applied(&Transition::Accept { entries: 2, prize }.into());
        (after.status.entries(), after.status.instant_win().map(str::to_owned))
    };
    assert_eq!(won(None), (2, Some("A kettle".to_owned())));
    assert_eq!(won(Some("A mug")), (2, Some("A mug".to_owned())));
}

#[test]
fn a_refusal_gives_its_key_and_what_the_key_does_not_tell() {
    let reasons = |conclusion: StepOutcome| applied(&conclusion).reasons;
    assert_eq!(reasons(Transition::Reject(MessageKey::ReceiptNotFound).into()), ["receipt_not_found"]);
    let cancelled = StepOutcome::reject(MessageKey::ReceiptNotFound, "receipt_cancelled");
    assert_eq!(reasons(cancelled), ["receipt_not_found", "receipt_cancelled"]);
    let twice = StepOutcome::reject(MessageKey::ReceiptNotFound, "receipt_not_found");
    assert_eq!(reasons(twice), ["receipt_not_found"]);
}

#[test]
fn a_failure_of_the_service_is_tried_again_as_one_of_the_authority_is() {
    let submission = example::submission(NOW);
    let failed = StepOutcome::from_failure(&submission, NOW, RetrySpeedup::default());
    let (lookup_failures, plan) =
        LookupFailures::default().after(LookupFailure::Trouble, NOW, RetrySpeedup::default());
    let RetryDecision::AskAgain(wait) = plan else { panic!("the first one is tried again") };
    assert_eq!(failed.next, Transition::RetryAfter(wait, lookup_failures));
    assert_eq!((failed.finding().outcome, failed.anomaly.is_some()), ("service_failed", true));
}
