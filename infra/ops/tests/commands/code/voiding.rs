//! `ops code void`.

use common::domain::codebook::BookMatch;
use common::domain::submission::SubmissionStatus;

use super::{LIVE, codes_in, mint, normal};
use crate::submission::{holding, submission};
use crate::support::Stack;

#[tokio::test]
async fn a_batch_is_voided_as_a_whole() {
    let stack = Stack::with_chai().await;
    stack.fine(mint(&stack, "a.csv", "3")).await;
    let void = format!("code void --yes {LIVE} --batch batch-1");
    assert_eq!(stack.json(&void).await["status"], "void");
    let book = stack.book().await;
    for code in codes_in(&stack, "a.csv") {
        assert!(matches!(
            book.verify(&normal(&code)),
            BookMatch::Withdrawn { .. }
        ));
    }
    let unknown = format!("code void --yes {LIVE} --batch batch-7");
    stack.refused(&unknown, "batch_unknown").await;
}

#[tokio::test]
async fn voiding_a_batch_says_how_long_its_codes_still_count() {
    let stack = Stack::with_chai().await;
    stack.fine(mint(&stack, "a.csv", "40")).await;
    stack
        .fine(mint(&stack, "b.csv", "40 --prize 'A car'"))
        .await;
    for (batch, within) in [("batch-1", "5 seconds"), ("batch-2", "1 second")] {
        let text = stack
            .fine(format!("code void --yes {LIVE} --batch {batch}"))
            .await;
        assert_contains!(text, format!("its 40 codes stop working within {within}."));
    }
}

#[tokio::test]
async fn a_dry_run_counts_what_would_be_voided_and_voids_nothing() {
    let stack = Stack::with_chai().await;
    stack.fine(mint(&stack, "a.csv", "3")).await;
    let minted = codes_in(&stack, "a.csv");
    let used = submission(SubmissionStatus::accepted(1, None), None);
    holding(&stack, 0, used).await;
    let rows = stack.json("audit list").await;
    let void = format!("code void --dry-run {LIVE}");
    let batch = format!("{void} --batch batch-1");
    let planned = stack.json(&batch).await;
    assert_eq!(planned["dry_run"], true);
    assert_eq!(planned["status"], "active");
    assert_eq!(planned["used"], 1);
    assert_eq!(planned["unused"], 2);
    let text = stack.fine(&batch).await;
    assert_contains!(text, "Nothing was voided", "2 of its 3 codes are unused.");
    let book = stack.book().await;
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
    stack.refused(&unknown, "batch_unknown").await;
}
