//! A corrected submission, as callers see it.

use common::domain::scope::Environment;
use common::domain::submission::OperatorDecision;
use common::domain::submission::correction::Correction;
use common::store::submission_writes::CorrectionResult;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::receipts::id_of;

const FREEING: Correction = Correction::Revoke {
    free_code: true,
    keep_prize: false,
};

async fn correct(campaign: &TestCampaign, reply: &Reply, correction: Correction) {
    let store = &campaign.service.tables.store;
    let before = campaign.record_in(Environment::Test, &id_of(reply)).await;
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
        Correction::Revoke { free_code, .. } => {
            let further = Vec::new();
            store.revoke(&before, &after, free_code, further).await
        }
        Correction::Reopen => store.reopen(&before, &after, campaign.config.limits).await,
    };
    assert_eq!(written.expect("it answers"), CorrectionResult::Committed);
}

#[tokio::test]
async fn revoked_entry_keeps_its_code_used_for_its_own_phone_too() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(0);
    let entered = campaign.submit(&phone(1), &code).await;
    correct(&campaign, &entered, Correction::REVOKE).await;

    let seen = campaign.read(&campaign.test_key, &id_of(&entered)).await;
    let names = "state review_status display_status message_key reasons entries terminal \
                 poll_after_seconds";
    assert_eq!(
        seen.fields(names),
        r#"rejected null not_accepted blocked ["blocked","revoked"] 0 true null"#
    );
    let listed = campaign.lookup(&phone(1)).await;
    let names = "total_entries submissions.0.display_status";
    assert_eq!(listed.fields(names), "0 not_accepted");

    for number in [1, 2] {
        let outcome = campaign.outcome(&phone(number), &code).await;
        assert_eq!(outcome, "already_used");
        let check = json!({ "code": code, "phone": phone(number) });
        let check = campaign
            .test("POST", "/api/v1/codes/check")
            .json(&check)
            .await;
        assert_eq!(check.field("precheck"), "already_used");
    }
}

#[tokio::test]
async fn freed_code_is_entered_again_and_a_reopened_entry_replays() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(0);
    let first = campaign.submit(&phone(1), &code).await;
    correct(&campaign, &first, FREEING).await;
    let second = campaign.submit(&phone(2), &code).await;
    assert_eq!(second.field("message_key"), "entered");

    correct(&campaign, &second, Correction::REVOKE).await;
    correct(&campaign, &second, Correction::Reopen).await;
    assert_eq!(campaign.outcome(&phone(1), &code).await, "code_held");
    let again = campaign.submit(&phone(2), &code).await;
    assert_eq!(
        again.fields("id replayed state display_status poll_after_seconds"),
        second.fields("id") + " true unknown checking 300"
    );
}
