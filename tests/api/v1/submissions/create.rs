//! `POST /api/v1/submissions`: accepted entries and replays.

use std::time::Duration;

use common::domain::campaign::ConsentText;
use common::domain::codebook::BatchStatus;
use common::domain::scope::Environment;
use common::store::submissions::Submissions;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone, plain};
use service_tests::service::Service;

#[tokio::test]
async fn a_genuine_code_enters() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.submit("0712 345 678", &campaign.code(0)).await;
    assert_eq!(
        reply.redacted(),
        json!([200, {
            "id": "[uuid]", "ref": "[ref]", "campaign": "[slug]", "livemode": false, "state": "accepted",
            "review_status": null, "display_status": "entered", "message_key": "entered",
            "message": "You are in! Keep your code or receipt until the campaign ends.", "reasons": [], "entries": 1,
            "instant_win": null, "terminal": true, "poll_after_seconds": null, "replayed": false,
            "receipt": null, "consent": { "version": null, "language": "en" }, "upstream": null,
            "created_at": "[time]", "updated_at": "[time]",
        }])
    );
    assert_eq!(reply.header("idempotent-replayed"), None);
    let path = format!(
        "/api/v1/submissions/{}",
        reply.field("id").as_str().expect("an id")
    );
    let read = campaign.test("GET", &path).send().await;
    assert_eq!(
        read.json(),
        reply.json(),
        "what was answered is what was recorded"
    );
}

#[tokio::test]
async fn consent_is_recorded_with_version_and_language() {
    let text = |version: &str| ConsentText {
        version: version.to_owned(),
        en: "I agree.".to_owned(),
        sw: "Nakubali.".to_owned(),
    };
    let campaign = TestCampaign::with(|config| config.consent = Some(text("2026-03"))).await;
    let shown = campaign
        .test("GET", "/api/v1/campaign?locale=sw")
        .send()
        .await;
    assert_eq!(
        shown.field("consent"),
        json!({ "version": "2026-03", "text": "Nakubali." })
    );
    let consent = async |number: u32, more: &Value, language: &str| {
        let mut body = body(&phone(number), &campaign.code(number.into()));
        body.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let sending = campaign.test("POST", &format!("/api/v1/submissions?locale={language}"));
        let reply = sending
            .header("idempotency-key", fresh_key())
            .json(&body)
            .send()
            .await;
        let path = format!(
            "/api/v1/submissions/{}",
            reply.field("id").as_str().expect("an id")
        );
        let read = campaign.test("GET", &path).send().await.field("consent");
        json!([read["version"], read["language"]])
    };
    assert_eq!(
        consent(1, &json!({}), "en").await,
        json!(["2026-03", "en"]),
        "the current text"
    );
    let earlier = json!({ "consent_version": "2026-01" });
    assert_eq!(
        consent(2, &earlier, "sw").await,
        json!(["2026-01", "sw"]),
        "the text that was shown"
    );
}

#[tokio::test]
async fn a_code_with_a_prize_wins_it() {
    let campaign = TestCampaign::with(|config| config.entries_per_submission = 2).await;
    let first = campaign
        .mint("prizes", BatchStatus::Active, Some("A kettle"))
        .await;
    let reply = campaign.submit(&phone(1), &campaign.code(first)).await;
    assert_eq!(reply.field("message_key"), "instant_win");
    assert_eq!(reply.field("instant_win"), "A kettle");
    assert_eq!(reply.field("entries"), 2);
    assert_eq!(reply.field("state"), "accepted");
}

#[tokio::test]
async fn a_submission_names_the_batch_of_its_code() {
    let campaign = TestCampaign::plain().await;
    let first = campaign
        .mint("prizes", BatchStatus::Active, Some("A kettle"))
        .await;
    campaign
        .import("printed", BatchStatus::Active, None, &["PRINTED01"])
        .await;
    let service = &campaign.service;
    let submissions = Submissions::from_env(&service.env, &service.dynamodb()).expect("the table");
    for (number, code, batch) in [
        (1, campaign.code(first), Some("prizes")),
        (2, "PRINTED01".to_owned(), Some("printed")),
    ] {
        let reply = campaign.submit(&phone(number), &code).await;
        let id = reply
            .field("id")
            .as_str()
            .and_then(|id| id.parse().ok())
            .expect("an id");
        let kept = submissions
            .get(&campaign.scope(Environment::Test), id)
            .await
            .expect("it answers");
        assert_eq!(kept.expect("it is there").batch.as_deref(), batch);
    }
}

#[tokio::test]
async fn the_same_key_and_body_give_the_same_submission() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().send().await;
    let again = sending.clone().send().await;
    assert_eq!(again.json(), first.json());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));

    let key = fresh_key();
    let quoted = |value: String| {
        campaign
            .submission(&phone(2), &campaign.code(1))
            .without("idempotency-key")
            .header("idempotency-key", value)
    };
    let bare = quoted(key.clone()).send().await;
    let in_quotes = quoted(format!("\"{key}\"")).send().await;
    assert_eq!(
        in_quotes.json(),
        bare.json(),
        "a quoted key is the bare key"
    );
}

#[tokio::test]
async fn order_and_space_of_fields_make_no_other_body() {
    let campaign = TestCampaign::plain().await;
    let key = fresh_key();
    let sending = || {
        campaign
            .test("POST", "/api/v1/submissions")
            .header("idempotency-key", &key)
            .header("content-type", "application/json")
    };
    let code = campaign.code(0);
    let first = sending()
        .raw(format!(
            r#"{{"phone":"0712345678","code":"{code}","consent":true}}"#
        ))
        .send()
        .await;
    let again = sending()
        .raw(format!(
            "{{ \"consent\": true,\n\"code\":\"{code}\", \"phone\":\"0712345678\" }}"
        ))
        .send()
        .await;
    assert_eq!(again.json(), first.json());
}

#[tokio::test]
async fn a_refusal_is_replayed_as_well() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign.submission(&phone(1), "NOT-A-CODE");
    let first = sending.clone().send().await;
    assert_eq!(first.field("message_key"), "invalid");
    let again = sending.send().await;
    assert_eq!(again.json(), first.json());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().send().await;
    let other = sending
        .clone()
        .json(&body(&phone(1), &campaign.code(1)))
        .send()
        .await;
    assert_eq!(other.refusal(), "422 idempotency_key_reused");
    let again = sending.send().await;
    assert_eq!(again.json(), first.json(), "the first one stands");
    assert_eq!(
        campaign.outcome(&phone(2), &campaign.code(1)).await,
        "entered",
        "nothing was taken"
    );
}

#[tokio::test]
async fn a_key_belongs_to_one_scope() {
    let (one, other) = (TestCampaign::plain().await, TestCampaign::plain().await);
    let key = fresh_key();
    let mut ids = Vec::new();
    for sending in [
        one.test("POST", "/api/v1/submissions"),
        one.live("POST", "/api/v1/submissions"),
        other.test("POST", "/api/v1/submissions"),
    ] {
        let reply = sending
            .header("idempotency-key", &key)
            .json(&body(&phone(1), &one.code(0)))
            .send()
            .await;
        assert_eq!(reply.field("message_key"), "entered");
        assert_eq!(reply.header("idempotent-replayed"), None);
        ids.push(reply.field("id"));
    }
    ids.sort_by_key(ToString::to_string);
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn the_same_code_and_phone_give_the_earlier_submission() {
    let campaign = TestCampaign::plain().await;
    let first = campaign.submit(&phone(1), &campaign.code(0)).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let second = sending.clone().send().await;
    assert_eq!(second.field("id"), first.field("id"));
    assert_eq!(second.field("replayed"), true);
    assert_eq!(second.header("idempotent-replayed"), None);

    let again = sending.clone().send().await;
    assert_eq!(
        again.json(),
        second.json(),
        "the new key is remembered for it"
    );
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let other = sending
        .json(&body(&phone(1), &campaign.code(1)))
        .send()
        .await;
    assert_eq!(other.error_code(), "idempotency_key_reused");
}

#[tokio::test]
async fn an_earlier_rejected_submission_is_not_given_back() {
    let campaign = TestCampaign::plain().await;
    let first = campaign.submit(&phone(1), "WRONG").await;
    let second = campaign.submit(&phone(1), "WRONG").await;
    assert_ne!(second.field("id"), first.field("id"));
    assert_eq!(second.field("replayed"), false);
}

#[tokio::test]
async fn earlier_submission_is_replayed_whatever_the_campaign_says() {
    let service = Service::at_noon();
    let mut campaign = TestCampaign::on(&service, plain()).await;
    let first = campaign.submit(&phone(1), &campaign.code(0)).await;
    campaign.config.paused = true;
    campaign.apply().await;
    service.clock.advance(Duration::from_secs(5));
    let again = campaign.submit(&phone(1), &campaign.code(0)).await;
    assert_eq!(again.field("id"), first.field("id"));
    assert_eq!(
        campaign.outcome(&phone(2), &campaign.code(1)).await,
        "campaign_paused"
    );
}

#[tokio::test]
async fn a_key_is_forgotten_after_thirty_days_and_not_before() {
    const DAY: Duration = Duration::from_hours(24);
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().send().await;
    service.clock.advance(DAY * 30 - Duration::from_secs(1));
    let within = sending.clone().send().await;
    assert_eq!(within.header("idempotent-replayed"), Some("true"));
    service.clock.advance(Duration::from_secs(1));
    let after = sending.clone().send().await;
    assert_eq!(after.header("idempotent-replayed"), None);
    assert_eq!(
        after.field("id"),
        first.field("id"),
        "the code and the phone are still known"
    );
    assert_eq!(after.field("replayed"), true);
    let other = campaign
        .submission(&phone(2), &campaign.code(1))
        .send()
        .await;
    assert_eq!(other.field("message_key"), "entered");
}

#[tokio::test]
async fn the_phone_is_recorded_in_one_form_and_counted_once() {
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(1)).await;
    assert_eq!(
        campaign.outcome("0712 345 678", &campaign.code(0)).await,
        "entered"
    );
    assert_eq!(
        campaign.outcome("+255712345678", &campaign.code(1)).await,
        "entry_limit"
    );
    let phone = "0712345678".parse().expect("a phone");
    let scope = campaign.scope(Environment::Test);
    let entrant = campaign
        .service
        .entrant(&scope, &phone, "2026-01-01")
        .await
        .expect("read");
    assert_eq!(
        (entrant.total, entrant.entries),
        (1, 1),
        "a refused one does not count"
    );
}

#[tokio::test]
async fn region_channel_and_claims_are_taken_and_decide_nothing() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign
        .submission(&phone(1), &campaign.code(0))
        .json(&json!({
            "phone": phone(1), "code": campaign.code(0), "consent": true, "region": "Mwanza", "channel": "ussd",
            "claimed": { "items": [{ "key": "chai-250", "qty": 99 }], "branch": "Kariakoo" },
            "unknown_field": [1, 2, 3],
        }));
    assert_eq!(sending.send().await.field("message_key"), "entered");
}

#[tokio::test]
async fn a_campaign_without_codes_ignores_one_that_is_sent() {
    let campaign =
        TestCampaign::with(|config| config.code = common::domain::campaign::CodePolicy::None).await;
    let without = campaign
        .submission(&phone(1), "x")
        .json(&json!({ "phone": phone(1), "consent": true }));
    assert_eq!(without.send().await.field("message_key"), "entered");
    assert_eq!(campaign.outcome(&phone(1), "ANYTHING").await, "entered");
}
