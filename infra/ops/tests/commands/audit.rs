//! `ops audit`, and the rows that commands leave.

use common::clock::Clock;
use common::domain::timestamp::Timestamp;
use common::store::audit;
use common::store::campaigns::PauseChange;
use futures_util::future::join_all;
use serde_json::{Value, json};
use service_tests::text::{fields, len_of, list_of, parse_json, text_of};

use crate::draw::stored::{number, put, records};
use crate::review::{as_it_is, photo, with_receipt};
use crate::submission::{accepted, submission, waiting, write};
use crate::support::{CHAI, NOW, Stack, live};

const SCOPE: &str = "--campaign chai-bora-2026 --environment live";

#[tokio::test]
async fn every_command_that_changes_something_leaves_a_row() {
    let stack = Stack::with_chai().await;
    let issued = stack.json(format!("key issue {SCOPE}")).await;
    let id = text_of(&issued["key_id"]);
    stack.fine(format!("key set {id} --per-minute 30")).await;
    let rolled = stack.json(format!("key roll {id}")).await;
    stack.fine(format!("key revoke --yes {id}")).await;
    let codes = stack.mint(2).await;
    let list = stack.file("list.csv", "CHAI202600001\n");
    stack
        .fine(format!(
            "code import {list} --allow-weak --batch old {SCOPE}"
        ))
        .await;
    stack
        .fine(format!("code void --yes --batch old {SCOPE}"))
        .await;
    let phone = "--campaign chai-bora-2026 --why 'Sells codes' 0712345678";
    stack.fine(format!("phone block {phone}")).await;
    stack.fine(format!("phone unblock {phone}")).await;
    let left = submission(waiting(), None);
    write(&stack, &left, None).await;
    let left = left.submission_id.to_string();
    stack
        .fine(format!(
            "submission settle {left} --reject receipt_wrong_store --why 'another shop'"
        ))
        .await;
    stack.fine("campaign pause chai-bora-2026").await;
    stack.fine("campaign resume chai-bora-2026").await;
    stack.fine("secret rotate").await;

    assert_eq!(
        stack.audit_actions().await.join(" "),
        "campaign.apply key.issue key.set key.roll key.revoke code.mint code.import code.void \
         phone.block phone.unblock submission.settle campaign.pause campaign.resume secret.rotate"
    );
    let rows = stack.audit_rows().await;
    let count = rows.len();
    let settled = &rows[10];
    assert_eq!(
        fields(settled, "who time campaign environment why"),
        "arn:aws:iam::000000000000:user/local 2026-03-01T00:00:02.000Z chai-bora-2026 live \
         another shop"
    );
    assert_eq!(settled["subject"], json!(left));
    let details = parse_json(text_of(&settled["details"]));
    assert_eq!(
        fields(&details, "before after"),
        "receipt_received receipt_wrong_store"
    );
    let written = Value::from(rows).to_string();
    let mut secrets: Vec<_> = codes.iter().map(String::as_str).collect();
    secrets.extend([issued["key"].as_str(), rolled["key"].as_str()].map(|key| key.expect("a key")));
    for secret in secrets.into_iter().chain(["CHAI202600001", "712345678"]) {
        assert!(!written.contains(secret), "{secret}");
    }
    let text = stack.fine("audit list --campaign chai-bora-2026").await;
    assert_contains!(text, "another shop");
    assert_lacks!(text, "secret.rotate");
    let verified = stack.json("audit verify").await;
    assert_eq!(fields(&verified, "verified count"), format!("true {count}"));
}

#[tokio::test]
async fn refused_command_leaves_no_row_and_no_row_no_change() {
    let stack = Stack::with_chai().await;
    stack
        .refused("campaign pause nobody", "campaign_unknown")
        .await;
    stack
        .refused("key revoke 0123456789ab", "key_unknown")
        .await;
    let id = accepted(&stack, 1).await.submission_id;
    let late = format!("submission settle {id} --reject receipt_wrong_store --why late");
    stack.refused(late, "already_settled").await;
    assert_eq!(stack.audit_actions().await, ["campaign.apply"]);

    let elsewhere = [(audit::VARIABLE, "nowhere")];
    let issue = stack.run_with(&elsewhere, format!("key issue {SCOPE}"));
    assert_contains!(issue.await.failed(), "reading the audit log failed");
    let keys = stack.json("key list --campaign chai-bora-2026").await;
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
    assert_contains!(error, "this command wrote no audit row first");
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
    for (key, name) in [("asha", None), ("juma", Some("Juma K.")), ("juma", None)] {
        let identity = [("AWS_ACCESS_KEY_ID", key), ("OPS_BY", "")];
        let by = name.map_or(String::new(), |by| format!("--by '{by}'"));
        let pause = format!("campaign pause chai-bora-2026 {by}");
        stack.run_with(&identity, pause).await.fine();
        let row = stack.last_audit_row().await;
        assert_eq!(
            row["who"],
            json!(format!("arn:aws:iam::000000000000:user/{key}"))
        );
        assert_eq!(row["by"], json!(name));
    }
    let resume = "campaign resume chai-bora-2026";
    stack.run_with(&[("OPS_BY", "Asha")], resume).await.fine();
    assert_eq!(stack.last_audit_row().await["by"], "Asha");
}

#[tokio::test]
async fn only_a_look_at_hidden_data_leaves_a_row() {
    let stack = Stack::with_chai().await;
    let left = with_receipt(&stack, photo(None), as_it_is).await;
    let id = left.submission_id.to_string();
    stack.fine(format!("submission show {id}")).await;
    stack.fine(format!("submission timeline {id}")).await;
    stack
        .fine("submission list --yes --campaign chai-bora-2026")
        .await;
    stack.fine("audit list").await;
    assert_eq!(stack.audit_actions().await, ["campaign.apply"]);
    for (option, shown) in [
        ("--show-phone", "phone"),
        ("--show-photo", "photo"),
        ("--show-receipt", "receipt"),
    ] {
        stack.fine(format!("submission show {id} {option}")).await;
        let row = stack.last_audit_row().await;
        assert_eq!(
            fields(&row, "action subject"),
            format!("submission.show {id}")
        );
        let details = parse_json(text_of(&row["details"]));
        let mut details = details.as_object().expect("an object").iter();
        assert!(
            details.all(|(name, seen)| *seen == (name == shown)),
            "{row}"
        );
    }
}

#[tokio::test]
async fn rows_of_operators_who_work_at_once_are_one_log() {
    let stack = Stack::with_chai().await;
    let issue = format!("key issue {SCOPE}");
    let ended = join_all((0..8).map(|_| stack.run(&issue))).await;
    assert!(ended.iter().all(|ended| ended.code == ops_core::EXIT_OK));
    let verified = stack.json("audit verify").await;
    assert_eq!(verified["count"], 9);
    assert_eq!(verified["last_hash"], stack.last_audit_row().await["hash"]);
}

async fn with_rows() -> Stack {
    let stack = Stack::with_chai().await;
    for command in ["pause", "resume", "pause", "resume"] {
        stack
            .fine(format!("campaign {command} chai-bora-2026"))
            .await;
    }
    stack
}

#[tokio::test]
async fn verifying_names_the_row_that_was_changed_removed_or_swapped() {
    let broken = async |stack: &Stack| stack.refused("audit verify", "audit_broken").await.message;
    let row = |sequence| format!("\"day\" = '2026-03-01' AND \"sequence\" = {sequence}");
    let stack = with_rows().await;
    assert_eq!(stack.json("audit verify").await["count"], 5);
    stack
        .sql(format!(
            "UPDATE \"audit\" SET who = 'nobody' WHERE {}",
            row(3)
        ))
        .await;
    assert_contains!(
        broken(&stack).await,
        "\nrow 3 of 2026-03-01: it was changed"
    );
    let listed = stack.audit_rows().await.len();
    assert_eq!(listed, 5, "what can be read is listed");

    let stack = with_rows().await;
    for last in [4, 5] {
        stack
            .sql(format!("DELETE FROM \"audit\" WHERE {}", row(last)))
            .await;
        assert_contains!(broken(&stack).await, "\nrow 4: it is missing");
    }

    let stack = with_rows().await;
    let rows = records(&stack, "audit").await;
    for (from, to) in [(2, 3), (3, 2)] {
        let mut found = rows.iter().filter(|row| row["sequence"] == number(from));
        let mut swapped = found.next().expect("a row").clone();
        swapped.insert("sequence".to_owned(), number(to));
        put(&stack, "audit", swapped).await;
    }
    assert_contains!(
        broken(&stack).await,
        "\nrow 2 of 2026-03-01: it was changed"
    );
}

#[tokio::test]
async fn item_put_into_the_log_without_ops_stops_nothing() {
    let stack = with_rows().await;
    let insert = async |rest: String| {
        let row = format!("{{'day': '2026-03-01', 'sequence': {rest}}}");
        stack
            .sql(format!("INSERT INTO \"audit\" VALUE {row}"))
            .await;
    };
    for sequence in 6..=12 {
        insert(format!("{sequence}, 'record_version': 2")).await;
    }
    insert("2.5".to_owned()).await;
    stack.fine("campaign pause chai-bora-2026").await;
    stack
        .fine("phone block --campaign chai-bora-2026 --why 'Sells codes' 0712345678")
        .await;
    let log = audit::AuditLog::from_env(&stack.env, &stack.aws().dynamodb()).expect("the table");
    let skipped = log.skipped_at().await.expect("it answers");
    assert_eq!(skipped, Some(NOW), "the sweep raises an alarm");
    let mut listed = stack.audit_rows().await;
    listed.retain(|row| row["action"] == "campaign.pause");
    assert_eq!(listed.len(), 3);
    let message = stack.refused("audit verify", "audit_broken").await.message;
    assert!(
        message.starts_with("8 rows of the audit log do not fit"),
        "{message}"
    );
    for sequence in [0, 6, 7, 8, 9, 10, 11, 12] {
        let named = format!("\nrow {sequence} of 2026-03-01: it was written without `ops`");
        assert_contains!(message, named);
    }
}

#[tokio::test]
async fn end_of_the_log_changed_without_ops_is_named() {
    for last in ["'x'", "18446744073709551615"] {
        let stack = with_rows().await;
        let head =
            format!("SET last_sequence = {last} WHERE \"day\" = 'head' AND \"sequence\" = 0");
        stack.sql(format!("UPDATE \"audit\" {head}")).await;
        let message = stack
            .refused("campaign pause chai-bora-2026", "records_unreadable")
            .await
            .message;
        assert_contains!(message, "head of the table of audit");
    }
}

#[tokio::test]
async fn time_of_a_row_that_goes_back_is_named() {
    let stack = with_rows().await;
    let earlier = Timestamp::from_millis(NOW.as_millis() - 20 * 60 * 1000);
    let pause = "campaign pause chai-bora-2026";
    stack.run_at(&Clock::manual(earlier), pause).await.fine();
    let message = stack.refused("audit verify", "audit_broken").await.message;
    assert_contains!(
        message,
        "\nrow 6 of 2026-02-28: its time is 20 minutes before"
    );
}

#[tokio::test]
async fn rows_are_listed_by_day() {
    let stack = with_rows().await;
    stack
        .clock
        .advance(std::time::Duration::from_secs(40 * 24 * 60 * 60));
    stack.fine("campaign pause chai-bora-2026").await;
    assert_eq!(
        stack.audit_actions().await,
        ["campaign.pause"],
        "the last 30 days"
    );
    // The last is the first day that there is.
    for (days, rows) in [
        ("--from 2026-03-01 --to 2026-03-01", 5),
        ("--to=-262143-01-01", 0),
    ] {
        let listed = stack.json(format!("audit list {days}")).await;
        assert_eq!(len_of(&listed["rows"]), rows, "{days}");
    }
    assert_eq!(
        stack
            .fine("audit list --from 2026-03-02 --to 2026-03-03")
            .await,
        "The audit log has no such rows from 2026-03-02 to 2026-03-03.\n"
    );
    let reversed = "audit list --from 2026-03-02 --to 2026-03-01";
    stack.refused(reversed, "days_invalid").await;
    let verified = stack.json("audit verify").await;
    assert_eq!(verified["count"], 6, "over all days");
}

#[tokio::test]
async fn rows_are_listed_by_action_person_and_subject() {
    let stack = Stack::with_chai().await;
    let left = with_receipt(&stack, photo(None), as_it_is).await;
    let (id, reference) = (left.submission_id.to_string(), left.reference().to_string());
    stack
        .fine(format!("submission show {id} --show-phone"))
        .await;
    let output = stack.arg("person.zip");
    stack
        .fine(format!(
            "person export --phone 0712345678 --output {output} --by Juma"
        ))
        .await;
    stack.fine("campaign pause chai-bora-2026").await;
    let listed = async |filter: &str| {
        let rows = stack.json(format!("audit list {filter}")).await;
        let rows = list_of(&rows["rows"]).iter();
        rows.map(|row| text_of(&row["action"]).to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (filter, actions) in [
        (&format!("--about {id}"), "submission.show person.export"),
        (
            &format!("--about {reference}"),
            "submission.show person.export",
        ),
        (&"--action person".to_owned(), "person.export"),
        (&"--action campaign.pause".to_owned(), "campaign.pause"),
        (&"--action camp".to_owned(), ""),
        (&"--who Juma".to_owned(), "person.export"),
        (
            &"--who local".to_owned(),
            "campaign.apply submission.show person.export campaign.pause",
        ),
    ] {
        assert_eq!(listed(filter).await, actions, "{filter}");
    }
    let text = stack.fine("audit list").await;
    assert_contains!(text, "TIME (Africa/Dar_es_Salaam)", "2026-03-01 03:00:");
}

#[tokio::test]
async fn phone_in_a_reason_is_refused_before_it_is_recorded() {
    let stack = Stack::with_chai().await;
    let left = submission(waiting(), None);
    write(&stack, &left, None).await;
    let (id, rows) = (left.submission_id.to_string(), stack.audit_actions().await);
    for command in [
        "phone block --campaign chai-bora-2026 0712345678",
        &format!("submission settle {id} --accept"),
        &format!("submission revoke {id}"),
        &format!("submission reopen {id}"),
        "person erase --phone 0712345678 --yes",
    ] {
        let error = stack
            .refused(
                format!("{command} --why 'Call from 0712 345 678.'"),
                "phone_in_words",
            )
            .await;
        assert_lacks!(error.message, "345");
    }
    assert_eq!(stack.audit_actions().await, rows);
}

#[tokio::test]
async fn applying_a_file_tells_what_it_changes() {
    let stack = Stack::with_chai().await;
    let details = async || {
        let row = stack.last_audit_row().await;
        parse_json(text_of(&row["details"]))
    };
    assert_eq!(details().await["change"], "created");
    let changed = CHAI.replace("phone_daily: 3", "phone_daily: 4");
    stack.apply(&changed).await;
    assert_eq!(
        fields(&details().await, "change fields"),
        r#"updated ["limits.phone_daily"]"#
    );
    stack.apply(&changed).await;
    assert_eq!(stack.audit_actions().await.len(), 2, "it changes nothing");
    assert_eq!(
        stack.last_audit_row().await["campaign"],
        json!(live().campaign)
    );
}
