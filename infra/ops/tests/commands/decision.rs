//! `ops submission settle` for receipts that wait for an operator.

pub(crate) mod prize;

use common::domain::ids::SubmissionId;
use common::domain::receipt::judgement::ReceiptSummary;
use common::domain::settling::{PendingSettlement, StepLease};
use common::domain::submission::transition::{Findings, Transition};
use common::domain::submission::{Submission, SubmissionStatus};
use common::domain::timestamp::Timestamp;
use common::store::submission_writes::SettleResult;
use serde_json::json;
use service_tests::text::{fields, list_of};

use crate::review::{CODE, as_it_is, code, photo, shown_with, typed, with_receipt};
use crate::submission::{WHY, entrant, submission, write};
use crate::support::{NOW, Stack};

/// The submission that a receipt was counted for.
pub(crate) async fn owner(stack: &Stack, submission: &Submission) -> Option<SubmissionId> {
    let receipts = stack.tables().store.receipts().clone();
    let owner = receipts.purchase(&submission.scope, &code()).await;
    owner.expect("it answers")
}

/// A submission whose receipt was counted as this many entries.
fn counted(entries: u32) -> impl FnOnce(Submission) -> Submission {
    move |submission| Submission {
        receipt: Some(ReceiptSummary {
            date: None,
            branch: None,
            items_summary: None,
            counted_entries: Some(entries),
        }),
        ..submission
    }
}

#[tokio::test]
async fn a_receipt_is_accepted_once_by_the_code_that_a_person_read() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, photo(None), as_it_is).await;
    let second = with_receipt(&stack, photo(None), as_it_is).await;
    let [first_id, second_id] = [first.submission_id, second.submission_id];
    let settled = stack
        .json(format!(
            "submission settle {first_id} --accept --receipt-code ab12-cd3456 {WHY}"
        ))
        .await;
    assert_eq!(
        fields(&settled, "review_status purchase_known"),
        "verified true"
    );
    assert_eq!(owner(&stack, &first).await, Some(first.submission_id));

    let message = stack
        .refused(
            format!("submission settle {second_id} --accept --receipt-code {CODE} {WHY}"),
            "purchase_taken",
        )
        .await
        .message;
    assert_contains!(message, "`--reject receipt_already_used`");
    assert_lacks!(message, CODE);
    let second_now = stack.shown(second.submission_id).await;
    assert_eq!(second_now["review_status"], "under_review");
    let settled = stack
        .json(format!(
            "submission settle {second_id} --reject receipt_already_used {WHY}"
        ))
        .await;
    assert_eq!(
        fields(&settled, "state display_status"),
        "rejected needs_attention"
    );
    // The second gave its place back.
    let entrant = entrant(&stack, &first).await;
    assert_eq!((entrant.entries, entrant.total), (2, 1));
}

#[tokio::test]
async fn the_purchase_of_the_record_is_taken_and_no_other() {
    let stack = Stack::with_chai().await;
    let known = |submission| Submission {
        purchase: Some(code()),
        ..submission
    };
    let waiting = with_receipt(&stack, photo(None), known).await;
    let id = waiting.submission_id;
    let error = stack
        .refused(
            format!("submission settle {id} --accept --receipt-code ZZ12CD3456 {WHY}"),
            "receipt_code_differs",
        )
        .await;
    assert_lacks!(error.message, "CD3456");
    stack
        .fine(format!("submission settle {id} --accept {WHY}"))
        .await;
    assert_eq!(owner(&stack, &waiting).await, Some(waiting.submission_id));
}

#[tokio::test]
async fn without_a_purchase_accepting_a_receipt_has_to_be_meant() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, typed(), as_it_is).await;
    let id = waiting.submission_id;
    let message = stack
        .refused(
            format!("submission settle {id} --accept {WHY}"),
            "receipt_code_needed",
        )
        .await
        .message;
    assert_contains!(message, "--receipt-code CODE", "--without-receipt-code");
    let error = stack
        .refused(
            format!("submission settle {id} --accept --receipt-code 'no code!' {WHY}"),
            "receipt_code_invalid",
        )
        .await;
    assert_lacks!(error.message, "no code!");
    let settled = stack
        .json(format!(
            "submission settle {id} --accept --without-receipt-code {WHY}"
        ))
        .await;
    assert_eq!(
        fields(&settled, "reasons purchase_known"),
        r#"["entered","operator_decision","without_receipt_code"] false"#
    );

    let bare = submission(SubmissionStatus::unknown(), None);
    write(&stack, &bare, None).await;
    let id = bare.submission_id;
    stack
        .refused(
            format!("submission settle {id} --accept --receipt-code {CODE} {WHY}"),
            "receipt_absent",
        )
        .await;
    let settled = stack
        .json(format!("submission settle {id} --accept {WHY}"))
        .await;
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
    let store = stack.tables().store;
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
    let text = shown_with(&stack, &due, "").await.1;
    let mut lines = text.lines().map(|line| line.split_whitespace());
    assert!(lines.any(|line| line.eq(["under_way", "true"])), "{text}");

    let id = due.submission_id;
    stack
        .fine(format!(
            "submission settle {id} --accept --receipt-code {CODE} {WHY}"
        ))
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
        ..submission(SubmissionStatus::checking(), None)
    };
    write(&stack, &asked, None).await;
    let id = asked.submission_id;
    let error = stack
        .refused(
            format!("submission settle {id} --reject invalid {WHY}"),
            "partner_is_asked",
        )
        .await;
    assert_lacks!(error.message, "OKAY-1");

    let store = stack.tables().store;
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
    stack
        .fine(format!("submission settle {id} --reject invalid {WHY}"))
        .await;
}

#[tokio::test]
async fn of_two_decisions_at_once_one_stands() {
    let stack = Stack::with_chai().await;
    for _ in 0..5 {
        let waiting = with_receipt(&stack, photo(None), as_it_is).await;
        let id = waiting.submission_id;
        let accept = format!("submission settle {id} --accept --without-receipt-code {WHY}");
        let reject = format!("submission settle {id} --reject receipt_unreadable {WHY}");
        let (accepted, rejected) = tokio::join!(stack.run(&accept), stack.run(&reject));
        let state = stack.shown(waiting.submission_id).await["state"].clone();
        let (winner, loser) = if state == "accepted" {
            (accepted, rejected)
        } else {
            (rejected, accepted)
        };
        winner.fine();
        let loser = loser.failed();
        let told = ["changed in the meantime", "settled already"]
            .iter()
            .any(|part| loser.contains(part));
        assert!(told, "{loser}");
    }
}

#[tokio::test]
async fn accepted_receipt_earns_what_was_counted_by_default() {
    let stack = Stack::with_chai().await;
    let accept = "--accept --without-receipt-code";
    let waiting = with_receipt(&stack, photo(None), counted(3)).await;
    assert_contains!(
        shown_with(&stack, &waiting, "").await.1,
        "counted_entries 3\n"
    );
    let text = stack
        .fine(format!(
            "submission settle {} {accept} {WHY}",
            waiting.submission_id
        ))
        .await;
    assert!(
        text.ends_with(" settled as `entered`, with 3 entries\n"),
        "{text}"
    );

    let many = with_receipt(&stack, photo(None), counted(1_000_000)).await;
    let id = many.submission_id;
    let message = stack
        .refused(
            format!("submission settle {id} {accept} {WHY}"),
            "entries_needed",
        )
        .await
        .message;
    assert_contains!(message, "1,000,000 entries", "--entries");
    let settled = stack
        .json(format!("submission settle {id} {accept} --entries 2 {WHY}"))
        .await;
    assert_eq!(settled["entries"], 2);
}

#[tokio::test]
async fn timeline_tells_what_happened_in_order() {
    told_in_order(None, "made: pending").await;
}

/// Neither the timeline nor the audit log goes by the time that a tester chose.
#[tokio::test]
async fn timeline_of_a_test_time_is_in_real_time() {
    let year = 365 * 24 * 3_600_000;
    for shift in [year, -year] {
        told_in_order(Some(shift), "made, for 20").await;
    }
}

async fn told_in_order(test_shift: Option<i64>, made: &str) {
    let stack = Stack::with_chai().await;
    let shifted = |at: Timestamp| at.shifted(test_shift.unwrap_or(0));
    let from = |submission: Submission| Submission {
        request_id: Some("shop-4711".to_owned()),
        created_at: shifted(submission.created_at),
        updated_at: shifted(submission.updated_at),
        test_shift,
        ..submission
    };
    let waiting = with_receipt(&stack, photo(None), from).await;
    let id = waiting.submission_id;
    stack
        .fine(format!(
            "submission settle {id} --accept --receipt-code {CODE} {WHY}"
        ))
        .await;
    let story = stack
        .json(format!("submission timeline {}", waiting.reference()))
        .await;
    let told = story["submissions"][0].clone();
    assert_eq!(fields(&told, "id request_id"), format!("{id} shop-4711"));
    let events = list_of(&told["events"]).iter();
    let said: Vec<_> = events
        .clone()
        .filter_map(|event| event["what"].as_str())
        .collect();
    let in_order = [
        "receipt ",
        made,
        "pending, receipt_received, under_review",
        "decided by",
        "accepted, entered, verified",
    ];
    let places = in_order.map(|part| said.iter().position(|what| what.contains(part)));
    assert!(places[0].is_some() && places.is_sorted(), "{said:?}");
    let times: Vec<_> = events.filter_map(|event| event["at"].as_str()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_lacks!(story.to_string(), CODE, "712345678");

    let text = stack.fine(format!("submission timeline {id}")).await;
    assert_contains!(text, "made by request shop-4711", "accepted, entered");
    stack
        .refused("submission timeline nothing", "name_invalid")
        .await;
    stack.fine(format!("submission show {id}")).await;
    stack.json("audit verify").await;
}
