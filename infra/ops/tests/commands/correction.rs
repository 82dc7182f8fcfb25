//! `ops submission revoke` and `reopen`.

use std::time::Duration;

use common::domain::code_record::CodeHold;
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use service_tests::text::fields;

use crate::decision::owner;
use crate::review::{CODE, as_it_is, photo, with_receipt};
use crate::submission::{WHY, entrant, hold, holding, submission};
use crate::support::Stack;

/// Writes an accepted submission with the first minted code.
async fn accepted(stack: &Stack, prize: Option<&str>) -> Submission {
    let status = SubmissionStatus::accepted(2, prize.map(str::to_owned));
    holding(stack, 0, submission(status, None)).await
}

async fn counts(stack: &Stack, submission: &Submission) -> (u32, u32, u64) {
    let entrant = entrant(stack, submission).await;
    (entrant.total, entrant.today, entrant.entries)
}

#[tokio::test]
async fn revoked_entry_gives_place_back_and_its_code_stays_used() {
    let stack = Stack::with_chai().await;
    stack.mint(9).await;
    let entered = accepted(&stack, None).await;
    assert_eq!(counts(&stack, &entered).await, (1, 1, 2));
    let reference = entered.reference().to_string();
    let said = stack
        .fine(format!("submission revoke {reference} {WHY}"))
        .await;
    let expected = "revoked: 2 entries taken back; its code stays used";
    assert_eq!(said, format!("{reference} {expected}\n"));
    let id = entered.submission_id;
    let names = "state display_status message_key reasons decision.by decision.why";
    assert_eq!(
        fields(&stack.shown(id).await, names),
        r#"rejected not_accepted blocked ["blocked","revoked"] asha Receipt seen"#
    );
    assert_eq!(counts(&stack, &entered).await, (0, 0, 0));
    let claim = hold(&stack).await.expect("it stays used");
    assert!(
        claim.redeemed
            && claim.submission_id == entered.submission_id
            && claim.entrant != entered.entrant_id
    );

    let ended = stack
        .run(format!("submission revoke {id} --by juma {WHY}"))
        .await
        .fine();
    assert_contains!(
        ended.out,
        "was revoked already by asha",
        "nothing was changed"
    );
    assert_eq!(counts(&stack, &entered).await, (0, 0, 0));
    let story = stack.fine(format!("submission timeline {id}")).await;
    let in_order = [
        "made: accepted, entered",
        "decided by asha: Receipt seen",
        "rejected, blocked, revoked",
    ];
    let places = in_order.map(|part| story.find(part));
    assert!(places[0].is_some() && places.is_sorted(), "{story}");
}

#[tokio::test]
async fn reopened_entry_holds_its_code_and_can_be_accepted_again() {
    for free_code in ["", "--free-code"] {
        let stack = Stack::with_chai().await;
        stack.mint(9).await;
        let entered = accepted(&stack, None).await;
        let id = entered.submission_id.to_string();
        stack
            .fine(format!("submission revoke {id} {free_code} {WHY}"))
            .await;
        assert_eq!(hold(&stack).await.is_none(), !free_code.is_empty());

        let reopened = stack.json(format!("submission reopen {id} {WHY}")).await;
        assert_eq!(
            fields(&reopened, "state reasons"),
            r#"unknown ["reopened"]"#
        );
        assert_eq!(counts(&stack, &entered).await, (1, 1, 0));
        let held = hold(&stack).await.expect("it holds the code");
        let expected = CodeHold {
            entrant: entered.entrant_id.clone(),
            submission_id: entered.submission_id,
            redeemed: false,
        };
        assert_eq!(held, expected);
        let listed = stack
            .json("submission list --campaign chai-bora-2026 --unsettled")
            .await;
        assert_eq!(listed["submissions"][0]["settling"]["assignee"], "operator");

        stack
            .refused(format!("submission resume {id}"), "nothing_to_resume")
            .await;
        stack
            .fine(format!("submission settle {id} --accept {WHY}"))
            .await;
        assert_eq!(counts(&stack, &entered).await, (1, 1, 2));
        assert!(hold(&stack).await.is_some_and(|claim| claim.redeemed));
    }
}

#[tokio::test]
async fn what_is_not_free_any_more_is_not_taken_back() {
    let stack = Stack::with_chai().await;
    stack.mint(9).await;
    let first = accepted(&stack, None).await;
    let reopen = format!("submission reopen {} {WHY}", first.submission_id);
    let second = accepted_after(&stack, &first).await.submission_id;
    stack.refused(&reopen, "code_taken").await;
    let holder = hold(&stack).await.map(|claim| claim.submission_id);
    assert_eq!(holder, Some(second));
    stack
        .fine(format!("submission revoke {second} --free-code {WHY}"))
        .await;
    let phone = "--campaign chai-bora-2026 --why 'Sells codes' 0712345678";
    stack.fine(format!("phone block {phone}")).await;
    stack.refused(&reopen, "phone_blocked").await;
    stack.fine(format!("phone unblock {phone}")).await;
    for _ in 0..3 {
        crate::submission::accepted(&stack, 1).await;
    }
    stack.refused(&reopen, "place_taken").await;
    assert_eq!(hold(&stack).await, None);
    assert_eq!(counts(&stack, &first).await, (3, 3, 3));
    let batch = "code void --yes --campaign chai-bora-2026 --environment live --batch batch-1";
    stack.fine(&batch).await;
    stack.refused(&reopen, "code_void").await;
}

#[tokio::test]
async fn a_prize_is_taken_back_by_two_people_alone() {
    let stack = Stack::with_chai().await;
    stack.mint("9 --prize 'A kettle'").await;
    let won = accepted(&stack, Some("A kettle")).await;
    let id = won.submission_id;
    for what in ["revoke", "reopen"] {
        let correct = format!("submission {what} {id} {WHY}");
        stack.clock.advance(Duration::from_secs(60));
        let before = stack.shown(id).await;
        stack.json_by("asha", &correct).await;
        let after = stack.shown(id).await;
        let unchanged = "state updated_at";
        assert_eq!(fields(&before, unchanged), fields(&after, unchanged));
        assert_eq!(after["proposal"]["decision"]["by"], "asha");
        for same in ["asha/juma", "juma/ASHA"] {
            let refused = stack.run_by(same, &correct).await;
            refused.refused("second_person_needed");
        }
        if what == "revoke" {
            // Another correction is a new proposal.
            let other = stack
                .json_by("juma", format!("submission {what} {id} --free-code {WHY}"))
                .await;
            assert_eq!(other["replaced_proposal"]["decision"]["by"], "asha");
            let told = stack
                .run(format!("submission {what} {id} --by asha {WHY}"))
                .await
                .out;
            assert_contains!(
                told,
                "This replaces what juma asked for at",
                "to revoke and free the code"
            );
        }
        let corrected = stack.json_by("juma", &correct).await;
        assert_ne!(corrected["state"], before["state"]);
        let names = "decision.by decision.confirmed.by proposal";
        assert_eq!(fields(&corrected, names), "asha juma null");
    }
    stack.clock.advance(Duration::from_secs(60));
    let accept = format!("submission settle {id} --accept {WHY}");
    stack.json_by("asha", &accept).await;
    let accepted = stack.json_by("juma", &accept).await;
    assert_eq!(
        fields(&accepted, "instant_win message_key"),
        "A kettle instant_win"
    );
    let story = stack.fine(format!("submission timeline {id}")).await;
    let decided = "decided by asha: Receipt seen; confirmed by juma: Receipt seen";
    assert_eq!(story.matches(decided).count(), 3, "{story}");
}

#[tokio::test]
async fn own_decision_is_not_reopened() {
    let stack = Stack::with_chai().await;
    for verdict in [
        &format!("--accept --receipt-code {CODE}"),
        "--reject receipt_wrong_store",
    ] {
        let waiting = with_receipt(&stack, photo(None), as_it_is).await;
        let id = waiting.submission_id.to_string();
        stack
            .json_by("neema", format!("submission settle {id} {verdict} {WHY}"))
            .await;
        if verdict.contains("--accept") {
            // Revoking gives no prize, so one person may.
            stack
                .json_by("neema", format!("submission revoke {id} {WHY}"))
                .await;
        }
        let rows = async || stack.json("audit verify").await["count"].clone();
        let before = rows().await;
        for same in ["neema/juma", "juma/NEEMA"] {
            let refused = stack
                .run_by(same, format!("submission reopen {id} {WHY}"))
                .await;
            refused.refused("second_person_needed");
        }
        assert_eq!(rows().await, before, "what is refused is no row");
        stack
            .json_by("juma", format!("submission reopen {id} {WHY}"))
            .await;
    }
}

#[tokio::test]
async fn a_revoked_receipt_can_be_entered_again_and_counts_once() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, photo(None), as_it_is).await;
    let second = with_receipt(&stack, photo(None), as_it_is).await;
    let [first_id, second_id] = [first.submission_id, second.submission_id];
    let accept = format!("--accept --receipt-code {CODE}");
    stack
        .fine(format!("submission settle {first_id} {accept} {WHY}"))
        .await;
    stack
        .fine(format!("submission revoke {first_id} {WHY}"))
        .await;
    assert_eq!(owner(&stack, &first).await, None);
    stack
        .fine(format!("submission settle {second_id} {accept} {WHY}"))
        .await;

    let reopened = stack
        .json_by("juma", format!("submission reopen {first_id} {WHY}"))
        .await;
    assert_eq!(reopened["display_status"], "receipt_in_review");
    for (verdict, code) in [
        ("--accept", "receipt_code_needed"),
        (&accept, "purchase_taken"),
    ] {
        let settle = format!("submission settle {first_id} {verdict} {WHY}");
        stack.refused(settle, code).await;
    }
    assert_eq!(owner(&stack, &first).await, Some(second.submission_id));
    assert_eq!(counts(&stack, &first).await, (2, 2, 2));
}

#[tokio::test]
async fn what_cannot_be_corrected_is_said() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is).await;
    let entered = accepted(&stack, None).await;
    let [waiting, entered] = [waiting, entered].map(|one| one.submission_id.to_string());
    let unknown = random::submission_id().to_string();
    for (what, name, code) in [
        ("revoke", waiting.as_str(), "not_settled"),
        ("reopen", &waiting, "not_settled"),
        ("reopen", &entered, "accepted"),
        ("revoke", "nothing", "name_invalid"),
        ("reopen", &unknown, "submission_unknown"),
    ] {
        stack
            .refused(format!("submission {what} {name} {WHY}"), code)
            .await;
    }
    stack
        .fine(format!(
            "submission settle {waiting} --reject receipt_wrong_store {WHY}"
        ))
        .await;
    stack
        .refused(format!("submission revoke {waiting} {WHY}"), "not_accepted")
        .await;
    let ended = stack
        .run(format!("submission revoke {entered}"))
        .await
        .misused();
    assert_contains!(ended, "--why <TEXT>");
}

#[tokio::test]
async fn a_code_that_stayed_used_is_not_freed_silently_later() {
    let stack = Stack::with_chai().await;
    stack.mint(9).await;
    let id = accepted(&stack, None).await.submission_id.to_string();
    stack.fine(format!("submission revoke {id} {WHY}")).await;
    let message = stack
        .refused(
            format!("submission revoke {id} --free-code {WHY}"),
            "already_revoked",
        )
        .await
        .message;
    assert_contains!(message, "its code stays used", "ops submission reopen");
    assert!(hold(&stack).await.is_some());
    stack.fine(format!("submission reopen {id} {WHY}")).await;
    stack
        .fine(format!("submission settle {id} --accept {WHY}"))
        .await;
    stack
        .fine(format!("submission revoke {id} --free-code {WHY}"))
        .await;
    assert_contains!(
        stack
            .fine(format!("submission revoke {id} --free-code {WHY}"))
            .await,
        "was revoked already"
    );
    assert_eq!(hold(&stack).await, None);
}

#[tokio::test]
async fn of_two_who_revoke_at_once_one_does() {
    let stack = Stack::with_chai().await;
    let entered = accepted(&stack, None).await;
    let id = entered.submission_id.to_string();
    let revoke = format!("submission revoke {id} {WHY}");
    let (one, other) = tokio::join!(stack.run(&revoke), stack.run(&revoke));
    let done = [&one, &other]
        .iter()
        .filter(|ended| ended.out.contains("taken back"))
        .count();
    assert_eq!(done, 1, "{}{}{}{}", one.out, one.err, other.out, other.err);
    assert_eq!(counts(&stack, &entered).await, (0, 0, 0));
}

/// What an operator does with one of two submissions, and its options.
fn any_act() -> impl Strategy<Value = (usize, [&'static str; 2])> {
    let acts = vec![
        ["revoke", ""],
        ["revoke", "--free-code"],
        ["reopen", ""],
        ["settle", "--accept"],
        ["settle", "--reject invalid"],
    ];
    (0..2usize, prop::sample::select(acts))
}

#[tokio::test]
async fn corrections_in_any_order_keep_counts_and_one_holder() {
    let stack = Stack::with_chai().await;
    stack.mint(9).await;
    let first = accepted(&stack, None).await;
    let ids = [
        first.submission_id,
        accepted_after(&stack, &first).await.submission_id,
    ];
    let acts = prop::collection::vec(any_act(), 60).new_tree(&mut TestRunner::deterministic());
    for (which, [what, options]) in acts.expect("acts").current() {
        let id = ids[which];
        let ended = stack
            .run(format!("submission {what} {id} {options} {WHY}"))
            .await;
        assert!(
            ended.code == ops_core::EXIT_OK || ended.err.starts_with("error: "),
            "{}",
            ended.err
        );
        let mut shown: Vec<Value> = Vec::new();
        for id in &ids {
            shown.push(stack.shown(id).await);
        }
        let counting: Vec<_> = shown
            .iter()
            .filter(|one| one["state"] != "rejected")
            .collect();
        assert!(counting.len() <= 1, "one code, two submissions: {shown:?}");
        let entries = counting
            .iter()
            .filter_map(|one| one["entries"].as_u64())
            .sum();
        let places = u32::try_from(counting.len()).expect("few");
        assert_eq!(
            counts(&stack, &first).await,
            (places, places, entries),
            "after {what} {options}"
        );
        let holder = hold(&stack).await;
        if let Some(one) = counting.first() {
            let holder = holder.expect("a code");
            assert_eq!(json!(holder.submission_id), one["id"]);
            assert_eq!(holder.entrant, first.entrant_id);
            assert_eq!(holder.redeemed, one["state"] == "accepted");
        }
    }
}

/// Frees a code, and writes another accepted submission with it.
async fn accepted_after(stack: &Stack, first: &Submission) -> Submission {
    stack
        .fine(format!(
            "submission revoke {} --free-code {WHY}",
            first.submission_id
        ))
        .await;
    accepted(stack, None).await
}
