//! Accepting an instant prize by hand, by command and in the review queue.

use std::time::Duration;

use common::domain::message::MessageKey;
use common::domain::receipt::rules::ReceiptRules;
use common::domain::settling::PendingSettlement;
use common::domain::submission::Submission;
use common::domain::submission::approval::{Approval, ProposedChange};
use common::store::review_locks::LOCK_LIFETIME;
use ops_core::approvals::Decided;
use ops_core::review::answer::ReviewResult;
use ops_core::settle::{Proof, Verdict};
use serde_json::{Value, json};
use service_tests::text::{parse_json, text_of};

use super::counted;
use crate::review::{CODE, as_it_is, code, photo, with_receipt};
use crate::reviewing::{Screen, stored};
use crate::submission::{WHY, entrant};
use crate::support::{NOW, Stack};

const PRIZE: &str = "A kettle";

/// Writes a submission with a receipt and a prize's code.
pub(crate) async fn at_stake(stack: &Stack) -> Submission {
    let with_prize = |submission| Submission {
        settling: Some(PendingSettlement::due_at(NOW, Some(PRIZE.to_owned())).escalate(NOW)),
        ..submission
    };
    with_receipt(stack, photo(None), with_prize).await
}

async fn details(stack: &Stack) -> Value {
    let row = stack.last_audit_row().await;
    assert_eq!(row["action"], "submission.settle");
    parse_json(text_of(&row["details"]))
}

#[tokio::test]
async fn a_prize_is_given_by_two_people_alone() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id;
    let accept = format!("--accept --receipt-code {CODE} --entries 7");
    stack.clock.advance(Duration::from_secs(60));
    let before = stack.shown(id).await;
    let proposed = stack
        .json_by("asha", format!("submission settle {id} {accept} {WHY}"))
        .await;
    assert_eq!(details(&stack).await["proposal"], true);
    let after = stack.shown(id).await;
    assert_eq!(
        proposed["proposal"]["correction"],
        json!({ "change": "accept", "entries": 7 })
    );
    assert_eq!(after["proposal"]["decision"]["by"], "asha");
    assert_eq!(after["decision"], Value::Null);
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
    let list = "submission list --campaign chai-bora-2026 --unsettled";
    assert_contains!(stack.fine(&list).await, "PROPOSED BY");
    for same in ["asha/juma", "juma/ASHA"] {
        let refused = stack
            .run_by(same, format!("submission settle {id} {accept} {WHY}"))
            .await;
        refused.refused("second_person_needed");
    }
    let settled = stack
        .json_by(
            "juma",
            format!("submission settle {id} --accept --receipt-code {CODE} {WHY}"),
        )
        .await;
    assert_eq!(settled["entries"], 7);
    assert_eq!(settled["instant_win"], json!(PRIZE));
    let decision = &settled["decision"];
    assert_eq!(decision["by"], "asha");
    assert_eq!(decision["confirmed"]["by"], "juma");
    assert_eq!(settled["proposal"], Value::Null);
    assert_eq!(details(&stack).await["proposal"], false);
    assert_eq!(entrant(&stack, &waiting).await.entries, 7);
}

#[tokio::test]
async fn other_acceptance_replaces_the_first_and_one_person_rejects() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id;
    let told = stack
        .fine(format!(
            "submission settle {id} --accept --receipt-code {CODE} {WHY}"
        ))
        .await;
    assert_contains!(
        told,
        "A kettle",
        "A second operator has to ask for the same"
    );
    for code in ["ZZ12CD3456", &format!("{CODE} --entries 3")] {
        let accept = format!("--accept --receipt-code {code}");
        let replaced = stack
            .json_by("juma", format!("submission settle {id} {accept} {WHY}"))
            .await;
        assert_eq!(replaced["state"], "pending");
        assert_eq!(replaced["proposal"]["decision"]["by"], "juma");
    }
    let told = stack
        .fine(format!(
            "submission settle {id} --accept --receipt-code {CODE} --entries 2 {WHY}"
        ))
        .await;
    assert_contains!(told, "This replaces what juma asked for");
    assert_lacks!(told, CODE);
    let story = stack.fine(format!("submission timeline {id}")).await;
    assert_contains!(story, "accept with 2 entries, asked for by asha");

    let rejected = stack
        .json_by(
            "asha",
            format!("submission settle {id} --reject receipt_wrong_store {WHY}"),
        )
        .await;
    assert_eq!(rejected["state"], "rejected");
    assert_eq!(rejected["proposal"], Value::Null);
}

#[tokio::test]
async fn the_service_starts_over_without_the_first_acceptance() {
    let stack = Stack::with_chai().await;
    let waiting = at_stake(&stack).await;
    let id = waiting.submission_id;
    stack
        .fine(format!(
            "submission settle {id} --accept --receipt-code {CODE} {WHY}"
        ))
        .await;
    let resumed = stack.json(format!("submission resume {id}")).await;
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
        let id = waiting.submission_id;
        let (entries, more) = (alone.to_string(), (alone + 1).to_string());
        let accept = "--accept --without-receipt-code --entries";
        let settle = format!("submission settle {id} {accept} {more} {WHY}");
        let proposed = stack.json_by("asha", &settle).await;
        assert_eq!(proposed["state"], "pending", "{more}");
        let again = stack.run_by("asha", &settle).await;
        assert_contains!(again.refused("second_person_needed").message, entries);
        assert_eq!(stack.json_by("juma", &settle).await["entries"], alone + 1);
    }
    let usual = with_receipt(&stack, photo(None), as_it_is).await;
    let usual = usual.submission_id;
    let alone = "--accept --without-receipt-code --entries 2";
    let settled = stack
        .json_by("asha", format!("submission settle {usual} {alone} {WHY}"))
        .await;
    assert_eq!(settled["entries"], 2);
}

#[tokio::test]
async fn request_that_the_log_does_not_have_is_no_first_person() {
    let stack = Stack::with_chai().await;
    let id = at_stake(&stack).await.submission_id;
    let accept = format!("submission settle {id} --accept --receipt-code {CODE} {WHY}");
    stack
        .run_by("asha", format!("{accept} --entries 1"))
        .await
        .fine();
    let tables = stack.tables();
    // By a person who may write the table: another number of entries, then another first person.
    let changes: [fn(&mut Approval); 2] = [
        |first| {
            let ProposedChange::Accept(acceptance) = &mut first.change else {
                panic!("asha accepts");
            };
            acceptance.entries = 7;
        },
        |first| {
            first.decision.by = "neema".to_owned();
            first.decision.identity = Some("arn:aws:iam::000000000000:user/neema".to_owned());
        },
    ];
    for change in changes {
        let asked = stored(&tables, id).await;
        let mut forged = asked.approval.clone().expect("a request");
        change(&mut forged);
        let after = asked.awaiting(forged);
        let written = tables.store.annotate(&asked, &after).await;
        assert!(written.expect("it answers"));
        stack.clock.advance(Duration::from_secs(60));
        let asked = stack.json_by("juma", format!("{accept} --entries 7")).await;
        assert_eq!(asked["proposal"]["decision"]["by"], "juma");
        assert_eq!(asked["instant_win"], Value::Null);
    }
    let settled = stack.json_by("asha", format!("{accept} --entries 7")).await;
    assert_eq!(settled["decision"]["confirmed"]["by"], "asha");
}
