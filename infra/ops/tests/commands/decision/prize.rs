//! Accepting an instant prize by hand, by command and in the review queue.

use std::time::Duration;

use common::domain::message::MessageKey;
use common::domain::receipt::judgement::ReceiptSummary;
use common::domain::receipt::rules::ReceiptRules;
use common::domain::settling::PendingSettlement;
use common::domain::submission::Submission;
use common::store::review_locks::LOCK_LIFETIME;
use ops_core::approvals::Decided;
use ops_core::review::answer::ReviewResult;
use ops_core::settle::{Proof, Verdict};
use serde_json::{Value, json};

use super::settle;
use crate::correction::by;
use crate::review::{CODE, as_it_is, code, photo, shown, with_receipt};
use crate::reviewing::Screen;
use crate::submission::entrant;
use crate::support::{Ended, NOW, Stack, line};

const PRIZE: &str = "A kettle";

/// Writes a submission with a receipt and a prize's code.
pub(crate) async fn at_stake(stack: &Stack) -> Submission {
    let with_prize = |submission| Submission {
        settling: Some(PendingSettlement::due_at(NOW, Some(PRIZE.to_owned())).escalate(NOW)),
        ..submission
    };
    with_receipt(stack, photo(None), with_prize).await
}

fn json_of(ended: &Ended) -> Value {
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    serde_json::from_str(&ended.out).expect("JSON")
}

async fn details(stack: &Stack) -> Value {
    let rows = stack.json(&["audit", "list"]).await;
    let row = rows["rows"]
        .as_array()
        .and_then(|rows| rows.last())
        .expect("a row")
        .clone();
    assert_eq!(row["action"], "submission.settle");
    serde_json::from_str(row["details"].as_str().expect("text")).expect("JSON")
}

#[tokio::test]
async fn a_prize_is_given_by_two_people_alone() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id.to_string();
    let accept = ["--accept", "--receipt-code", CODE, "--entries", "7"];
    stack.clock.advance(Duration::from_secs(60));
    let before = shown(&stack, &waiting, &[]).await.0;
    let proposed = json_of(&by(&stack, "asha", settle(&id, &accept)).await);
    assert_eq!(details(&stack).await["proposal"], true);
    let after = shown(&stack, &waiting, &[]).await.0;
    assert_eq!(
        proposed["proposal"]["correction"],
        json!({ "change": "accept", "entries": 7 })
    );
    assert_eq!(
        json!([after["proposal"]["decision"]["by"], after["decision"]]),
        json!(["asha", null])
    );
    for unchanged in [
        "state",
        "review_status",
        "entries",
        "instant_win",
        "purchase_known",
        "settling",
        "updated_at",
    ] {
        assert_eq!(before[unchanged], after[unchanged], "{unchanged}");
    }
    assert_eq!(entrant(&stack, &waiting).await.entries, 0);
    let list = line("submission list --campaign chai-bora-2026 --unsettled");
    assert!(stack.fine(&list).await.contains("PROPOSED BY"));
    for same in ["asha/juma", "juma/ASHA"] {
        let refused = by(&stack, same, settle(&id, &accept)).await;
        assert!(
            refused.err.contains("second_person_needed"),
            "{same}: {}",
            refused.err
        );
    }
    let settled = json_of(
        &by(
            &stack,
            "juma",
            settle(&id, &["--accept", "--receipt-code", CODE]),
        )
        .await,
    );
    assert_eq!(
        json!([settled["entries"], settled["instant_win"]]),
        json!([7, PRIZE])
    );
    let decision = &settled["decision"];
    assert_eq!(
        json!([decision["by"], decision["confirmed"]["by"]]),
        json!(["asha", "juma"])
    );
    assert_eq!(
        (&settled["proposal"], &details(&stack).await["proposal"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(entrant(&stack, &waiting).await.entries, 7);
}

#[tokio::test]
async fn other_acceptance_replaces_the_first_and_one_person_rejects() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id.to_string();
    let told = stack
        .fine(&settle(&id, &["--accept", "--receipt-code", CODE]))
        .await;
    assert!(
        told.contains("A kettle") && told.contains("A second operator has to ask for the same"),
        "{told}"
    );
    for other in [
        &["--receipt-code", "ZZ12CD3456"][..],
        &["--receipt-code", CODE, "--entries", "3"],
    ] {
        let accept = [&["--accept"][..], other].concat();
        let replaced = json_of(&by(&stack, "juma", settle(&id, &accept)).await);
        assert_eq!(
            json!([replaced["state"], replaced["proposal"]["decision"]["by"]]),
            json!(["pending", "juma"])
        );
    }
    let told = stack
        .fine(&settle(
            &id,
            &["--accept", "--receipt-code", CODE, "--entries", "2"],
        ))
        .await;
    assert!(
        told.contains("This replaces what juma asked for") && !told.contains(CODE),
        "{told}"
    );
    let story = stack.fine(&["submission", "timeline", &id]).await;
    assert!(
        story.contains("accept with 2 entries, asked for by asha"),
        "{story}"
    );

    let rejected = json_of(
        &by(
            &stack,
            "asha",
            settle(&id, &["--reject", "receipt_wrong_store"]),
        )
        .await,
    );
    assert_eq!(
        json!([rejected["state"], rejected["proposal"]]),
        json!(["rejected", null])
    );
}

#[tokio::test]
async fn the_service_starts_over_without_the_first_acceptance() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id.to_string();
    stack
        .fine(&settle(&id, &["--accept", "--receipt-code", CODE]))
        .await;
    let resumed = stack.json(&["submission", "resume", &id]).await;
    assert_eq!(resumed["submissions"][0]["proposal"], Value::Null);
}

#[tokio::test]
async fn a_prize_that_one_person_accepted_is_reviewed_by_another() {
    let stack = Stack::with_chai().await;
    let id = at_stake(&stack).await.submission_id;
    let [mut asha, mut juma] = ["asha", "juma"].map(|name| Screen::new(&stack, name));
    let accept = || Verdict::Accept {
        entries: None,
        proof: Proof::Read(code()),
    };
    assert_eq!(asha.next_id(NOW).await, Some(id));
    let answered = asha.answer(id, accept(), NOW).await;
    let ReviewResult::Decided(Decided::Proposed {
        after, at_stake, ..
    }) = answered
    else {
        panic!("it is settled")
    };
    assert!(
        at_stake.contains(PRIZE) && !after.status.is_terminal(),
        "{at_stake}"
    );
    let later = NOW.after(LOCK_LIFETIME);
    assert_eq!(asha.next_id(later).await, None, "she has accepted it");
    assert_eq!(
        Screen::new(&stack, "asha").next_id(later).await,
        None,
        "on another screen, too"
    );
    assert_eq!(juma.next_id(later).await, Some(id));
    let answered = juma.answer(id, accept(), later).await;
    let ReviewResult::Decided(Decided::Done(after)) = answered else {
        panic!("it waits")
    };
    assert_eq!(
        (after.status.instant_win(), after.status.message_key()),
        (Some(PRIZE), MessageKey::InstantWin)
    );
}

#[tokio::test]
async fn more_entries_than_the_service_gives_need_two_people() {
    let stack = Stack::with_chai().await;
    let counted = |counted| {
        move |submission| {
            let (date, branch, items_summary) = (None, None, None);
            let receipt = ReceiptSummary {
                date,
                branch,
                items_summary,
                counted_entries: Some(counted),
            };
            Submission {
                receipt: Some(receipt),
                ..submission
            }
        }
    };
    let max = ReceiptRules::DEFAULT_MAX_ENTRIES;
    // A submission has 2 entries; a till's higher count does not raise that.
    for (waiting, alone) in [
        (with_receipt(&stack, photo(None), as_it_is).await, 2),
        (with_receipt(&stack, photo(None), counted(5)).await, 5),
        (
            with_receipt(&stack, photo(None), counted(max * 10)).await,
            max,
        ),
    ] {
        let id = waiting.submission_id.to_string();
        let (entries, more) = (alone.to_string(), (alone + 1).to_string());
        let how = |entries| ["--accept", "--without-receipt-code", "--entries", entries];
        let proposed = by(&stack, "asha", settle(&id, &how(&more))).await;
        assert_eq!(json_of(&proposed)["state"], "pending", "{more}");
        let again = by(&stack, "asha", settle(&id, &how(&more))).await;
        assert!(
            again.err.contains("second_person_needed") && again.err.contains(&entries),
            "{}",
            again.err
        );
        assert_eq!(
            json_of(&by(&stack, "juma", settle(&id, &how(&more))).await)["entries"],
            alone + 1
        );
    }
    let usual = with_receipt(&stack, photo(None), as_it_is)
        .await
        .submission_id
        .to_string();
    let alone = ["--accept", "--without-receipt-code", "--entries", "2"];
    assert_eq!(
        json_of(&by(&stack, "asha", settle(&usual, &alone)).await)["entries"],
        2
    );
}
