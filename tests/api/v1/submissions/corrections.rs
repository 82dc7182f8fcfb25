//! A corrected submission, as callers see it.

use common::domain::scope::Environment;
use common::domain::submission::OperatorDecision;
use common::domain::submission::correction::Correction;
use common::store::submission_writes::{CorrectionResult, SubmissionStore};
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;

async fn correct(campaign: &TestCampaign, reply: &Reply, correction: Correction) {
    let store = SubmissionStore::from_env(&campaign.service.env, &campaign.service.dynamodb());
    let (store, scope) = (
        store.expect("the tables"),
        campaign.scope(Environment::Test),
    );
    let id = reply
        .field("id")
        .as_str()
        .expect("an id")
        .parse()
        .expect("an id");
    let before = store
        .submissions()
        .get(&scope, id)
        .await
        .expect("it answers")
        .expect("it is there");
    let at = campaign.service.clock.now();
    let decision = OperatorDecision {
        by: "asha".to_owned(),
        at,
        why: None,
        confirmed: None,
        identity: None,
    };
    let after = before
        .corrected(correction, decision)
        .expect("it is settled");
    let written = match correction {
        Correction::Revoke { free_code } => store.revoke(&before, &after, free_code, None).await,
        Correction::Reopen => store.reopen(&before, &after, campaign.config.limits).await,
    };
    assert_eq!(written.expect("it answers"), CorrectionResult::Committed);
}

#[tokio::test]
async fn revoked_entry_keeps_its_code_used_for_its_own_phone_too() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(0);
    let entered = campaign.submit(&phone(1), &code).await;
    correct(&campaign, &entered, Correction::Revoke { free_code: false }).await;

    let path = format!(
        "/api/v1/submissions/{}",
        entered.field("id").as_str().expect("an id")
    );
    let seen = campaign.test("GET", &path).send().await;
    for (field, value) in [
        ("state", json!("rejected")),
        ("review_status", json!(null)),
        ("display_status", json!("not_accepted")),
        ("message_key", json!("blocked")),
        ("reasons", json!(["blocked", "revoked"])),
        ("entries", json!(0)),
        ("terminal", json!(true)),
        ("poll_after_seconds", json!(null)),
    ] {
        assert_eq!(seen.field(field), value, "{field}");
    }
    let listed = campaign.lookup(&phone(1)).send().await;
    assert_eq!(listed.field("total_entries"), 0);
    assert_eq!(
        listed.field("submissions")[0]["display_status"],
        "not_accepted"
    );

    for number in [1, 2] {
        assert_eq!(
            campaign.outcome(&phone(number), &code).await,
            "already_used"
        );
        let check = json!({ "code": code, "phone": phone(number) });
        let check = campaign
            .test("POST", "/api/v1/codes/check")
            .json(&check)
            .send()
            .await;
        assert_eq!(check.field("precheck"), "already_used");
    }
}

#[tokio::test]
async fn freed_code_is_entered_again_and_a_reopened_entry_replays() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(0);
    let first = campaign.submit(&phone(1), &code).await;
    correct(&campaign, &first, Correction::Revoke { free_code: true }).await;
    let second = campaign.submit(&phone(2), &code).await;
    assert_eq!(second.field("message_key"), "entered");

    correct(&campaign, &second, Correction::Revoke { free_code: false }).await;
    correct(&campaign, &second, Correction::Reopen).await;
    assert_eq!(campaign.outcome(&phone(1), &code).await, "code_held");
    let again = campaign.submit(&phone(2), &code).await;
    assert_eq!(
        (again.field("id"), again.field("replayed")),
        (second.field("id"), json!(true))
    );
    assert_eq!(again.field("state"), "unknown");
    assert_eq!(again.field("display_status"), "checking");
    assert_eq!(again.field("poll_after_seconds"), 300);
}
