//! `ops key`.

use crate::support::Stack;

#[tokio::test]
async fn a_key_is_alone_on_standard_output_and_never_seen_again() {
    let stack = Stack::with_chai().await;
    let ended = stack.run(&["key", "issue", "--campaign", "chai-bora-2026", "--environment", "test"]).await;
    assert_eq!(ended.code, 0);
    let key = ended.out.trim_end();
    assert!(key.starts_with("svc_test_") && key.len() == 41, "{key}");
    assert!(ended.err.contains("the only time that the key is shown"), "{}", ended.err);
    let listed = stack.json(&["key", "list", "--campaign", "chai-bora-2026"]).await;
    assert!(!listed.to_string().contains(key));
    assert_eq!(listed["keys"][0]["per_minute"], 600);
}

#[tokio::test]
async fn an_issued_key_can_be_listed_and_revoked() {
    let stack = Stack::with_chai().await;
    let scope = ["--campaign", "chai-bora-2026", "--environment", "live"];
    let issue = [&["key", "issue"], &scope[..], &["--label", "Duka Ltd", "--per-minute", "30"]].concat();
    let issued = stack.json(&issue).await;
    assert!(issued["key"].as_str().expect("a key").starts_with("svc_live_"));
    let id = issued["key_id"].as_str().expect("an id");
    let revoked = stack.json(&["key", "revoke", id]).await;
    assert_eq!(revoked["revoked_at"], "2026-03-01T00:00:00.000Z");
    let listed = stack.json(&["key", "list", "--campaign", "chai-bora-2026"]).await;
    assert_eq!(listed["keys"][0], revoked);
    assert_eq!(listed["keys"][0]["label"], "Duka Ltd");
    assert!(stack.fine(&["key", "list", "--campaign", "chai-bora-2026"]).await.contains("Duka Ltd"));
}

#[tokio::test]
async fn an_unknown_campaign_or_key_is_refused() {
    let stack = Stack::with_chai().await;
    let issue = ["key", "issue", "--campaign", "nobody", "--environment", "test"];
    assert_eq!(stack.refused(&issue).await["code"], "campaign_unknown");
    assert_eq!(stack.refused(&["key", "list", "--campaign", "nobody"]).await["code"], "campaign_unknown");
    assert_eq!(stack.refused(&["key", "revoke", "0123456789ab"]).await["code"], "key_unknown");
}
