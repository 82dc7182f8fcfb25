//! Template, schema and page of campaign files, from the reader's list of fields.

use common::domain::message::{Language, TextKey};

use serde_json::Value;
use service_tests::text::parse_json;

use crate::support::{CHAI, Stack, files_in};

/// The template's lines after `#` for a field.
fn uncommented(template: &str, name: &str) -> String {
    let lines = template
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line));
    let from = lines.skip_while(|line| !line.starts_with(&format!("{name}:")));
    let lines = from
        .enumerate()
        .take_while(|(index, line)| *index == 0 || line.starts_with(' '));
    lines.map(|(_, line)| format!("{line}\n")).collect()
}

pub(crate) fn filled_in(template: &str) -> String {
    let mut filled = String::new();
    for line in template.lines() {
        match line.split_once(":   # such as ") {
            Some((name, example)) => filled.push_str(&format!("{name}: {example}\n")),
            None => filled.push_str(&format!("{line}\n")),
        }
    }
    filled
}

#[tokio::test]
async fn the_template_applies_once_it_is_filled_in() {
    let stack = Stack::empty().await;
    let path = stack.arg("new.yaml");
    stack.fine(format!("campaign init {path}")).await;
    let apply = format!("campaign apply {path}");
    let empty = stack.refused(apply, "campaign_file_invalid").await;
    assert_eq!(empty.problems.len(), 5);
    let template = std::fs::read_to_string(&path).expect("a file");
    stack.apply(filled_in(&template)).await;
    assert_eq!(
        stack.json("campaign show chai-bora-2026").await["brand"],
        "Chai Bora"
    );
}

#[tokio::test]
async fn each_optional_field_of_the_template_can_be_taken_as_it_is() {
    let template = ops_core::campaign_file::template();
    let filled = filled_in(&template);
    let optional = [
        "paused",
        "window",
        "limits",
        "entries_per_submission",
        "wrong_codes",
        "messages",
        "receipt",
        "consent",
        "retention",
    ];
    let all: String = optional
        .iter()
        .map(|name| uncommented(&template, name))
        .collect();
    let all = format!("{filled}{all}");
    ops_core::campaign_file::read("all.yaml", &all)
        .unwrap_or_else(|problems| panic!("{problems:?}\n{all}"));
    let partner = filled.replace("checked_by: service", "checked_by: partner")
        + &uncommented(&template, "partner");
    ops_core::campaign_file::read("p.yaml", &partner)
        .unwrap_or_else(|problems| panic!("{problems:?}\n{partner}"));
}

#[test]
fn template_lists_every_message_with_its_text() {
    let template = ops_core::campaign_file::template();
    for key in TextKey::all() {
        for language in [Language::En, Language::Sw] {
            let line = format!(
                "#     {}: {}\n",
                key.as_str(),
                serde_json::json!(key.text(language))
            );
            assert!(template.contains(&line), "{line}{template}");
        }
    }
}

#[tokio::test]
async fn the_template_is_never_written_over_a_file() {
    let stack = Stack::empty().await;
    let file = stack.file("mine.yaml", "mine");
    stack
        .refused(format!("campaign init {file}"), "file_exists")
        .await;
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "mine");
    assert_eq!(files_in(stack.folder.path()), ["mine.yaml"]);
}

#[tokio::test]
async fn schema_takes_what_the_reader_takes() {
    let stack = Stack::empty().await;
    let schema = parse_json(&stack.fine("campaign schema").await);
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    for text in [CHAI, &crate::campaign::with_partner()] {
        stack.apply(text).await;
        let mut shown = stack.json("campaign show chai-bora-2026").await;
        let fields = shown.as_object_mut().expect("an object");
        for beside in [
            "status",
            "archived",
            "codes",
            "pause_change",
            "retention_progress",
            "webhooks_failing",
        ] {
            fields.remove(beside);
        }
        let errors: Vec<_> = schema
            .iter_errors(&shown)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
        for (pointer, wrong) in [
            ("/slug", Value::from("Chai Bora")),
            ("/code/checked_by", Value::from("us")),
            ("/limits/phone_daily", Value::from(0)),
            ("/window/start", Value::from("2026-01-01")),
            ("/messages/en/entered", Value::from("x".repeat(321))),
            ("/name", Value::Null),
        ] {
            let mut wrong_one = shown.clone();
            *wrong_one.pointer_mut(pointer).expect(pointer) = wrong;
            assert!(!schema.is_valid(&wrong_one), "{pointer}");
        }
        shown["nmae"] = Value::from("x");
        assert!(!schema.is_valid(&shown), "an unknown field");
    }
}
