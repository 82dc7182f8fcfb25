//! `ops key`.

use std::time::Duration;

use serde_json::Value;
use service_tests::text::{fields, list_of, parse_json, text_of};

use crate::support::{Stack, run};

#[tokio::test]
async fn a_key_is_alone_on_standard_output_and_never_seen_again() {
    let stack = Stack::with_chai().await;
    let ended = stack
        .run("key issue --campaign chai-bora-2026 --environment test")
        .await
        .fine();
    let key = ended.out.trim_end();
    assert!(key.starts_with("svc_test_") && key.len() == 57, "{key}");
    assert_contains!(ended.err, "the only time that the key is shown");
    let listed = stack.json("key list --campaign chai-bora-2026").await;
    assert_lacks!(listed.to_string(), key);
    assert_eq!(listed["keys"][0]["per_minute"], 600);
}

#[tokio::test]
async fn a_live_key_of_a_staging_stack_is_said_to_be_of_no_use_there() {
    let stack = Stack::with_chai().await;
    let staging = stack.env_with(&[("STAGE", "staging")]);
    for (env, environment, is_warned) in [
        (&staging, "live", true),
        (&staging, "test", false),
        (&stack.env, "live", false),
    ] {
        let issue = format!("key issue --campaign chai-bora-2026 --environment {environment}");
        let ended = run(&issue, env.clone(), &stack.clock).await;
        let err = ended.fine().err;
        assert_eq!(err.contains("live keys are refused"), is_warned, "{err}");
    }
}

#[tokio::test]
async fn an_issued_key_can_be_listed_and_revoked() {
    let stack = Stack::with_chai().await;
    let scope = "--campaign chai-bora-2026 --environment live";
    let issue = format!("key issue {scope} --label 'Duka Ltd' --per-minute 30");
    let issued = stack.json(&issue).await;
    assert!(text_of(&issued["key"]).starts_with("svc_live_"));
    let id = text_of(&issued["key_id"]);
    let revoke = format!("key revoke {id}");
    stack.refused(&revoke, "confirmation_needed").await;
    let unsure = stack.answering(&revoke, "y\n").await.failed();
    let asked = format!(
        "Revoke the live key {id} (Duka Ltd) of chai-bora-2026? Calls with it are refused within 5 seconds. This cannot be \
         undone. Type {id} to continue: "
    );
    assert!(unsure.starts_with(&asked), "{unsure}");
    let listed = stack.json("key list --campaign chai-bora-2026").await;
    assert_eq!(listed["keys"][0]["revoked_at"], Value::Null);
    let sure = stack
        .answering(format!("{revoke} --json"), &format!("{id}\n"))
        .await;
    let revoked = parse_json(&sure.out);
    assert_eq!(revoked["revoked_at"], "2026-03-01T00:00:00.000Z");
    let again = stack.run(&revoke).await;
    assert_eq!(
        again.out,
        format!("{id} was revoked before; nothing changes\n")
    );
    let listed = stack.json("key list --campaign chai-bora-2026").await;
    assert_eq!(listed["keys"][0], revoked);
    assert_eq!(revoked["label"], "Duka Ltd");
    let listed = stack.fine("key list --campaign chai-bora-2026").await;
    assert_contains!(listed, "Duka Ltd");
}

#[tokio::test]
async fn a_key_can_be_issued_for_some_hours() {
    let stack = Stack::with_chai().await;
    let scope = "--campaign chai-bora-2026 --environment live";
    let issue = |hours| format!("key issue {scope} --valid-for {hours}");
    let err = stack.run(issue("48")).await.fine().err;
    let said = "\nIt works until 2026-03-03 03:00:00 Africa/Dar_es_Salaam, and is refused as revoked from then on.\n";
    assert!(err.ends_with(said), "{err}");
    let list = "key list --campaign chai-bora-2026";
    assert_contains!(stack.fine(&list).await, "  2026-03-03 03:00:00  ");
    let listed = stack.json(&list).await;
    let key = &listed["keys"][0];
    assert_eq!(key["valid_until"], "2026-03-03T00:00:00.000Z");
    let id = text_of(&key["key_id"]);
    stack.refused(format!("key roll {id}"), "key_rolled").await;
    let set = format!("key set {id} --per-minute 9");
    stack
        .clock
        .advance(Duration::from_hours(48) - Duration::from_millis(1));
    assert_eq!(stack.json(&set).await["valid_until"], key["valid_until"]);
    stack.clock.advance(Duration::from_millis(1));
    stack.refused(&set, "key_revoked").await;
    for hours in ["0", "8785"] {
        stack.run(issue(hours)).await.misused();
    }
}

#[tokio::test]
async fn an_unknown_campaign_or_key_is_refused() {
    let stack = Stack::with_chai().await;
    let issue = "key issue --campaign nobody --environment test";
    stack.refused(&issue, "campaign_unknown").await;
    stack
        .refused("key list --campaign nobody", "campaign_unknown")
        .await;
    stack
        .refused("key revoke 0123456789ab", "key_unknown")
        .await;
}

async fn issue(stack: &Stack) -> String {
    let scope = "--campaign chai-bora-2026 --environment live";
    let issue = format!("key issue {scope} --label 'Duka Ltd' --per-minute 30");
    let issued = stack.json(&issue).await;
    issued
        .get("key_id")
        .and_then(Value::as_str)
        .expect("an id")
        .to_owned()
}

#[tokio::test]
async fn a_keys_limit_can_be_changed_while_it_works() {
    let stack = Stack::with_chai().await;
    let id = issue(&stack).await;
    let changed = stack.json(format!("key set {id} --per-minute 900")).await;
    let listed = stack.json("key list --campaign chai-bora-2026").await;
    for key in [&changed, &listed["keys"][0]] {
        assert_eq!(fields(key, "per_minute label"), "900 Duka Ltd");
    }
    let said = stack.fine(format!("key set {id} --per-minute 9")).await;
    assert_contains!(
        said,
        "9 requests a minute; functions follow within 5 seconds"
    );
    stack.fine(format!("key revoke --yes {id}")).await;
    stack
        .refused(format!("key set {id} --per-minute 9"), "key_revoked")
        .await;
    stack
        .refused("key set 0123456789ab --per-minute 9", "key_unknown")
        .await;
}

#[tokio::test]
async fn rolled_key_has_a_successor_like_it_and_ends() {
    let stack = Stack::with_chai().await;
    let id = issue(&stack).await;
    let rolled = stack.json(format!("key roll {id}")).await;
    assert!(text_of(&rolled["key"]).starts_with("svc_live_"));
    assert_eq!(
        fields(&rolled, "old_key_id label per_minute old_valid_until"),
        format!("{id} Duka Ltd 30 2026-03-02T00:00:00.000Z")
    );
    assert_eq!(rolled["valid_until"], Value::Null);
    stack.refused(format!("key roll {id}"), "key_rolled").await;
    let new = text_of(&rolled["key_id"]);

    let ended = stack.run(format!("key roll {new} --old-valid-for 2")).await;
    let ended = ended.fine();
    let key = ended.out.trim_end();
    assert!(
        key.starts_with("svc_live_") && key.len() == 57,
        "the key alone: {key}"
    );
    assert_contains!(
        ended.err,
        "works until 2026-03-01 05:00:00 Africa/Dar_es_Salaam",
        "is refused as revoked from then on"
    );
    assert_lacks!(ended.err, key);
    let listed = stack.json("key list --campaign chai-bora-2026").await;
    let until = |id: &str| {
        let mut keys = list_of(&listed["keys"]).iter();
        keys.find(|key| key["key_id"] == id).expect("it is listed")["valid_until"].clone()
    };
    assert_eq!(until(&id), "2026-03-02T00:00:00.000Z");
    assert_eq!(until(new), "2026-03-01T02:00:00.000Z");
    assert_lacks!(listed.to_string(), key);

    stack.clock.advance(Duration::from_hours(2));
    stack
        .refused(format!("key roll {new}"), "key_revoked")
        .await;
    let revoked = stack.json(format!("key revoke --yes {id}")).await;
    assert_eq!(
        revoked["revoked_at"], "2026-03-01T02:00:00.000Z",
        "one whose time is not over can be revoked"
    );
}

#[tokio::test]
async fn a_key_whose_campaign_cannot_be_read_is_not_rolled() {
    let stack = Stack::with_chai().await;
    let id = issue(&stack).await;
    stack
        .sql("DELETE FROM campaigns WHERE slug = 'chai-bora-2026'")
        .await;
    stack
        .refused(format!("key roll {id}"), "campaign_unknown")
        .await;
    let slug = "chai-bora-2026".parse().expect("a slug");
    let keys = stack
        .tables()
        .api_keys
        .list(&slug)
        .await
        .expect("it answers");
    let keys: Vec<_> = keys
        .iter()
        .map(|key| (key.key_id.as_str(), key.valid_until))
        .collect();
    assert_eq!(keys, [(id.as_str(), None)], "every key was printed");
}
