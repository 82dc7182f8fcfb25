//! What an event changes of a submission, what it keeps, and when to ask again.

use super::*;
use crate::domain::scope::Environment;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

fn later(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

impl Submission {
    /// A submission whose partner is being asked, for tests to change.
    pub(crate) fn example() -> Self {
        Self {
            submission_id: SubmissionId::from_random([1; 16]),
            reference: "K7M2-Q9XD".parse().expect("a reference"),
            scope: Scope { campaign: "demo".parse().expect("a slug"), environment: Environment::Live },
            phone: "0712345678".parse().expect("a phone"),
            code_key: Some("demo#live#partner#1".to_owned()),
            receipt_id: None,
            receipt: None,
            purchase: None,
            partner_code: Some("ABC123".parse().expect("a code")),
            upstream: None,
            status: SubmissionStatus::checking(),
            reasons: Vec::new(),
            day: "1970-01-01".to_owned(),
            region: None,
            claimed: None,
            decision: None,
            settling: Some(PendingSettlement::asking(NOW)),
            revision: 7,
            created_at: NOW,
            updated_at: NOW,
            request_id: None,
            history: Vec::new(),
        }
    }
}

#[test]
fn a_settled_submission_forgets_its_plan_and_the_partners_code() {
    let before = Submission::example();
    for event in [Event::Accept { entries: 3, instant_win: None }, Event::Reject(MessageKey::Invalid)] {
        let after = before.after(event, later(1)).expect("open");
        let expected = Submission {
            status: after.status.clone(),
            settling: None,
            partner_code: None,
            revision: 8,
            updated_at: later(1),
            ..before.clone()
        };
        assert!(after.status.is_terminal());
        assert_eq!(after, expected);
        assert_eq!(after.after(Event::Review, later(2)), Err(AlreadySettled));
    }
}

#[test]
fn an_open_submission_keeps_its_plan_and_the_partners_code() {
    let before = Submission::example();
    let after = before.after(Event::Unanswered, later(1)).expect("open");
    let expected = Submission {
        status: SubmissionStatus::unanswered(),
        revision: 8,
        updated_at: later(1),
        ..before.clone()
    };
    assert_eq!(after, expected);
}

#[test]
fn an_open_receipt_is_one_that_the_service_has_still_to_settle() {
    let receipt_id = Some(ReceiptId::from_random([2; 16]));
    let open = Submission { receipt_id, ..Submission::example() };
    assert!(open.has_open_receipt());
    assert!(!Submission::example().has_open_receipt(), "it has no receipt");
    assert!(!Submission { settling: None, ..open.clone() }.has_open_receipt(), "it is settled");
    let settling =
        open.settling.clone().map(|settling| PendingSettlement { assignee: Assignee::Operator, ..settling });
    assert!(!Submission { settling, ..open }.has_open_receipt(), "a person has to settle it");
}

#[test]
fn only_an_accepted_submission_has_entries_and_perhaps_a_prize() {
    let shown = |status: &SubmissionStatus| {
        (status.message_key(), status.entries(), status.instant_win().map(str::to_owned))
    };
    assert_eq!(shown(&SubmissionStatus::accepted(3, None)), (MessageKey::Entered, 3, None));
    let prize = Some("A kettle".to_owned());
    assert_eq!(shown(&SubmissionStatus::accepted(2, prize.clone())), (MessageKey::InstantWin, 2, prize));
    assert_eq!(shown(&SubmissionStatus::rejected(MessageKey::Blocked)), (MessageKey::Blocked, 0, None));
    assert_eq!(shown(&SubmissionStatus::checking()), (MessageKey::Checking, 0, None));
}

#[test]
fn a_receipt_is_verified_or_declined_by_what_settles_it() {
    let review_status = |event, receipt: bool| {
        let receipt_id = receipt.then(|| ReceiptId::from_random([2; 16]));
        let before = Submission { receipt_id, ..Submission::example() };
        before.after(event, NOW).expect("open").status.review_status()
    };
    let accept = Event::Accept { entries: 1, instant_win: None };
    let decline = Event::Reject(MessageKey::ReceiptWrongStore);
    assert_eq!(review_status(accept.clone(), true), Some(ReviewStatus::Verified));
    assert_eq!(review_status(decline.clone(), true), Some(ReviewStatus::Declined));
    assert_eq!(review_status(Event::Reject(MessageKey::Blocked), true), None);
    assert_eq!(review_status(Event::Review, true), Some(ReviewStatus::UnderReview));
    for event in [accept, decline, Event::Review] {
        assert_eq!(review_status(event, false), None);
    }
}

#[test]
fn it_is_asked_about_less_often_with_age() {
    let submission = Submission { settling: None, ..Submission::example() };
    for (age, expected) in [(0, 2), (29, 2), (30, 3), (299, 29), (300, 30), (1_000, 30)] {
        assert_eq!(submission.poll_after_seconds(later(age)), Some(expected), "after {age} s");
    }
    let settled = submission.after(Event::Reject(MessageKey::Invalid), NOW).expect("open");
    assert_eq!(settled.poll_after_seconds(NOW), None);
}

#[test]
fn it_is_not_asked_about_before_its_next_step_nor_often_while_a_person_looks() {
    let planned = |millis| {
        let next_step_at = Timestamp::from_millis(NOW.as_millis() + millis);
        let settling = PendingSettlement { next_step_at, ..PendingSettlement::at_once(NOW, None) };
        Submission { settling: Some(settling), ..Submission::example() }
    };
    assert_eq!(planned(45_000).poll_after_seconds(NOW), Some(45));
    assert_eq!(planned(45_001).poll_after_seconds(NOW), Some(46));
    assert_eq!(planned(1_000).poll_after_seconds(NOW), Some(2));
    assert_eq!(planned(45_000).poll_after_seconds(later(60)), Some(6));
    let reviewed = PendingSettlement::at_once(NOW, None).escalate(NOW);
    let reviewed = Submission { settling: Some(reviewed), ..Submission::example() };
    assert_eq!(reviewed.poll_after_seconds(NOW), Some(300));
}
