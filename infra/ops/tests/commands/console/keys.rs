//! Keys of a campaign on their page.

use service_tests::text::fields;

use super::{SignedIn, between, hidden};
use crate::support::Stack;

const KEYS: &str = "/campaigns/chai-bora-2026/live/keys";

/// The mark of a page's form that counts once.
pub(super) fn mark_in(page: &str) -> String {
    format!("once={}", hidden(page, "once"))
}

/// Issues a key; returns it and its id.
async fn issued(operator: &SignedIn, fields: &str) -> (String, String) {
    let mark = mark_in(&operator.page(KEYS).await);
    let page = operator
        .post_for(200, KEYS, &format!("{mark}&{fields}"))
        .await
        .text;
    let key = between(&page, "id=\"issued\">", "<");
    let id = between(&page, "The key ", ".");
    (key.to_owned(), id.to_owned())
}

#[tokio::test]
async fn a_key_is_shown_once_and_its_form_counts_once() {
    let stack = Stack::with_chai().await;
    let operator = SignedIn::to(&stack).await;
    let form = format!(
        "{}&label=Brand&per_minute=120&valid_for=24",
        mark_in(&operator.page(KEYS).await)
    );
    let page = operator.post_for(200, KEYS, &form).await.text;
    let key = between(&page, "id=\"issued\">", "<").to_owned();
    assert_contains!(
        page,
        "It is shown only now",
        "data-copy=\"issued\"",
        "It works until"
    );
    let again = operator.post_for(422, KEYS, &form).await;
    assert_contains!(
        again.text,
        "This form was sent before, so nothing was done again"
    );
    let listed = operator.page(KEYS).await;
    assert_contains!(listed, "Brand", "120", "until 2026-03-02 03:00:00");
    assert_lacks!(listed, key);
    let keys = stack.json("key list --campaign chai-bora-2026").await;
    assert_eq!(keys["keys"].as_array().map(Vec::len), Some(1));
    assert_lacks!(stack.last_audit_row().await.to_string(), key);

    let mark = mark_in(&listed);
    for wrong in [
        "per_minute=0",
        "per_minute=many",
        "per_minute=9&valid_for=0",
        "per_minute=9&label=%01",
    ] {
        operator
            .post_for(422, KEYS, &format!("{mark}&{wrong}"))
            .await;
    }
    operator
        .post_for(200, KEYS, &format!("{mark}&per_minute=9"))
        .await;
}

#[tokio::test]
async fn a_key_is_limited_rolled_and_revoked() {
    let stack = crate::roles::guarded_stack().await;
    let operator = SignedIn::with_role(&stack, "operator").await;
    let (_, id) = issued(&operator, "per_minute=600").await;
    let change = format!("{KEYS}/change?key={id}");
    let mark = mark_in(&operator.page(&change).await);
    let limit = format!("{mark}&key={id}&per_minute=7");
    let limited = operator
        .post_for(200, &format!("{KEYS}/limit"), &limit)
        .await;
    assert_contains!(limited.text, "may make 7 requests a minute");
    operator
        .post_for(422, &format!("{KEYS}/limit"), &limit)
        .await;

    let mark = mark_in(&operator.page(&change).await);
    let roll = format!("{mark}&key={id}&hours=2");
    let rolled = operator.post_for(200, &format!("{KEYS}/roll"), &roll).await;
    assert_contains!(
        rolled.text,
        "It is shown only now",
        format!("The old key {id} works until")
    );
    operator.post_for(422, &format!("{KEYS}/roll"), &roll).await;

    let revoke = format!("{KEYS}/revoke");
    let untyped = operator
        .post_for(422, &revoke, &format!("key={id}&typed=yes"))
        .await;
    assert_contains!(untyped.text, "type exactly");
    operator
        .post_for(200, &revoke, &format!("key={id}&typed={id}"))
        .await;
    let row = stack.last_audit_row().await;
    assert_eq!(fields(&row, "action subject"), format!("key.revoke {id}"));
    let again = operator
        .post_for(200, &revoke, &format!("key={id}&typed={id}"))
        .await;
    assert_contains!(again.text, "It was revoked before; nothing changes.");
    assert_contains!(operator.page(&change).await, "It works no more");
    let other = format!("/campaigns/chai-bora-2026/test/keys/change?key={id}");
    assert_eq!(operator.status("GET", &other).await, 404);
}

#[tokio::test]
async fn a_reviewer_sees_keys_and_why_none_can_be_issued() {
    let stack = crate::roles::guarded_stack().await;
    stack
        .fine("key issue --campaign chai-bora-2026 --environment live --label Brand")
        .await;
    let reviewer = SignedIn::with_role(&stack, "reviewer").await;
    let page = reviewer.page(KEYS).await;
    assert_contains!(
        page,
        "Brand",
        "Issuing a key takes the role <b>operator</b>"
    );
    assert_lacks!(page, "change?key=", "<button>Issue");
}
