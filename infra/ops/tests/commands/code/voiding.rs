//! `ops code void`.

use std::time::Duration;

use common::app::code_verifier::{CodeQuery, Staleness};
use common::domain::campaign::CodePolicy;
use common::domain::code_record::CodeKey;
use common::domain::codebook::BookMatch;
use common::domain::phone::Phone;
use common::domain::resolved_code::ResolvedCode;
use common::domain::scope::Environment;
use common::random;
use serde_json::json;

use super::{LIVE, book, codes_in, mint_args, normal, verifier};
use crate::support::{Stack, chai};

async fn enter(stack: &Stack, serial: u64) {
    let key = CodeKey::Minted(serial);
    let submission = crate::submission::submission(
        random::submission_id(),
        common::domain::submission::SubmissionStatus::accepted(1, None),
        Some(key.in_scope(&chai(Environment::Live))),
    );
    crate::submission::write(stack, &submission, Some(&key)).await;
    let phone: Phone = "0712345678".parse().expect("a phone");
    let tables = stack.tables().await;
    let record = tables
        .codes()
        .get(&chai(Environment::Live), &key)
        .await
        .expect("it answers");
    let id = tables
        .entrant_id(&chai(Environment::Live), &phone)
        .await
        .expect("it answers");
    assert_eq!(record.expect("a record").hold.expect("a hold").entrant, id);
}

#[tokio::test]
async fn a_batch_is_voided_as_a_whole() {
    let stack = Stack::with_chai().await;
    stack.fine(&mint_args("3", &stack.arg("a.csv"), "")).await;
    let void = format!("code void --yes {LIVE} --batch batch-1");
    assert_eq!(stack.json(&void).await["status"], "void");
    let book = book(&stack).await;
    for code in codes_in(&stack, "a.csv") {
        assert!(matches!(
            book.verify(&normal(&code)),
            BookMatch::Withdrawn { .. }
        ));
    }
    let unknown = format!("code void --yes {LIVE} --batch batch-7");
    assert_eq!(stack.refused(&unknown).await["code"], "batch_unknown");
}

#[tokio::test]
async fn function_with_an_older_book_promises_no_void_prize() {
    let stack = Stack::with_chai().await;
    let verifier = verifier(&stack).await;
    stack
        .fine(&mint_args("1", &stack.arg("a.csv"), "--prize 'A car'"))
        .await;
    let minted = codes_in(&stack, "a.csv").concat();
    let (scope, code) = (chai(Environment::Live), minted.parse().expect("a code"));
    let query = CodeQuery {
        scope: &scope,
        policy: CodePolicy::Service,
        code: &code,
        consumer: None,
    };
    let is_redeemable = async || {
        let resolved = verifier
            .resolve(query, None, Staleness::Cached, stack.clock.now())
            .await;
        matches!(
            resolved.expect("it answers"),
            ResolvedCode::Named {
                is_redeemable: true,
                ..
            }
        )
    };
    assert!(is_redeemable().await);
    stack
        .fine(&format!("code void --yes {LIVE} --batch batch-1"))
        .await;
    stack.clock.advance(Duration::from_millis(999));
    assert!(
        is_redeemable().await,
        "the book in the cache is younger than a second"
    );
    stack.clock.advance(Duration::from_millis(1));
    assert!(!is_redeemable().await);
}

#[tokio::test]
async fn voiding_a_batch_says_how_long_its_codes_still_count() {
    let stack = Stack::with_chai().await;
    stack.fine(&mint_args("40", &stack.arg("a.csv"), "")).await;
    stack
        .fine(&mint_args("40", &stack.arg("b.csv"), "--prize 'A car'"))
        .await;
    for (batch, within) in [("batch-1", "5 seconds"), ("batch-2", "1 second")] {
        let text = stack
            .fine(&format!("code void --yes {LIVE} --batch {batch}"))
            .await;
        assert!(
            text.contains(&format!("its 40 codes stop working within {within}.")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_dry_run_counts_what_would_be_voided_and_voids_nothing() {
    let stack = Stack::with_chai().await;
    stack.fine(&mint_args("3", &stack.arg("a.csv"), "")).await;
    let minted = codes_in(&stack, "a.csv");
    enter(&stack, 0).await;
    let rows = stack.json("audit list").await;
    let void = format!("code void --dry-run {LIVE}");
    let batch = format!("{void} --batch batch-1");
    let planned = stack.json(&batch).await;
    assert_eq!(
        (&planned["dry_run"], &planned["status"]),
        (&json!(true), &json!("active"))
    );
    assert_eq!(
        (&planned["used"], &planned["unused"]),
        (&json!(1), &json!(2))
    );
    let text = stack.fine(&batch).await;
    assert!(
        text.contains("Nothing was voided") && text.contains("2 of its 3 codes are unused."),
        "{text}"
    );
    let book = book(&stack).await;
    for code in &minted {
        assert!(matches!(
            book.verify(&normal(code)),
            BookMatch::Minted { .. }
        ));
    }
    assert_eq!(
        stack.json("audit list").await,
        rows,
        "nothing changed that would have a row"
    );
    let unknown = format!("{void} --batch batch-7");
    assert_eq!(stack.refused(&unknown).await["code"], "batch_unknown");
}
