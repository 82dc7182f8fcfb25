//! `ops submission settle` for receipts that wait for an operator.

pub(crate) mod prize;

use common::domain::receipt::judgement::ReceiptSummary;
use common::domain::settling::{PendingSettlement, StepLease};
use common::domain::submission::transition::{Findings, Transition};
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use common::store::submission_writes::SettleResult;
use serde_json::json;

use crate::review::{CODE, as_it_is, code, photo, shown, typed, with_receipt};
use crate::submission::{WHY, entrant, submission, write};
use crate::support::{Ended, NOW, Stack};

fn settle<'a>(id: &'a str, how: &[&'a str]) -> Vec<&'a str> {
    [&["submission", "settle", id][..], how, &WHY].concat()
}

#[tokio::test]
async fn a_receipt_is_accepted_once_by_the_code_that_a_person_read() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, photo(None), as_it_is).await;
    let second = with_receipt(&stack, photo(None), as_it_is).await;
    let (first_id, second_id) = (
        first.submission_id.to_string(),
        second.submission_id.to_string(),
    );
    let settled = stack
        .json(&settle(
            &first_id,
            &["--accept", "--receipt-code", "ab12-cd3456"],
        ))
        .await;
    assert_eq!(
        json!([settled["review_status"], settled["purchase_known"]]),
        json!(["verified", true])
    );
    let tables = stack.tables().await;
    let owner = tables
        .store
        .receipts()
        .purchase(&first.scope, &code())
        .await
        .expect("it answers");
    assert_eq!(owner, Some(first.submission_id));

    let error = stack
        .refused(&settle(&second_id, &["--accept", "--receipt-code", CODE]))
        .await;
    assert_eq!(error["code"], "purchase_taken");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("`--reject receipt_already_used`") && !message.contains(CODE),
        "{message}"
    );
    assert_eq!(
        shown(&stack, &second, &[]).await.0["review_status"],
        "under_review"
    );
    let settled = stack
        .json(&settle(&second_id, &["--reject", "receipt_already_used"]))
        .await;
    assert_eq!(
        json!([settled["state"], settled["display_status"]]),
        json!(["rejected", "needs_attention"])
    );
    let entrant = entrant(&stack, &first).await;
    assert_eq!(
        (entrant.entries, entrant.total),
        (2, 1),
        "the second gave its place back"
    );
}

#[tokio::test]
async fn the_purchase_of_the_record_is_taken_and_no_other() {
    let stack = Stack::with_chai().await;
    let known = |submission| Submission {
        purchase: Some(code()),
        ..submission
    };
    let waiting = with_receipt(&stack, photo(None), known).await;
    let id = waiting.submission_id.to_string();
    let error = stack
        .refused(&settle(&id, &["--accept", "--receipt-code", "ZZ12CD3456"]))
        .await;
    assert_eq!(error["code"], "receipt_code_differs");
    assert!(!error.to_string().contains("CD3456"), "{error}");
    stack.fine(&settle(&id, &["--accept"])).await;
    let tables = stack.tables().await;
    let owner = tables
        .store
        .receipts()
        .purchase(&waiting.scope, &code())
        .await
        .expect("it answers");
    assert_eq!(owner, Some(waiting.submission_id));
}

#[tokio::test]
async fn without_a_purchase_accepting_a_receipt_has_to_be_meant() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let id = waiting.submission_id.to_string();
    let error = stack.refused(&settle(&id, &["--accept"])).await;
    assert_eq!(error["code"], "receipt_code_needed");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("--receipt-code CODE") && message.contains("--without-receipt-code"),
        "{message}"
    );
    let error = stack
        .refused(&settle(&id, &["--accept", "--receipt-code", "no code!"]))
        .await;
    assert_eq!(error["code"], "receipt_code_invalid");
    assert!(!error.to_string().contains("no code!"), "{error}");
    let settled = stack
        .json(&settle(&id, &["--accept", "--without-receipt-code"]))
        .await;
    assert_eq!(
        settled["reasons"],
        json!(["entered", "operator_decision", "without_receipt_code"])
    );
    assert_eq!(settled["purchase_known"], false);

    let bare = submission(random::submission_id(), SubmissionStatus::unknown(), None);
    write(&stack, &bare, None).await;
    let id = bare.submission_id.to_string();
    let error = stack
        .refused(&settle(&id, &["--accept", "--receipt-code", CODE]))
        .await;
    assert_eq!(error["code"], "receipt_absent");
    let settled = stack.json(&settle(&id, &["--accept"])).await;
    assert_eq!(settled["reasons"], json!(["entered", "operator_decision"]));
}

#[tokio::test]
async fn a_decision_made_while_the_service_works_stands() {
    let stack = Stack::with_chai().await;
    let fresh = |submission| Submission {
        status: SubmissionStatus::receipt_received(),
        settling: Some(PendingSettlement::due_at(NOW, None)),
        ..submission
    };
    let due = with_receipt(&stack, typed(), fresh).await;
    let store = stack.tables().await.store;
    let Some(StepLease::Leased(settling)) =
        due.settling.as_ref().map(|settling| settling.lease(NOW))
    else {
        panic!("it is due");
    };
    let begun = Submission {
        settling: Some(settling),
        ..due.changed(NOW)
    };
    assert_eq!(
        store.settle(&due, &begun, None).await.expect("it answers"),
        SettleResult::Committed
    );
    assert!(
        shown(&stack, &due, &[])
            .await
            .1
            .lines()
            .any(|line| line.split_whitespace().eq(["under_way", "true"]))
    );

    let id = due.submission_id.to_string();
    stack
        .fine(&settle(&id, &["--accept", "--receipt-code", CODE]))
        .await;
    let accept = Transition::Accept {
        entries: 9,
        prize: None,
    };
    let concluded = begun
        .apply(&accept, Findings::default(), NOW)
        .expect("it was open");
    assert_eq!(
        store
            .settle(&begun, &concluded, None)
            .await
            .expect("it answers"),
        SettleResult::StaleRevision
    );
    let entrant = entrant(&stack, &due).await;
    assert_eq!(entrant.entries, 2, "it is accepted once");
}

#[tokio::test]
async fn what_a_partner_may_be_redeeming_is_not_refused_by_hand() {
    let stack = Stack::with_chai().await;
    let asked = Submission {
        partner_code: Some("OKAY-1".parse().expect("a code")),
        settling: Some(PendingSettlement::asking(NOW)),
        ..submission(random::submission_id(), SubmissionStatus::checking(), None)
    };
    write(&stack, &asked, None).await;
    let id = asked.submission_id.to_string();
    let error = stack.refused(&settle(&id, &["--reject", "invalid"])).await;
    assert_eq!(error["code"], "partner_is_asked");
    assert!(!error.to_string().contains("OKAY-1"), "{error}");

    let store = stack.tables().await.store;
    let left = asked
        .settling
        .as_ref()
        .map(|settling| settling.escalate(NOW));
    let left = Submission {
        settling: left,
        ..asked.changed(NOW)
    };
    assert_eq!(
        store.settle(&asked, &left, None).await.expect("it answers"),
        SettleResult::Committed
    );
    stack.fine(&settle(&id, &["--reject", "invalid"])).await;
}

#[tokio::test]
async fn of_two_decisions_at_once_one_stands() {
    let stack = Stack::with_chai().await;
    for _ in 0..5 {
        let waiting = with_receipt(&stack, photo(None), as_it_is).await;
        let id = waiting.submission_id.to_string();
        let accept = settle(&id, &["--accept", "--without-receipt-code"]);
        let reject = settle(&id, &["--reject", "receipt_unreadable"]);
        let (accepted, rejected) = tokio::join!(stack.run(&accept), stack.run(&reject));
        let state = shown(&stack, &waiting, &[]).await.0["state"].clone();
        let (winner, loser): (&Ended, &Ended) = if state == "accepted" {
            (&accepted, &rejected)
        } else {
            (&rejected, &accepted)
        };
        assert_eq!(
            (winner.code, loser.code),
            (ops_core::EXIT_OK, ops_core::EXIT_FAILURE),
            "{}{}",
            winner.err,
            loser.err
        );
        let told = ["changed in the meantime", "settled already"]
            .iter()
            .any(|part| loser.err.contains(part));
        assert!(told, "{}", loser.err);
    }
}

#[tokio::test]
async fn accepted_receipt_earns_what_was_counted_by_default() {
    let stack = Stack::with_chai().await;
    let counting = |entries| {
        move |submission| {
            let (date, branch, items_summary) = (None, None, None);
            let receipt = ReceiptSummary {
                date,
                branch,
                items_summary,
                counted_entries: Some(entries),
            };
            Submission {
                receipt: Some(receipt),
                ..submission
            }
        }
    };
    let accept = ["--accept", "--without-receipt-code"];
    let waiting = with_receipt(&stack, photo(None), counting(3)).await;
    assert!(
        shown(&stack, &waiting, &[])
            .await
            .1
            .contains("counted_entries 3\n")
    );
    let text = stack
        .fine(&settle(&waiting.submission_id.to_string(), &accept))
        .await;
    assert!(
        text.ends_with(" settled as `entered`, with 3 entries\n"),
        "{text}"
    );

    let many = with_receipt(&stack, photo(None), counting(1_000_000)).await;
    let id = many.submission_id.to_string();
    let error = stack.refused(&settle(&id, &accept)).await;
    assert_eq!(error["code"], "entries_needed");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("1,000,000 entries") && message.contains("--entries"),
        "{message}"
    );
    let settled = stack
        .json(&settle(&id, &[&accept[..], &["--entries", "2"]].concat()))
        .await;
    assert_eq!(settled["entries"], 2);
}

#[tokio::test]
async fn timeline_tells_what_happened_in_order() {
    let stack = Stack::with_chai().await;
    let from = |submission| Submission {
        request_id: Some("shop-4711".to_owned()),
        ..submission
    };
    let waiting = with_receipt(&stack, photo(None), from).await;
    let id = waiting.submission_id.to_string();
    stack
        .fine(&settle(&id, &["--accept", "--receipt-code", CODE]))
        .await;
    let story = stack
        .json(&["submission", "timeline", &waiting.reference().to_string()])
        .await;
    let told = story["submissions"][0].clone();
    assert_eq!(
        json!([told["id"], told["request_id"]]),
        json!([id, "shop-4711"])
    );
    let events = told["events"].as_array().expect("events").iter();
    let said: Vec<_> = events
        .clone()
        .filter_map(|event| event["what"].as_str())
        .collect();
    let place = |part: &str| {
        said.iter()
            .position(|what| what.contains(part))
            .unwrap_or_else(|| panic!("{said:?}"))
    };
    let in_order = [
        place("receipt "),
        place("made: pending, receipt_received, under_review"),
        place("decided by"),
        place("accepted, entered, verified"),
    ];
    assert!(in_order.is_sorted(), "{said:?}");
    let times: Vec<_> = events.filter_map(|event| event["at"].as_str()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert!(
        !story.to_string().contains(CODE) && !story.to_string().contains("712345678"),
        "{story}"
    );

    let text = stack.fine(&["submission", "timeline", &id]).await;
    assert!(
        text.contains("made by request shop-4711") && text.contains("accepted, entered"),
        "{text}"
    );
    let error = stack.refused(&["submission", "timeline", "nothing"]).await;
    assert_eq!(
        error["code"],
        stack.refused(&["submission", "show", "nothing"]).await["code"]
    );
}
