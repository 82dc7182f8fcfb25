//! Records of a later version, damaged, or changed by hand. They are named, and stop only what
//! would be wrong without them.

use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::domain::scope::Environment;
use common::domain::submission::{Submission, SubmissionStatus};
use common::random;
use common::store::submissions::key;

use crate::submission::{submission, waiting, write};
use crate::support::{Stack, chai, line};

const CAMPAIGN: [&str; 4] = ["--campaign", "chai-bora-2026", "--environment", "live"];

/// Three accepted submissions of one phone.
async fn with_three() -> (Stack, [Submission; 3]) {
    let stack = Stack::with_chai().await;
    let three = [(); 3].map(|()| {
        submission(
            random::submission_id(),
            SubmissionStatus::accepted(1, None),
            None,
        )
    });
    for submission in &three {
        write(&stack, submission, None).await;
    }
    (stack, three)
}

fn key_of(submission: &Submission) -> String {
    key(&chai(Environment::Live), submission.reference())
}

async fn set(stack: &Stack, submission: &Submission, name: &str, value: AttributeValue) {
    let client = Aws::for_function(&stack.env)
        .expect("all variables")
        .dynamodb();
    let update = client.update_item().table_name("submissions");
    let update = update.key("id", AttributeValue::S(key_of(submission)));
    let update = update
        .update_expression("SET #name = :value")
        .expression_attribute_names("#name", name);
    update
        .expression_attribute_values(":value", value)
        .send()
        .await
        .expect("it answers");
}

async fn get(stack: &Stack, submission: &Submission, name: &str) -> AttributeValue {
    let client = Aws::for_function(&stack.env)
        .expect("all variables")
        .dynamodb();
    let get = client
        .get_item()
        .table_name("submissions")
        .key("id", AttributeValue::S(key_of(submission)));
    let item = get
        .send()
        .await
        .expect("it answers")
        .item
        .expect("it is there");
    item[name].clone()
}

/// Makes two of three unreadable, in two ways.
async fn damage(stack: &Stack, [_, later, damaged]: &[Submission; 3]) {
    set(
        stack,
        later,
        "record_version",
        AttributeValue::N("9".to_owned()),
    )
    .await;
    set(
        stack,
        damaged,
        "standing",
        AttributeValue::S("+255712345678".to_owned()),
    )
    .await;
}

#[tokio::test]
async fn an_export_and_an_erasure_name_all_unreadable_records() {
    let (stack, three) = with_three().await;
    damage(&stack, &three).await;
    let output = stack.arg("all.csv");
    let export = [
        &["export", "submissions"],
        &CAMPAIGN[..],
        &["--state", "accepted", "--output", &output],
    ]
    .concat();
    for command in [
        &export[..],
        &line("person erase --phone 0712345678 --why asked --yes"),
    ] {
        let refused = stack.refused(command).await;
        let message = refused["message"].as_str().expect("text");
        assert_eq!(refused["code"], "records_unreadable", "{message}");
        for record in &three[1..] {
            assert!(message.contains(&key_of(record)), "{message}");
        }
        assert!(
            message.contains("version 9") && !message.contains("credentials"),
            "{message}"
        );
        assert!(!message.contains("712345678"), "{message}");
    }
    // Once readable, the export goes on.
    let good = get(&stack, &three[0], "standing").await;
    for record in &three[1..] {
        set(&stack, record, "standing", good.clone()).await;
        set(
            &stack,
            record,
            "record_version",
            AttributeValue::N("1".to_owned()),
        )
        .await;
    }
    stack.fine(&export).await;
    let text = std::fs::read_to_string(stack.path("all.csv")).expect("a file");
    assert_eq!(text.lines().count(), 4, "a heading and three rows: {text}");
}

#[tokio::test]
async fn a_list_leaves_unreadable_records_out_and_names_them() {
    let (stack, three) = with_three().await;
    damage(&stack, &three).await;
    let open = submission(random::submission_id(), waiting(), None);
    write(&stack, &open, None).await;
    set(
        &stack,
        &open,
        "record_version",
        AttributeValue::N("9".to_owned()),
    )
    .await;
    for (options, listed, left_out) in [
        (
            &["--yes"][..],
            &three[..1],
            &[&three[1], &three[2], &open][..],
        ),
        (&["--unsettled"], &[], &[&open]),
    ] {
        let ended = stack
            .run(&[&["submission", "list"], &CAMPAIGN[..], options].concat())
            .await;
        assert_eq!(ended.code, ops_core::EXIT_OK, "{}", ended.err);
        for one in listed {
            assert!(
                ended.out.contains(&one.reference().to_string()),
                "{}",
                ended.out
            );
        }
        for one in left_out {
            assert!(ended.err.contains(&key_of(one)), "{}", ended.err);
        }
    }
}

#[tokio::test]
async fn a_clear_phone_in_a_record_is_refused() {
    let (stack, [first, other, _]) = with_three().await;
    set(
        &stack,
        &first,
        "phone",
        AttributeValue::S("+255799999999".to_owned()),
    )
    .await;
    let moved = get(&stack, &other, "phone").await;
    for (why, value) in [
        ("not encrypted", None),
        ("encrypted for another submission", Some(moved)),
    ] {
        if let Some(value) = value {
            set(&stack, &first, "phone", value).await;
        }
        let reference = first.reference().to_string();
        let refused = stack
            .refused(&["submission", "show", &reference, "--show-phone"])
            .await;
        let message = refused["message"].as_str().expect("text");
        assert!(
            message.contains(&key_of(&first)) && message.contains(why),
            "{message}"
        );
        assert!(!message.contains("99999999"), "{message}");
    }
}

#[tokio::test]
async fn a_clear_entrant_in_a_record_is_refused() {
    let (stack, [first, ..]) = with_three().await;
    let entrant = chai(Environment::Live).key("+255712345678");
    set(&stack, &first, "entrant", AttributeValue::S(entrant)).await;
    let refused = stack
        .refused(&["submission", "show", &first.submission_id.to_string()])
        .await;
    let message = refused["message"].as_str().expect("text");
    assert!(
        message.contains(&key_of(&first)) && message.contains("no digest"),
        "{message}"
    );
    assert!(!message.contains("712345678"), "{message}");
}
