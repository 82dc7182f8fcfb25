//! A stack's files and records, read and changed without `ops`.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::domain::submission::Submission;

use crate::support::Stack;

pub(crate) type Record = HashMap<String, AttributeValue>;

pub(crate) struct Bucket {
    aws: Aws,
    name: String,
}

pub(crate) fn evidence(stack: &Stack) -> Bucket {
    bucket(stack, "EVIDENCE_BUCKET")
}

pub(crate) fn openings(stack: &Stack) -> Bucket {
    bucket(stack, "OPENINGS_BUCKET")
}

fn bucket(stack: &Stack, variable: &'static str) -> Bucket {
    Bucket {
        aws: stack.aws(),
        name: stack.env.required(variable).expect("the stack sets it"),
    }
}

impl Bucket {
    pub(crate) async fn keys(&self) -> Vec<String> {
        let listed = self
            .aws
            .s3()
            .list_objects_v2()
            .bucket(&self.name)
            .send()
            .await;
        let listed = listed.expect("it answers");
        let keys = listed.contents().iter().filter_map(|object| object.key());
        keys.map(str::to_owned).collect()
    }

    pub(crate) async fn get(&self, key: &str) -> String {
        let get = self.aws.s3().get_object().bucket(&self.name).key(key);
        let object = get.send().await.expect("it is there");
        let bytes = object.body.collect().await.expect("bytes").to_vec();
        String::from_utf8(bytes).expect("text")
    }

    /// Overwrites.
    pub(crate) async fn put(&self, key: &str, text: impl Into<String>) {
        let body = text.into().into_bytes().into();
        let put = self
            .aws
            .s3()
            .put_object()
            .bucket(&self.name)
            .key(key)
            .body(body);
        put.send().await.expect("it is taken");
    }

    pub(crate) async fn delete(&self, key: &str) {
        let delete = self.aws.s3().delete_object().bucket(&self.name).key(key);
        delete.send().await.expect("it is gone");
    }
}

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn dynamodb(stack: &Stack) -> Client {
    stack.aws().dynamodb()
}

pub(crate) async fn records(stack: &Stack, table: &str) -> Vec<Record> {
    let scanned = dynamodb(stack).scan().table_name(table).send().await;
    scanned.expect("it answers").items.unwrap_or_default()
}

pub(crate) async fn put(stack: &Stack, table: &str, record: Record) {
    let put = dynamodb(stack).put_item().table_name(table);
    let put = put.set_item(Some(record)).send().await;
    put.expect("it is written");
}

pub(crate) async fn record(stack: &Stack, submission: &Submission) -> Record {
    let id = AttributeValue::S(submission.submission_id.to_string());
    let mut records = records(stack, "submissions").await.into_iter();
    let found = records.find(|record| record.get("submission_id") == Some(&id));
    found.expect("it is there")
}

/// Sets an attribute of a submission's record.
pub(crate) async fn set(stack: &Stack, submission: &Submission, name: &str, value: AttributeValue) {
    let mut changed = record(stack, submission).await;
    changed.insert(name.to_owned(), value);
    put(stack, "submissions", changed).await;
}

fn key_in_draws(record: &str) -> Record {
    let key = [
        ("scope", text("chai-bora-2026#live")),
        ("record", text(record)),
    ];
    key.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Removes an attribute from a draw's record.
pub(crate) async fn remove_from_draw(stack: &Stack, attribute: &str) {
    let update = dynamodb(stack).update_item().table_name("draws");
    let update = update.set_key(Some(key_in_draws("draw#week-03")));
    let update = update.update_expression(format!("REMOVE {attribute}"));
    update.send().await.expect("it answers");
}

/// Deletes the contact of a place of the first prize.
pub(crate) async fn delete_contact(stack: &Stack, place: u64) {
    let key = key_in_draws(&format!("contact#week-03#{:010}#{place:020}", 0));
    let delete = dynamodb(stack).delete_item().table_name("draws");
    delete.set_key(Some(key)).send().await.expect("it answers");
}
