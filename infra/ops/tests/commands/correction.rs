//! `ops submission revoke` and `reopen`.

use std::time::Duration;

use common::domain::code_record::{CodeHold, CodeKey};
use common::domain::message::MessageKey;
use common::domain::scope::Environment;
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::review::{CODE, as_it_is, code, photo, with_receipt};
use crate::submission::{WHY, entrant, submission, write};
use crate::support::{Ended, Stack, chai, line, run};

/// A `submission` command with a reason.
fn on<'a>(what: &'a str, name: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["submission", what, name][..], options, &WHY].concat()
}

pub(crate) async fn minted(stack: &Stack, prize: Option<&str>) {
    let mint = line("code mint --campaign chai-bora-2026 --environment live --count 9");
    let (output, prize) = (
        stack.arg("codes.csv"),
        prize.map(|prize| ["--prize", prize]),
    );
    let prize = prize.as_ref().map_or(&[][..], |prize| &prize[..]);
    stack
        .fine(&[&mint[..], &["--output", &output], prize].concat())
        .await;
}

/// Writes an accepted submission with the first minted code.
async fn accepted(stack: &Stack, prize: Option<&str>) -> Submission {
    let key = CodeKey::Minted(0);
    let code_key = Some(key.in_scope(&chai(Environment::Live)));
    let status = SubmissionStatus::accepted(2, prize.map(str::to_owned));
    let submission = submission(random::submission_id(), status, code_key);
    write(stack, &submission, Some(&key)).await;
    submission
}

async fn claim(stack: &Stack) -> Option<CodeHold> {
    let tables = stack.tables().await;
    let record = tables
        .codes()
        .get(&chai(Environment::Live), &CodeKey::Minted(0))
        .await;
    record.expect("it answers").and_then(|record| record.hold)
}

async fn counts(stack: &Stack, submission: &Submission) -> (u32, u32, u64) {
    let entrant = entrant(stack, submission).await;
    (entrant.total, entrant.today, entrant.entries)
}

#[tokio::test]
async fn revoked_entry_gives_place_back_and_its_code_stays_used() {
    let stack = Stack::with_chai().await;
    minted(&stack, None).await;
    let entered = accepted(&stack, None).await;
    assert_eq!(counts(&stack, &entered).await, (1, 1, 2));
    let reference = entered.reference().to_string();
    let ended = stack.run(&on("revoke", &reference, &[])).await;
    assert_eq!(
        (ended.code, ended.out),
        (
            ops_core::EXIT_OK,
            format!("{reference} revoked: 2 entries taken back; its code stays used\n")
        )
    );
    let id = entered.submission_id.to_string();
    let shown = stack.json(&["submission", "show", &id]).await["submissions"][0].clone();
    assert_eq!(
        json!([shown["state"], shown["display_status"]]),
        json!(["rejected", "not_accepted"])
    );
    assert_eq!(
        json!([shown["message_key"], shown["reasons"]]),
        json!(["blocked", ["blocked", "revoked"]])
    );
    assert_eq!(
        json!([shown["decision"]["by"], shown["decision"]["why"]]),
        json!(["asha", "Receipt seen"])
    );
    assert_eq!(counts(&stack, &entered).await, (0, 0, 0));
    let claim = claim(&stack).await.expect("it stays used");
    assert!(
        claim.redeemed
            && claim.submission_id == entered.submission_id
            && claim.entrant != entered.entrant_id
    );

    let ended = stack.run(&on("revoke", &id, &["--by", "juma"])).await;
    assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
    assert!(
        ended.out.contains("was revoked already by asha")
            && ended.out.contains("nothing was changed"),
        "{}",
        ended.out
    );
    assert_eq!(counts(&stack, &entered).await, (0, 0, 0));
    let story = stack.fine(&["submission", "timeline", &id]).await;
    let place = |part: &str| {
        story
            .find(part)
            .unwrap_or_else(|| panic!("{part} in {story}"))
    };
    assert!(
        place("made: accepted, entered") < place("decided by asha: Receipt seen"),
        "{story}"
    );
    assert!(
        place("decided by asha") < place("rejected, blocked, revoked"),
        "{story}"
    );
}

#[tokio::test]
async fn reopened_entry_holds_its_code_and_can_be_accepted_again() {
    for free_code in [&[][..], &["--free-code"]] {
        let stack = Stack::with_chai().await;
        minted(&stack, None).await;
        let entered = accepted(&stack, None).await;
        let id = entered.submission_id.to_string();
        stack.fine(&on("revoke", &id, free_code)).await;
        assert_eq!(claim(&stack).await.is_none(), !free_code.is_empty());

        let reopened = stack.json(&on("reopen", &id, &[])).await;
        assert_eq!(
            json!([reopened["state"], reopened["reasons"]]),
            json!(["unknown", ["reopened"]])
        );
        assert_eq!(counts(&stack, &entered).await, (1, 1, 0));
        let held = claim(&stack).await.expect("it holds the code");
        let expected = CodeHold {
            entrant: entered.entrant_id.clone(),
            submission_id: entered.submission_id,
            redeemed: false,
        };
        assert_eq!(held, expected);
        let listed = stack
            .json(&line(
                "submission list --campaign chai-bora-2026 --unsettled",
            ))
            .await;
        assert_eq!(listed["submissions"][0]["settling"]["assignee"], "operator");

        let error = stack.refused(&["submission", "resume", &id]).await;
        assert_eq!(
            error["code"], "nothing_to_resume",
            "the service would accept it unseen"
        );
        stack.fine(&on("settle", &id, &["--accept"])).await;
        assert_eq!(counts(&stack, &entered).await, (1, 1, 2));
        assert!(claim(&stack).await.is_some_and(|claim| claim.redeemed));
    }
}

#[tokio::test]
async fn what_is_not_free_any_more_is_not_taken_back() {
    let stack = Stack::with_chai().await;
    minted(&stack, None).await;
    let first = accepted(&stack, None).await;
    let id = first.submission_id.to_string();
    stack.fine(&on("revoke", &id, &["--free-code"])).await;
    let second = accepted(&stack, None).await;
    assert_eq!(
        stack.refused(&on("reopen", &id, &[])).await["code"],
        "code_taken"
    );
    assert_eq!(
        claim(&stack).await.map(|claim| claim.submission_id),
        Some(second.submission_id)
    );
    stack
        .fine(&on(
            "revoke",
            &second.submission_id.to_string(),
            &["--free-code"],
        ))
        .await;

    stack
        .fine(&[
            "phone",
            "block",
            "--campaign",
            "chai-bora-2026",
            "--why",
            "Sells codes",
            "0712345678",
        ])
        .await;
    assert_eq!(
        stack.refused(&on("reopen", &id, &[])).await["code"],
        "phone_blocked"
    );
    stack
        .fine(&line(
            "phone unblock --campaign chai-bora-2026 --why Mistaken 0712345678",
        ))
        .await;
    for _ in 0..3 {
        write(
            &stack,
            &submission(
                random::submission_id(),
                SubmissionStatus::accepted(1, None),
                None,
            ),
            None,
        )
        .await;
    }
    assert_eq!(
        stack.refused(&on("reopen", &id, &[])).await["code"],
        "place_taken",
        "three a day"
    );
    assert_eq!(
        (claim(&stack).await, counts(&stack, &first).await),
        (None, (3, 3, 3))
    );

    let batch =
        line("code void --yes --campaign chai-bora-2026 --environment live --batch batch-1");
    stack.fine(&batch).await;
    assert_eq!(
        stack.refused(&on("reopen", &id, &[])).await["code"],
        "code_void"
    );
}

/// Runs a command under another identity and name.
pub(crate) async fn by(stack: &Stack, operator: &str, args: Vec<&str>) -> Ended {
    let (identity, name) = operator.split_once('/').unwrap_or((operator, operator));
    let identity = [("AWS_ACCESS_KEY_ID".to_owned(), identity.to_owned())]
        .into_iter()
        .collect();
    let args = [&args[..], &["--by", name, "--json"]].concat();
    run(
        &args,
        stack.env.clone().overridden_by(identity),
        &stack.clock,
    )
    .await
}

#[tokio::test]
async fn a_prize_is_taken_back_by_two_people_alone() {
    let stack = Stack::with_chai().await;
    minted(&stack, Some("A kettle")).await;
    let won = accepted(&stack, Some("A kettle")).await;
    let id = won.submission_id.to_string();
    let state = async || stack.json(&["submission", "show", &id]).await["submissions"][0].clone();
    for what in ["revoke", "reopen"] {
        stack.clock.advance(Duration::from_secs(60));
        let before = state().await;
        assert_eq!(
            by(&stack, "asha", on(what, &id, &[])).await.code,
            ops_core::EXIT_OK
        );
        let after = state().await;
        assert_eq!(
            (&before["state"], &before["updated_at"]),
            (&after["state"], &after["updated_at"])
        );
        assert_eq!(after["proposal"]["decision"]["by"], "asha");
        for same in ["asha/juma", "juma/ASHA"] {
            let refused = by(&stack, same, on(what, &id, &[])).await;
            assert!(
                refused.err.contains("second_person_needed"),
                "{same}: {}",
                refused.err
            );
        }
        if what == "revoke" {
            // Another correction is a new proposal.
            let other = by(&stack, "juma", on(what, &id, &["--free-code"])).await;
            let other: Value = serde_json::from_str(&other.out).expect("JSON");
            assert_eq!(other["replaced_proposal"]["decision"]["by"], "asha");
            let told = stack.run(&on(what, &id, &["--by", "asha"])).await.out;
            assert!(
                told.contains("This replaces what juma asked for at"),
                "{told}"
            );
            assert!(told.contains("to revoke and free the code"), "{told}");
        }
        let corrected = by(&stack, "juma", on(what, &id, &[])).await;
        let corrected: Value = serde_json::from_str(&corrected.out).expect("JSON");
        assert_ne!(corrected["state"], before["state"]);
        let decision = &corrected["decision"];
        assert_eq!(
            json!([decision["by"], decision["confirmed"]["by"]]),
            json!(["asha", "juma"])
        );
        assert_eq!(corrected["proposal"], json!(null));
    }
    stack.clock.advance(Duration::from_secs(60));
    assert_eq!(
        by(&stack, "asha", on("settle", &id, &["--accept"]))
            .await
            .code,
        ops_core::EXIT_OK
    );
    let accept = by(&stack, "juma", on("settle", &id, &["--accept"])).await;
    let accept: Value = serde_json::from_str(&accept.out).expect("JSON");
    assert_eq!(
        json!([accept["instant_win"], accept["message_key"]]),
        json!(["A kettle", MessageKey::InstantWin])
    );
    let story = stack.fine(&["submission", "timeline", &id]).await;
    assert_eq!(
        story
            .matches("decided by asha: Receipt seen; confirmed by juma: Receipt seen")
            .count(),
        3,
        "{story}"
    );
}

#[tokio::test]
async fn own_decision_is_not_reopened() {
    let stack = Stack::with_chai().await;
    for verdict in [
        &["--accept", "--receipt-code", CODE][..],
        &["--reject", "receipt_wrong_store"],
    ] {
        let waiting = with_receipt(&stack, photo(None), as_it_is).await;
        let id = waiting.submission_id.to_string();
        assert_eq!(
            by(&stack, "neema", on("settle", &id, verdict)).await.code,
            ops_core::EXIT_OK
        );
        if verdict.contains(&"--accept") {
            // Revoking gives no prize, so one person may.
            assert_eq!(
                by(&stack, "neema", on("revoke", &id, &[])).await.code,
                ops_core::EXIT_OK
            );
        }
        let rows = async || stack.json(&["audit", "verify"]).await["count"].clone();
        let before = rows().await;
        for same in ["neema/juma", "juma/NEEMA"] {
            let refused = by(&stack, same, on("reopen", &id, &[])).await;
            assert!(
                refused.err.contains("second_person_needed"),
                "{same}: {}",
                refused.err
            );
        }
        assert_eq!(rows().await, before, "what is refused is no row");
        let reopened = by(&stack, "juma", on("reopen", &id, &[])).await;
        assert_eq!(reopened.code, ops_core::EXIT_OK, "{}", reopened.err);
    }
}

#[tokio::test]
async fn a_revoked_receipt_can_be_entered_again_and_counts_once() {
    let stack = Stack::with_chai().await;
    let first = with_receipt(&stack, photo(None), as_it_is).await;
    let second = with_receipt(&stack, photo(None), as_it_is).await;
    let (first_id, second_id) = (
        first.submission_id.to_string(),
        second.submission_id.to_string(),
    );
    let accept = ["--accept", "--receipt-code", CODE];
    stack.fine(&on("settle", &first_id, &accept)).await;
    stack.fine(&on("revoke", &first_id, &[])).await;
    let tables = stack.tables().await;
    let owner = async || {
        tables
            .store
            .receipts()
            .purchase(&first.scope, &code())
            .await
            .expect("it answers")
    };
    assert_eq!(owner().await, None);
    stack.fine(&on("settle", &second_id, &accept)).await;

    let reopened = by(&stack, "juma", on("reopen", &first_id, &[])).await;
    let reopened: Value = serde_json::from_str(&reopened.out).expect("JSON");
    assert_eq!(reopened["display_status"], "receipt_in_review");
    assert_eq!(
        stack.refused(&on("settle", &first_id, &["--accept"])).await["code"],
        "receipt_code_needed"
    );
    assert_eq!(
        stack.refused(&on("settle", &first_id, &accept)).await["code"],
        "purchase_taken"
    );
    assert_eq!(owner().await, Some(second.submission_id));
    assert_eq!(counts(&stack, &first).await, (2, 2, 2));
}

#[tokio::test]
async fn what_cannot_be_corrected_is_said() {
    let stack = Stack::with_chai().await;
    let waiting = with_receipt(&stack, photo(None), as_it_is)
        .await
        .submission_id
        .to_string();
    let entered = accepted(&stack, None).await.submission_id.to_string();
    for (what, name, code) in [
        ("revoke", &waiting, "not_settled"),
        ("reopen", &waiting, "not_settled"),
        ("reopen", &entered, "accepted"),
        ("revoke", &"nothing".to_owned(), "name_invalid"),
        (
            "reopen",
            &random::submission_id().to_string(),
            "submission_unknown",
        ),
    ] {
        assert_eq!(
            stack.refused(&on(what, name, &[])).await["code"],
            code,
            "{what} {code}"
        );
    }
    stack
        .fine(&on(
            "settle",
            &waiting,
            &["--reject", "receipt_wrong_store"],
        ))
        .await;
    assert_eq!(
        stack.refused(&on("revoke", &waiting, &[])).await["code"],
        "not_accepted"
    );
    let ended = stack.run(&["submission", "revoke", &entered]).await;
    assert!(
        ended.code == ops_core::EXIT_USAGE && ended.err.contains("--why <TEXT>"),
        "{}",
        ended.err
    );
}

#[tokio::test]
async fn a_code_that_stayed_used_is_not_freed_silently_later() {
    let stack = Stack::with_chai().await;
    minted(&stack, None).await;
    let id = accepted(&stack, None).await.submission_id.to_string();
    stack.fine(&on("revoke", &id, &[])).await;
    let error = stack.refused(&on("revoke", &id, &["--free-code"])).await;
    assert_eq!(error["code"], "already_revoked");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("its code stays used") && message.contains("ops submission reopen"),
        "{message}"
    );
    assert!(claim(&stack).await.is_some());
    stack.fine(&on("reopen", &id, &[])).await;
    stack.fine(&on("settle", &id, &["--accept"])).await;
    stack.fine(&on("revoke", &id, &["--free-code"])).await;
    assert!(
        stack
            .fine(&on("revoke", &id, &["--free-code"]))
            .await
            .contains("was revoked already")
    );
    assert_eq!(claim(&stack).await, None);
}

#[tokio::test]
async fn of_two_who_revoke_at_once_one_does() {
    let stack = Stack::with_chai().await;
    let entered = accepted(&stack, None).await;
    let id = entered.submission_id.to_string();
    let revoke = on("revoke", &id, &[]);
    let (one, other): (Ended, Ended) = tokio::join!(stack.run(&revoke), stack.run(&revoke));
    let done = [&one, &other]
        .iter()
        .filter(|ended| ended.out.contains("taken back"))
        .count();
    assert_eq!(done, 1, "{}{}{}{}", one.out, one.err, other.out, other.err);
    assert_eq!(counts(&stack, &entered).await, (0, 0, 0));
}

/// An operator's act on one of two submissions.
fn any_act() -> impl Strategy<Value = (usize, Vec<&'static str>)> {
    let acts: Vec<(&str, Vec<&str>)> = vec![
        ("revoke", vec![]),
        ("revoke", vec!["--free-code"]),
        ("reopen", vec![]),
        ("settle", vec!["--accept"]),
        ("settle", vec!["--reject", "invalid"]),
    ];
    let acts: Vec<Vec<&str>> = acts
        .into_iter()
        .map(|(what, options)| [&[what][..], &options].concat())
        .collect();
    (0..2usize, prop::sample::select(acts))
}

#[tokio::test]
async fn corrections_in_any_order_keep_counts_and_one_holder() {
    let stack = Stack::with_chai().await;
    minted(&stack, None).await;
    let first = accepted(&stack, None).await;
    let ids = [
        first.submission_id,
        accepted_after(&stack, &first).await.submission_id,
    ];
    let acts = prop::collection::vec(any_act(), 60).new_tree(&mut TestRunner::deterministic());
    for (which, act) in acts.expect("acts").current() {
        let id = ids[which].to_string();
        let [what, options @ ..] = &act[..] else {
            continue;
        };
        let ended = stack.run(&on(what, &id, options)).await;
        assert!(
            ended.code == ops_core::EXIT_OK || ended.err.starts_with("error: "),
            "{}",
            ended.err
        );
        let mut shown: Vec<Value> = Vec::new();
        for id in &ids {
            let document = stack.json(&["submission", "show", &id.to_string()]).await;
            shown.push(document["submissions"][0].clone());
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
            "after {what} {options:?}"
        );
        let holder = claim(&stack).await;
        if let Some(one) = counting.first() {
            let holder = holder.expect("a code");
            assert_eq!(json!(holder.submission_id), one["id"]);
            assert_eq!(
                (holder.entrant, holder.redeemed),
                (first.entrant_id.clone(), one["state"] == "accepted")
            );
        }
    }
}

/// Frees a code, and writes another accepted submission with it.
async fn accepted_after(stack: &Stack, first: &Submission) -> Submission {
    stack
        .fine(&on(
            "revoke",
            &first.submission_id.to_string(),
            &["--free-code"],
        ))
        .await;
    accepted(stack, None).await
}
