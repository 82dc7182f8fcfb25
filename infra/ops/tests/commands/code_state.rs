//! `ops code batches --used`, `show` and `void`: used codes and their users.

use common::domain::submission::{Submission, SubmissionStatus};
use serde_json::{Value, json};

use crate::submission::{holding, submission, waiting};
use crate::support::Stack;

const SCOPE: &str = "--campaign chai-bora-2026 --environment live";

fn code(command: &str, more: &str) -> String {
    format!("code {command} {SCOPE} {more}")
}

/// A batch of five minted codes, the first redeemed and the second held, and one of two imported.
struct Fixture {
    stack: Stack,
    minted: Vec<String>,
    submissions: Vec<Submission>,
}

impl Fixture {
    async fn new() -> Self {
        let stack = Stack::with_chai().await;
        let minted = stack.mint("5 --batch packs --prize 'A mug'").await;
        let brand = stack.file("brand.csv", "KETTLE-01\nKETTLE-02\n");
        let options = format!("--allow-weak --batch brand {brand}");
        stack.fine(code("import", &options)).await;
        let mut submissions = Vec::new();
        for (serial, status) in [(0, SubmissionStatus::accepted(1, None)), (1, waiting())] {
            submissions.push(holding(&stack, serial, submission(status, None)).await);
        }
        Self {
            stack,
            minted,
            submissions,
        }
    }

    async fn shown(&self, typed: &str) -> Value {
        let shown = self.stack.json(code("show", &format!("'{typed}'"))).await;
        shown["code"].clone()
    }
}

#[tokio::test]
async fn used_and_unused_codes_are_counted_by_batch() {
    let fixture = Fixture::new().await;
    let ended = fixture.stack.run(code("batches", "--used")).await;
    assert!(
        ended.err.starts_with("Counting the used codes"),
        "{}",
        ended.err
    );
    assert_contains!(
        ended.out,
        "BATCH  ORIGIN    CODES  USED  HELD  UNUSED  LENGTH  STATUS  PRIZE",
        "packs  minted    5      1     1     3       12      active  A mug",
        "brand  imported  2      0     0     2       8       active  -"
    );
    let json = fixture.stack.json(code("batches", "--used")).await;
    let packs = &json["batches"][0];
    assert_eq!(packs["used"], 1);
    assert_eq!(packs["held"], 1);
    assert_eq!(packs["unused"], 3);
    let without = fixture.stack.run(code("batches", "")).await;
    assert!(
        without.err.is_empty() && without.out.contains("--used counts"),
        "{}{}",
        without.out,
        without.err
    );
    assert_eq!(
        fixture.stack.json(code("batches", "")).await["batches"][0].get("used"),
        None
    );
}

#[tokio::test]
async fn a_code_is_shown_with_its_batch_its_state_and_who_has_it() {
    let fixture = Fixture::new().await;
    for (index, state, message) in [(0, "redeemed", "redeemed"), (1, "held", "held")] {
        let submission = &fixture.submissions[index];
        let typed = fixture.minted[index].to_lowercase();
        let expected = json!({
            "state": state, "is_void": false, "batch": "packs", "origin": "minted", "batch_status": "active",
            "prize": "A mug",
            "submission": {
                "id": submission.submission_id, "reference": submission.reference(),
                "created_at": "2026-03-01T00:00:00.000Z", "phone": "+2557•••••678",
            },
        });
        assert_eq!(fixture.shown(&typed).await, expected);
        let text = fixture.stack.fine(code("show", &typed)).await;
        assert_contains!(
            text,
            "batch         packs",
            format!("state         {message}"),
            submission.submission_id.to_string(),
            "phone         +2557•••••678",
            "created_at    2026-03-01 03:00:00 Africa/Dar_es_Salaam"
        );
        assert_lacks!(text, fixture.minted[index]);
    }
    assert_eq!(fixture.shown(&fixture.minted[2]).await["state"], "unused");
    let imported = fixture.shown("kettle 01").await;
    assert_eq!(imported["batch"], "brand");
    assert_eq!(imported["state"], "unused");
    assert_eq!(imported["submission"], Value::Null);
    for nothing in ["KETTLE-99", "ABCD-EFGH-JKMN"] {
        assert_eq!(
            fixture.shown(nothing).await,
            json!({ "state": "not_of_this_campaign" })
        );
    }
    fixture
        .stack
        .refused(code("show", "TEST-0-VALID"), "code_is_sentinel")
        .await;
    let wrong = fixture.stack.run(code("show", "\u{7}")).await;
    assert!(
        wrong.code == ops_core::EXIT_FAILURE && !wrong.err.contains('\u{7}'),
        "{}",
        wrong.err
    );
}

#[tokio::test]
async fn a_code_can_be_typed_when_asked() {
    let fixture = Fixture::new().await;
    let typed = format!(" {}\n", fixture.minted[3]);
    let ended = fixture.stack.answering(code("show", "-"), &typed).await;
    assert!(
        ended.err == "Code: " && ended.out.contains("unused"),
        "{}{}",
        ended.out,
        ended.err
    );
    fixture
        .stack
        .refused(code("show", "-"), "no_terminal")
        .await;
}

#[tokio::test]
async fn voiding_says_how_many_are_unused_and_asks_for_the_name() {
    let fixture = Fixture::new().await;
    let void = code("void", "--batch packs");
    fixture.stack.refused(&void, "confirmation_needed").await;
    let ended = fixture.stack.answering(&void, "y\n").await;
    assert_eq!(ended.code, ops_core::EXIT_FAILURE);
    let question = "Void batch packs of chai-bora-2026, live? 3 of its 5 codes are unused; submissions that have the \
                    others keep them. This cannot be undone. Type packs to continue: ";
    assert_contains!(ended.err, question);
    assert_eq!(
        fixture.shown(&fixture.minted[2]).await["state"],
        "unused",
        "nothing was voided"
    );
    let ended = fixture.stack.answering(&void, "packs\n").await;
    assert!(
        ended
            .out
            .starts_with("Batch packs is void: its 5 codes stop working"),
        "{}{}",
        ended.out,
        ended.err
    );
    assert_eq!(fixture.shown(&fixture.minted[2]).await["state"], "void");
    let redeemed = fixture.shown(&fixture.minted[0]).await;
    assert_eq!(redeemed["state"], "redeemed");
    assert_eq!(redeemed["is_void"], true);
    let again = fixture.stack.run(&void).await;
    assert!(
        again.code == ops_core::EXIT_OK && again.err.is_empty(),
        "a void batch needs no question: {}",
        again.err
    );
    let unknown = fixture
        .stack
        .answering(code("void", "--batch nothing"), "nothing\n")
        .await;
    assert_contains!(unknown.err, "there is no batch of this name");
}
