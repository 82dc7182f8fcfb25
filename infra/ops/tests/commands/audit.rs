//! `ops audit`, and the rows that commands leave.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::Aws;
use common::domain::scope::Environment;
use common::domain::submission::SubmissionStatus;
use common::domain::timestamp::Timestamp;
use common::random;
use common::store::audit;
use common::store::campaigns::PauseChange;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::review::{as_it_is, photo, with_receipt};
use crate::submission::{submission, waiting, write};
use crate::support::{CHAI, NOW, Stack, chai, line, run};

const SCOPE: [&str; 4] = ["--campaign", "chai-bora-2026", "--environment", "live"];

/// Oldest first.
async fn rows(stack: &Stack) -> Vec<Value> {
    stack.json(&["audit", "list"]).await["rows"]
        .as_array()
        .expect("a list")
        .clone()
}

async fn last(stack: &Stack) -> Value {
    rows(stack).await.pop().expect("a row")
}

async fn actions(stack: &Stack) -> Vec<String> {
    let rows = rows(stack).await;
    rows.iter()
        .map(|row| row["action"].as_str().expect("text").to_owned())
        .collect()
}

fn database(stack: &Stack) -> (Client, String) {
    let table = stack
        .env
        .required(audit::VARIABLE)
        .expect("the stack sets it");
    (
        Aws::for_function(&stack.env)
            .expect("credentials")
            .dynamodb(),
        table,
    )
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

#[tokio::test]
async fn every_command_that_changes_something_leaves_a_row() {
    let stack = Stack::with_chai().await;
    let issued = stack.json(&[&["key", "issue"], &SCOPE[..]].concat()).await;
    let id = issued["key_id"].as_str().expect("an id");
    stack.fine(&["key", "set", id, "--per-minute", "30"]).await;
    let rolled = stack.json(&["key", "roll", id]).await;
    stack.fine(&["key", "revoke", "--yes", id]).await;
    let minted = stack.arg("minted.csv");
    stack
        .fine(
            &[
                &["code", "mint"],
                &SCOPE[..],
                &["--count", "2", "--output", &minted],
            ]
            .concat(),
        )
        .await;
    let list = stack.file("list.csv", "CHAI202600001\n");
    stack
        .fine(
            &[
                &["code", "import", &list, "--allow-weak", "--batch", "old"],
                &SCOPE[..],
            ]
            .concat(),
        )
        .await;
    stack
        .fine(&[&line("code void --yes --batch old"), &SCOPE[..]].concat())
        .await;
    let phone = [
        "--campaign",
        "chai-bora-2026",
        "--why",
        "Sells codes",
        "0712345678",
    ];
    stack
        .fine(&[&["phone", "block"], &phone[..]].concat())
        .await;
    stack
        .fine(&[&["phone", "unblock"], &phone[..]].concat())
        .await;
    let left = submission(random::submission_id(), waiting(), None);
    write(&stack, &left, None).await;
    let left = left.submission_id.to_string();
    stack
        .fine(&[
            "submission",
            "settle",
            &left,
            "--reject",
            "receipt_wrong_store",
            "--why",
            "another shop",
        ])
        .await;
    stack.fine(&["campaign", "pause", "chai-bora-2026"]).await;
    stack.fine(&["campaign", "resume", "chai-bora-2026"]).await;
    stack.fine(&["secret", "rotate"]).await;

    let expected = [
        "campaign.apply",
        "key.issue",
        "key.set",
        "key.roll",
        "key.revoke",
        "code.mint",
        "code.import",
        "code.void",
        "phone.block",
        "phone.unblock",
        "submission.settle",
        "campaign.pause",
        "campaign.resume",
        "secret.rotate",
    ];
    assert_eq!(actions(&stack).await, expected);
    let rows = rows(&stack).await;
    let settled = &rows[10];
    assert_eq!(
        json!([
            settled["who"],
            settled["time"],
            settled["campaign"],
            settled["environment"],
            settled["subject"]
        ]),
        json!([
            "arn:aws:iam::000000000000:user/local",
            "2026-03-01T00:00:02.000Z",
            "chai-bora-2026",
            "live",
            left
        ])
    );
    assert_eq!(settled["why"], "another shop");
    let details: Value =
        serde_json::from_str(settled["details"].as_str().expect("text")).expect("JSON");
    assert_eq!(
        json!([details["before"], details["after"]]),
        json!(["receipt_received", "receipt_wrong_store"])
    );
    let written = Value::from(rows).to_string();
    let codes = std::fs::read_to_string(&minted).expect("it is there");
    let mut secrets: Vec<_> = codes.lines().skip(1).collect();
    secrets.extend([issued["key"].as_str(), rolled["key"].as_str()].map(|key| key.expect("a key")));
    for secret in secrets.into_iter().chain(["CHAI202600001", "712345678"]) {
        assert!(!written.contains(secret), "{secret}");
    }
    let text = stack
        .fine(&line("audit list --campaign chai-bora-2026"))
        .await;
    assert!(
        text.contains("another shop") && !text.contains("secret.rotate"),
        "{text}"
    );
    let verified = stack.json(&["audit", "verify"]).await;
    assert_eq!(
        json!([verified["verified"], verified["count"]]),
        json!([true, expected.len()])
    );
}

#[tokio::test]
async fn refused_command_leaves_no_row_and_no_row_no_change() {
    let stack = Stack::with_chai().await;
    stack.refused(&["campaign", "pause", "nobody"]).await;
    stack.refused(&["key", "revoke", "0123456789ab"]).await;
    let settled = submission(
        random::submission_id(),
        SubmissionStatus::accepted(1, None),
        None,
    );
    write(&stack, &settled, None).await;
    let id = settled.submission_id.to_string();
    stack
        .refused(&[
            "submission",
            "settle",
            &id,
            "--reject",
            "receipt_wrong_store",
            "--why",
            "late",
        ])
        .await;
    assert_eq!(actions(&stack).await, ["campaign.apply"]);

    let elsewhere = [(audit::VARIABLE.to_owned(), "nowhere".to_owned())]
        .into_iter()
        .collect();
    let env = stack.env.clone().overridden_by(elsewhere);
    let ended = run(&[&["key", "issue"], &SCOPE[..]].concat(), env, &stack.clock).await;
    assert!(
        ended.code == 1 && ended.err.contains("reading the audit log failed"),
        "{}",
        ended.err
    );
    let keys = stack
        .json(&line("key list --campaign chai-bora-2026"))
        .await;
    assert_eq!(keys["keys"], json!([]));
}

#[tokio::test]
async fn a_command_that_forgets_its_row_changes_nothing() {
    let stack = Stack::with_chai().await;
    let tables = ops_core::connection::tables(&stack.env)
        .await
        .expect("all variables");
    let slug = "chai-bora-2026".parse().expect("a slug");
    let change = PauseChange {
        paused: true,
        at: stack.clock.now(),
        by: "asha".to_owned(),
        why: None,
    };
    let error = tables
        .campaigns
        .set_paused(&slug, &change)
        .await
        .expect_err("it is refused");
    let error = ops_core::failure::Failure::from(error).message;
    assert!(
        error.contains("this command wrote no audit row first"),
        "{error}"
    );
    let secrets = tables.code_books.secrets();
    secrets
        .rotate(&"n".repeat(64))
        .await
        .expect_err("it is refused");
    assert!(
        !tables.campaign(&slug).await.expect("it answers").paused,
        "reads pass"
    );
}

#[tokio::test]
async fn operators_are_their_aws_identity_and_add_a_name() {
    let stack = Stack::with_chai().await;
    for (key, by) in [("asha", None), ("juma", Some("Juma K.")), ("juma", None)] {
        let identity = [("AWS_ACCESS_KEY_ID", key), ("OPS_BY", "")];
        let identity = identity.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let env = stack
            .env
            .clone()
            .overridden_by(identity.into_iter().collect());
        let pause = ["campaign", "pause", "chai-bora-2026"];
        let args: Vec<&str> = pause
            .into_iter()
            .chain(by.into_iter().flat_map(|by| ["--by", by]))
            .collect();
        assert_eq!(run(&args, env, &stack.clock).await.code, ops_core::EXIT_OK);
        let row = last(&stack).await;
        assert_eq!(
            json!([row["who"], row["by"]]),
            json!([format!("arn:aws:iam::000000000000:user/{key}"), by])
        );
    }
    let named = [("OPS_BY".to_owned(), "Asha".to_owned())]
        .into_iter()
        .collect();
    run(
        &["campaign", "resume", "chai-bora-2026"],
        stack.env.clone().overridden_by(named),
        &stack.clock,
    )
    .await;
    assert_eq!(last(&stack).await["by"], "Asha");
}

#[tokio::test]
async fn only_a_look_at_hidden_data_leaves_a_row() {
    let stack = Stack::with_chai().await;
    let left = with_receipt(&stack, photo(None), as_it_is).await;
    let id = left.submission_id.to_string();
    stack.fine(&["submission", "show", &id]).await;
    stack.fine(&["submission", "timeline", &id]).await;
    stack
        .fine(&line("submission list --yes --campaign chai-bora-2026"))
        .await;
    stack.fine(&["audit", "list"]).await;
    assert_eq!(actions(&stack).await, ["campaign.apply"]);
    for (option, shown) in [
        ("--show-phone", "phone"),
        ("--show-photo", "photo"),
        ("--show-receipt", "receipt"),
    ] {
        stack.fine(&["submission", "show", &id, option]).await;
        let row = last(&stack).await;
        assert_eq!(
            json!([row["action"], row["subject"]]),
            json!(["submission.show", id])
        );
        let details: HashMap<String, bool> =
            serde_json::from_str(row["details"].as_str().expect("text")).expect("JSON");
        assert!(
            details.iter().all(|(name, seen)| *seen == (name == shown)),
            "{details:?}"
        );
    }
}

#[tokio::test]
async fn rows_of_operators_who_work_at_once_are_one_log() {
    let stack = Stack::with_chai().await;
    let issue = [&["key", "issue"], &SCOPE[..]].concat();
    let ended = join_all((0..8).map(|_| stack.run(&issue))).await;
    assert!(ended.iter().all(|ended| ended.code == ops_core::EXIT_OK));
    let verified = stack.json(&["audit", "verify"]).await;
    assert_eq!(verified["count"], 9);
    assert_eq!(verified["last_hash"], last(&stack).await["hash"]);
}

async fn with_rows() -> Stack {
    let stack = Stack::with_chai().await;
    for command in ["pause", "resume", "pause", "resume"] {
        stack.fine(&["campaign", command, "chai-bora-2026"]).await;
    }
    stack
}

#[tokio::test]
async fn verifying_names_the_row_that_was_changed_removed_or_swapped() {
    let day = || AttributeValue::S("2026-03-01".to_owned());
    let broken = async |stack: &Stack| {
        let error = stack.refused(&["audit", "verify"]).await;
        assert_eq!(error["code"], "audit_broken");
        error["message"].as_str().expect("a message").to_owned()
    };
    let stack = with_rows().await;
    assert_eq!(stack.json(&["audit", "verify"]).await["count"], 5);
    let (client, table) = database(&stack);
    let update = client
        .update_item()
        .table_name(&table)
        .key("day", day())
        .key("sequence", number(3));
    let update = update.update_expression("SET who = :who");
    update
        .expression_attribute_values(":who", AttributeValue::S("nobody".to_owned()))
        .send()
        .await
        .expect("changed");
    assert!(
        broken(&stack)
            .await
            .contains("\nrow 3 of 2026-03-01: it was changed")
    );
    assert_eq!(rows(&stack).await.len(), 5, "what can be read is listed");

    let stack = with_rows().await;
    let (client, table) = database(&stack);
    let delete = client.delete_item().table_name(&table).key("day", day());
    delete
        .clone()
        .key("sequence", number(4))
        .send()
        .await
        .expect("deleted");
    assert!(broken(&stack).await.contains("\nrow 4: it is missing"));
    delete
        .key("sequence", number(5))
        .send()
        .await
        .expect("deleted");
    assert!(
        broken(&stack).await.contains("\nrow 4: it is missing"),
        "also at the end"
    );

    let stack = with_rows().await;
    let (client, table) = database(&stack);
    let get = async |sequence| {
        let get = client
            .get_item()
            .table_name(&table)
            .key("day", day())
            .key("sequence", number(sequence));
        get.send().await.expect("it answers").item.expect("a row")
    };
    for (mut item, sequence) in [(get(2).await, 3), (get(3).await, 2)] {
        item.insert("sequence".to_owned(), number(sequence));
        client
            .put_item()
            .table_name(&table)
            .set_item(Some(item))
            .send()
            .await
            .expect("swapped");
    }
    assert!(
        broken(&stack)
            .await
            .contains("\nrow 2 of 2026-03-01: it was changed")
    );
}

/// Adds an item without `ops`, as a reviewer may.
async fn insert(stack: &Stack, sequence: &str, more: &str) {
    let (client, table) = database(stack);
    let statement = format!(
        "INSERT INTO \"{table}\" VALUE {{'day': '2026-03-01', 'sequence': {sequence}{more}}}"
    );
    client
        .execute_statement()
        .statement(statement)
        .send()
        .await
        .expect("inserted");
}

#[tokio::test]
async fn item_put_into_the_log_without_ops_stops_nothing() {
    let stack = with_rows().await;
    for sequence in 6..=12 {
        insert(&stack, &sequence.to_string(), ", 'record_version': 2").await;
    }
    insert(&stack, "2.5", "").await;
    stack.fine(&["campaign", "pause", "chai-bora-2026"]).await;
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
    let log = audit::AuditLog::from_env(&stack.env, &database(&stack).0).expect("the table");
    assert_eq!(
        log.skipped_at().await.expect("it answers"),
        Some(NOW),
        "the sweep raises an alarm"
    );
    let listed = rows(&stack).await;
    assert_eq!(
        listed
            .iter()
            .filter(|row| row["action"] == "campaign.pause")
            .count(),
        3
    );
    let error = stack.refused(&["audit", "verify"]).await;
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.starts_with("8 rows of the audit log do not fit"),
        "{message}"
    );
    for sequence in [0, 6, 7, 8, 9, 10, 11, 12] {
        let named = format!("\nrow {sequence} of 2026-03-01: it was written without `ops`");
        assert!(message.contains(&named), "{message}");
    }
}

#[tokio::test]
async fn end_of_the_log_changed_without_ops_is_named() {
    for last in ["'x'", "18446744073709551615"] {
        let stack = with_rows().await;
        let (client, table) = database(&stack);
        let statement = format!(
            "UPDATE \"{table}\" SET last_sequence = {last} WHERE \"day\" = 'head' AND \"sequence\" = 0"
        );
        let changed = client.execute_statement().statement(statement).send();
        changed.await.expect("it is written");
        let error = stack
            .refused(&["campaign", "pause", "chai-bora-2026"])
            .await;
        assert_eq!(error["code"], "records_unreadable", "{last}: {error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("head of the table of audit"), "{message}");
    }
}

#[tokio::test]
async fn time_of_a_row_that_goes_back_is_named() {
    let stack = with_rows().await;
    let earlier =
        common::clock::Clock::manual(Timestamp::from_millis(NOW.as_millis() - 20 * 60 * 1000));
    let paused = run(
        &["campaign", "pause", "chai-bora-2026"],
        stack.env.clone(),
        &earlier,
    )
    .await;
    assert_eq!(paused.code, ops_core::EXIT_OK, "{}", paused.err);
    let error = stack.refused(&["audit", "verify"]).await;
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("\nrow 6 of 2026-02-28: its time is 20 minutes before"),
        "{message}"
    );
}

#[tokio::test]
async fn rows_are_listed_by_day() {
    let stack = with_rows().await;
    stack
        .clock
        .advance(std::time::Duration::from_secs(40 * 24 * 60 * 60));
    stack.fine(&["campaign", "pause", "chai-bora-2026"]).await;
    assert_eq!(
        actions(&stack).await,
        ["campaign.pause"],
        "the last 30 days"
    );
    let listed = stack
        .json(&line("audit list --from 2026-03-01 --to 2026-03-01"))
        .await;
    assert_eq!(listed["rows"].as_array().map(Vec::len), Some(5));
    let text = stack
        .fine(&line("audit list --from 2026-03-02 --to 2026-03-03"))
        .await;
    assert_eq!(
        text,
        "The audit log has no such rows from 2026-03-02 to 2026-03-03.\n"
    );
    let error = stack
        .refused(&line("audit list --from 2026-03-02 --to 2026-03-01"))
        .await;
    assert_eq!(error["code"], "days_invalid");
    let first = stack.json(&["audit", "list", "--to=-262143-01-01"]).await;
    assert_eq!(first["rows"], json!([]), "the first day that there is");
    assert_eq!(
        stack.json(&["audit", "verify"]).await["count"],
        6,
        "over all days"
    );
}

#[tokio::test]
async fn rows_are_listed_by_action_person_and_subject() {
    let stack = Stack::with_chai().await;
    let left = with_receipt(&stack, photo(None), as_it_is).await;
    let (id, reference) = (left.submission_id.to_string(), left.reference().to_string());
    stack
        .fine(&["submission", "show", &id, "--show-phone"])
        .await;
    let output = stack.arg("person.zip");
    stack
        .fine(&[
            "person",
            "export",
            "--phone",
            "0712345678",
            "--output",
            &output,
            "--by",
            "Juma",
        ])
        .await;
    stack.fine(&["campaign", "pause", "chai-bora-2026"]).await;
    let listed = async |filter: &[&str]| {
        let rows = stack.json(&[&["audit", "list"], filter].concat()).await;
        let rows = rows["rows"].as_array().expect("a list").clone();
        rows.iter()
            .map(|row| row["action"].as_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    for about in [&id, &reference] {
        assert_eq!(
            listed(&["--about", about]).await,
            ["submission.show", "person.export"],
            "{about}"
        );
    }
    assert_eq!(listed(&["--action", "person"]).await, ["person.export"]);
    assert_eq!(
        listed(&["--action", "campaign.pause"]).await,
        ["campaign.pause"]
    );
    assert_eq!(listed(&["--action", "camp"]).await, [""; 0]);
    assert_eq!(listed(&["--who", "Juma"]).await, ["person.export"]);
    assert_eq!(listed(&["--who", "local"]).await.len(), 4);
    let text = stack.fine(&["audit", "list"]).await;
    assert!(
        text.contains("TIME (Africa/Dar_es_Salaam)") && text.contains("2026-03-01 03:00:"),
        "{text}"
    );
}

#[tokio::test]
async fn phone_in_a_reason_is_refused_before_it_is_recorded() {
    let stack = Stack::with_chai().await;
    let left = submission(random::submission_id(), waiting(), None);
    write(&stack, &left, None).await;
    let (id, rows) = (left.submission_id.to_string(), actions(&stack).await);
    for command in [
        &line("phone block --campaign chai-bora-2026 0712345678")[..],
        &["submission", "settle", &id, "--accept"],
        &["submission", "revoke", &id],
        &["submission", "reopen", &id],
        &line("person erase --phone 0712345678 --yes"),
    ] {
        let error = stack
            .refused(&[command, &["--why", "Call from 0712 345 678."]].concat())
            .await;
        assert_eq!(error["code"], "phone_in_words", "{command:?}: {error}");
        assert!(!error.to_string().contains("345"), "{error}");
    }
    assert_eq!(actions(&stack).await, rows);
}

#[tokio::test]
async fn applying_a_file_tells_what_it_changes() {
    let stack = Stack::with_chai().await;
    let details = async || {
        let row = last(&stack).await;
        serde_json::from_str::<Value>(row["details"].as_str().expect("text")).expect("JSON")
    };
    assert_eq!(details().await["change"], "created");
    let file = stack.file(
        "chai.yaml",
        CHAI.replace("phone_daily: 3", "phone_daily: 4"),
    );
    stack.fine(&["campaign", "apply", "--yes", &file]).await;
    assert_eq!(
        details().await,
        json!({ "change": "updated", "fields": ["limits.phone_daily"] })
    );
    stack.fine(&["campaign", "apply", "--yes", &file]).await;
    assert_eq!(actions(&stack).await.len(), 2, "it changes nothing");
    assert_eq!(
        last(&stack).await["campaign"],
        json!(chai(Environment::Live).campaign)
    );
}
