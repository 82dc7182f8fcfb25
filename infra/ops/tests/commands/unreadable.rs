//! Records of a later version, damaged, or changed by hand. They are named, and stop only what
//! would be wrong without them.

use common::domain::submission::Submission;
use common::store::submissions::key;

use crate::draw::stored::{number, record, set, text};
use crate::submission::{accepted, submission, waiting, write};
use crate::support::{Stack, live};

const CAMPAIGN: &str = "--campaign chai-bora-2026 --environment live";

/// Three accepted submissions of one phone.
async fn with_three() -> (Stack, [Submission; 3]) {
    let stack = Stack::with_chai().await;
    let three = [
        accepted(&stack, 1).await,
        accepted(&stack, 1).await,
        accepted(&stack, 1).await,
    ];
    (stack, three)
}

fn key_of(submission: &Submission) -> String {
    key(&live(), submission.reference())
}

/// Makes two of three unreadable, in two ways.
async fn damage(stack: &Stack, [_, later, damaged]: &[Submission; 3]) {
    set(stack, later, "record_version", number(9)).await;
    set(stack, damaged, "standing", text("+255712345678")).await;
}

#[tokio::test]
async fn an_export_and_an_erasure_name_all_unreadable_records() {
    let (stack, three) = with_three().await;
    damage(&stack, &three).await;
    let output = stack.arg("all.csv");
    let export = format!("export submissions {CAMPAIGN} --state accepted --output {output}");
    let [_, later, damaged] = three.each_ref().map(key_of);
    let erase = "person erase --phone 0712345678 --why asked --yes";
    for command in [export.as_str(), erase] {
        let refused = stack.refused(command, "records_unreadable").await;
        let message = refused.message;
        assert_contains!(message, later, damaged, "version 9");
        assert_lacks!(message, "credentials", "712345678");
    }
    // Once readable, the export goes on.
    let good = record(&stack, &three[0]).await;
    for damaged in &three[1..] {
        set(&stack, damaged, "standing", good["standing"].clone()).await;
        set(&stack, damaged, "record_version", number(1)).await;
    }
    stack.fine(&export).await;
    let text = stack.read("all.csv");
    assert_eq!(text.lines().count(), 4, "a heading and three rows: {text}");
}

#[tokio::test]
async fn a_list_leaves_unreadable_records_out_and_names_them() {
    let (stack, three) = with_three().await;
    damage(&stack, &three).await;
    let open = submission(waiting(), None);
    write(&stack, &open, None).await;
    set(&stack, &open, "record_version", number(9)).await;
    for (options, listed, left_out) in [
        ("--yes", &three[..1], &[&three[1], &three[2], &open][..]),
        ("--unsettled", &[], &[&open]),
    ] {
        let list = format!("submission list {CAMPAIGN} {options}");
        let ended = stack.run(list).await.fine();
        for one in listed {
            assert_contains!(ended.out, one.reference().to_string());
        }
        for one in left_out {
            assert_contains!(ended.err, key_of(one));
        }
    }
}

#[tokio::test]
async fn a_clear_phone_in_a_record_is_refused() {
    let (stack, [first, other, _]) = with_three().await;
    let moved = record(&stack, &other).await["phone"].clone();
    for (why, value) in [
        ("not encrypted", text("+255799999999")),
        ("encrypted for another submission", moved),
    ] {
        set(&stack, &first, "phone", value).await;
        let reference = first.reference().to_string();
        let show = format!("submission show {reference} --show-phone");
        let message = stack.refused(show, "records_unreadable").await.message;
        assert_contains!(message, key_of(&first), why);
        assert_lacks!(message, "99999999");
    }
}

#[tokio::test]
async fn a_clear_entrant_in_a_record_is_refused() {
    let (stack, [first, ..]) = with_three().await;
    let entrant = live().key("+255712345678");
    set(&stack, &first, "entrant", text(&entrant)).await;
    let show = format!("submission show {}", first.submission_id);
    let message = stack.refused(show, "records_unreadable").await.message;
    assert_contains!(message, key_of(&first), "no digest");
    assert_lacks!(message, "712345678");
}
