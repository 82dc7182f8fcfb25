//! What each answer of the tax authority makes of a submission, and what is counted of it.

use common::domain::settling::Turn;
use common::domain::submission::Standing;
use common::upstream::tax_authority::answer::{Trouble, UnexpectedPage};

use super::*;
use crate::example;

const NOW: Moment = Moment::from_millis(100_000_000);

fn applied(conclusion: &Conclusion) -> Submission {
    let before = Submission { settling: Some(begun()), ..example::submission(NOW) };
    conclusion.applied_to(&before, NOW, Hasten::default()).expect("open")
}

/// A step that is under way, and holds what must not be lost.
fn begun() -> Settling {
    Settling {
        unfinished: 1,
        surprise: Some("earlier".into()),
        ..Settling::at_once(NOW, Some("A kettle".to_owned()))
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
    let after = |obstacle| Conclusion { obstacle, ..Next::Stay(MessageKey::Checking).into() };
    assert!(!after(None).is_hindered());
    assert!(!after(Some(Answer::NotFoundYet.as_str())).is_hindered());
    for answer in [Answer::Throttled, Answer::RefererRefused] {
        assert!(after(Some(answer.as_str())).is_hindered(), "{}", answer.as_str());
    }
}

#[test]
fn what_is_met_instead_of_an_answer_is_counted_by_what_has_to_be_done_about_it() {
    let figures = |obstacle: Answer| {
        let met = Conclusion { obstacle: Some(obstacle.as_str()), ..Next::Review.into() };
        (met.finding().outcome, met.finding().figures)
    };
    assert_eq!(figures(page()), ("unexpected_page", vec![("TaxAuthorityChanged", 1)]));
    assert_eq!(figures(Answer::RefererRefused), ("referer_refused", vec![("TaxAuthorityChanged", 1)]));
    assert_eq!(figures(Answer::Trouble(Trouble::Connect)), ("trouble", vec![("TaxAuthorityDown", 1)]));
    assert_eq!(figures(Answer::Throttled), ("throttled", vec![("TaxAuthorityDown", 1)]));
    assert_eq!(figures(Answer::NotFoundYet), (Answer::NotFoundYet.as_str(), vec![]));
    let given_up = Conclusion::from(Next::Unanswered).finding();
    assert_eq!((given_up.outcome, given_up.figures), ("unanswered", vec![("LeftToAPerson", 1)]));
}

#[test]
fn every_end_of_a_step_has_its_word() {
    let outcome = |next: Next| Conclusion::from(next).finding().outcome;
    assert_eq!(outcome(Next::Accept { entries: 1, prize: None }), "accepted");
    assert_eq!(outcome(Next::Reject(MessageKey::Blocked)), "blocked");
    assert_eq!(outcome(Next::Review), "under_review");
    assert_eq!(outcome(Next::Again(SLOW, Tally::default())), "again_later");
    assert_eq!(outcome(Next::SayYesLater), "again_later");
    assert_eq!(outcome(Next::Stay(MessageKey::Checking)), "stays");
}

#[test]
fn an_operator_is_told_what_was_not_as_expected() {
    let told = |answer: Answer| surprise(&answer).map(|surprise| (surprise.what, surprise.excerpt));
    let page = told(page()).expect("something to tell");
    assert_eq!(page, ("unknown_page at /error (status 200)".to_owned(), Some("Karibu".to_owned())));
    assert_eq!(told(Answer::Trouble(Trouble::Connect)), Some(("connect".to_owned(), None)));
    assert!(told(Answer::RefererRefused).is_some());
    for expected in [Answer::WrongTime, Answer::NotFoundYet, Answer::Throttled] {
        assert_eq!(told(expected), None);
    }
}

#[test]
fn the_latest_surprise_stays_until_there_is_another() {
    let tally = Tally { missing: 1, ..Tally::default() };
    let surprise = |surprise: Option<&str>| {
        let again = Conclusion { surprise: surprise.map(Surprise::from), ..Next::Again(SLOW, tally).into() };
        applied(&again).settling.expect("open").surprise.expect("one").what
    };
    assert_eq!(surprise(None), "earlier");
    assert_eq!(surprise(Some("now")), "now");
}

#[test]
fn another_step_is_planned_with_what_was_counted() {
    let tally = Tally { missing: 1, ..Tally::default() };
    let wait = Duration::from_secs(60);
    let after = applied(&Next::Again(wait, tally).into());
    let settling = after.settling.expect("open");
    assert_eq!((settling.tally, settling.next_step_at, settling.unfinished), (tally, NOW.after(wait), 0));
    assert_eq!((after.standing, after.revision), (Standing::receipt_received(), 1));
}

#[test]
fn what_a_person_has_to_look_at_keeps_its_plan_and_its_reason() {
    for (conclusion, standing, reasons) in [
        (Conclusion::review("no_qr_code"), "under_review", vec!["no_qr_code".to_owned()]),
        (Next::Unanswered.into(), "unanswered", vec![]),
        (Next::Stay(MessageKey::Checking).into(), "unanswered", vec![]),
        (Next::Stay(MessageKey::ReceiptReceived).into(), "stays", vec![]),
    ] {
        let after = applied(&conclusion);
        let settling = after.settling.expect("open");
        assert_eq!((settling.turn, settling.prize.as_deref()), (Turn::Person, Some("A kettle")));
        assert_eq!(after.reasons, reasons);
        let expected = match standing {
            "under_review" => (State::Pending, true),
            "unanswered" => (State::Unknown, false),
            _ => (State::Pending, false),
        };
        assert_eq!((after.standing.state(), after.standing.review_status().is_some()), expected);
    }
}

#[test]
fn an_accepted_one_wins_its_own_prize_or_its_codes() {
    let won = |prize: Option<&str>| {
        let prize = prize.map(str::to_owned);
        let after = applied(&Next::Accept { entries: 2, prize }.into());
        (after.standing.entries(), after.standing.instant_win().map(str::to_owned))
    };
    assert_eq!(won(None), (2, Some("A kettle".to_owned())));
    assert_eq!(won(Some("A mug")), (2, Some("A mug".to_owned())));
}

#[test]
fn a_refusal_gives_its_key_and_what_the_key_does_not_tell() {
    let reasons = |conclusion: Conclusion| applied(&conclusion).reasons;
    assert_eq!(reasons(Next::Reject(MessageKey::ReceiptNotFound).into()), ["receipt_not_found"]);
    let cancelled = Conclusion::reject(MessageKey::ReceiptNotFound, "receipt_cancelled");
    assert_eq!(reasons(cancelled), ["receipt_not_found", "receipt_cancelled"]);
    let twice = Conclusion::reject(MessageKey::ReceiptNotFound, "receipt_not_found");
    assert_eq!(reasons(twice), ["receipt_not_found"]);
}

#[test]
fn a_failure_of_the_service_is_tried_again_as_one_of_the_authority_is() {
    let submission = example::submission(NOW);
    let failed = Conclusion::of_failure(&submission, NOW, Hasten::default());
    let (tally, plan) = Tally::default().after(Obstacle::Trouble, NOW, Hasten::default());
    let Plan::AskAgain(wait) = plan else { panic!("the first one is tried again") };
    assert_eq!(failed.next, Next::Again(wait, tally));
    assert_eq!((failed.finding().outcome, failed.surprise.is_some()), ("service_failed", true));
}
