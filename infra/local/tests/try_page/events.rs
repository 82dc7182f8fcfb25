//! The page's receiver of webhooks.

use tokio::time::{Duration, sleep};

use super::*;

const SWITCH: &str = "/try/events/chai-bora-2026/test";

/// Types of the events that came.
async fn types(tried: &Tried) -> Vec<String> {
    let arrived = parsed(&tried.get(SWITCH).await);
    let events = arrived["events"].as_array().expect("a list").iter();
    let kind = |event: &Value| event["body"]["type"].as_str().expect("a type").to_owned();
    events.map(kind).collect()
}

#[tokio::test]
async fn late_decision_arrives_while_the_switch_is_on() {
    let tried = Tried::start().await;
    let unguarded = tried.send("PUT", SWITCH, &[], "").await;
    assert_eq!(error(&unguarded), "422 validation_failed");
    assert_eq!(tried.call("PUT", SWITCH, "").await.status(), 200);
    assert_eq!(types(&tried).await, ["test.ping"]);

    let forged = [
        ("webhook-id", "evt_s4fkv7yfdfyhgxhnecjfwc67km"),
        ("webhook-timestamp", "1"),
        ("webhook-signature", "v1,AAAA"),
    ];
    let receiver = SWITCH.replace("events", "received");
    let refused = tried.send("POST", &receiver, &forged, "{}").await;
    assert_eq!(error(&refused), "422 validation_failed");

    let path = format!("/try/api/{CODES}/test/submissions");
    let slow = entry("TEST-0-SLOW", "0712345678");
    let entered = parsed(&tried.call("POST", &path, &slow).await);
    assert_eq!(entered["state"], "unknown");
    while types(&tried).await.len() < 2 {
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(types(&tried).await, ["test.ping", "submission.accepted"]);

    assert_eq!(tried.call("DELETE", SWITCH, "").await.status(), 204);
    assert_eq!(types(&tried).await, Vec::<String>::new());
}
