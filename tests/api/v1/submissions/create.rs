//! `POST /api/v1/submissions`: accepted entries and replays.

use std::time::Duration;

use common::domain::campaign::{CodePolicy, ConsentText};
use common::domain::codebook::BatchStatus;
use common::domain::scope::Environment;
use insta::assert_snapshot;
use serde_json::json;
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::receipts::id_of;

#[tokio::test]
async fn a_genuine_code_enters() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.submit("0712 345 678", &campaign.code(0)).await;
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "campaign": "[slug]",
      "consent": {
        "language": "en",
        "version": null
      },
      "created_at": "[time]",
      "display_status": "entered",
      "entries": 1,
      "id": "[uuid]",
      "instant_win": null,
      "livemode": false,
      "message": "You are in! Keep your code or receipt until the campaign ends.",
      "message_key": "entered",
      "poll_after_seconds": null,
      "reasons": [],
      "receipt": null,
      "ref": "[ref]",
      "replayed": false,
      "review_status": null,
      "state": "accepted",
      "terminal": true,
      "updated_at": "[time]",
      "upstream": null
    }
    "#);
    assert_eq!(reply.header("idempotent-replayed"), None);
    let read = campaign.read(&campaign.test_key, &id_of(&reply)).await;
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
    let shown = campaign.test("GET", "/api/v1/campaign?locale=sw").await;
    assert_eq!(
        shown.fields("consent.version consent.text"),
        "2026-03 Nakubali."
    );
    // The current text, and one that was shown earlier.
    for (number, version, language, expected) in [
        (1, None, "en", "2026-03 en"),
        (2, Some("2026-01"), "sw", "2026-01 sw"),
    ] {
        let mut body = body(&phone(number), &campaign.code(number.into()));
        if let Some(version) = version {
            body["consent_version"] = json!(version);
        }
        let sending = campaign.test("POST", &format!("/api/v1/submissions?locale={language}"));
        let sending = sending.header("idempotency-key", fresh_key());
        let id = id_of(&sending.json(&body).await);
        let read = campaign.read(&campaign.test_key, &id).await;
        assert_eq!(read.fields("consent.version consent.language"), expected);
    }
}

#[tokio::test]
async fn a_code_with_a_prize_wins_it() {
    let campaign = TestCampaign::with(|config| config.entries_per_submission = 2).await;
    let first = campaign
        .mint("prizes", BatchStatus::Active, Some("A kettle"))
        .await;
    let reply = campaign.submit(&phone(1), &campaign.code(first)).await;
    assert_eq!(
        reply.fields("message_key instant_win entries state"),
        "instant_win A kettle 2 accepted"
    );
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
    for (number, code, batch) in [
        (1, campaign.code(first), Some("prizes")),
        (2, "PRINTED01".to_owned(), Some("printed")),
    ] {
        let id = id_of(&campaign.submit(&phone(number), &code).await);
        let kept = campaign.record_in(Environment::Test, &id).await;
        assert_eq!(kept.batch.as_deref(), batch);
    }
}

#[tokio::test]
async fn the_same_key_and_body_give_the_same_submission() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().await;
    let again = sending.clone().await;
    assert_eq!(again.json(), first.json());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
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
        .await;
    let again = sending()
        .raw(format!(
            "{{ \"consent\": true,\n\"code\":\"{code}\", \"phone\":\"0712345678\" }}"
        ))
        .await;
    assert_eq!(again.json(), first.json());
}

#[tokio::test]
async fn a_refusal_is_replayed_as_well() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign.submission(&phone(1), "NOT-A-CODE");
    let first = sending.clone().await;
    assert_eq!(first.field("message_key"), "invalid");
    let again = sending.await;
    assert_eq!(again.json(), first.json());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
}

#[tokio::test]
async fn the_same_key_with_another_body_is_refused() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().await;
    let other = sending
        .clone()
        .json(&body(&phone(1), &campaign.code(1)))
        .await;
    assert_eq!(other.refusal(), "422 idempotency_key_reused");
    let again = sending.await;
    assert_eq!(again.json(), first.json(), "the first one stands");
    // Nothing was taken.
    campaign.enter(2, 1).await;
}

#[tokio::test]
async fn the_same_code_and_phone_give_the_earlier_submission() {
    let campaign = TestCampaign::plain().await;
    let first = campaign.submit(&phone(1), &campaign.code(0)).await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let second = sending.clone().await;
    assert_eq!(second.fields("id replayed"), id_of(&first) + " true");
    assert_eq!(second.header("idempotent-replayed"), None);
    // The new key is remembered for it.
    let again = sending.clone().await;
    assert_eq!(again.json(), second.json());
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let other = sending.json(&body(&phone(1), &campaign.code(1))).await;
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
    let mut campaign = TestCampaign::at_noon().await;
    let first = campaign.submit(&phone(1), &campaign.code(0)).await;
    campaign.config.paused = true;
    campaign.apply().await;
    campaign.advance(Duration::from_secs(5));
    let again = campaign.submit(&phone(1), &campaign.code(0)).await;
    assert_eq!(again.field("id"), first.field("id"));
    let other = campaign.outcome(&phone(2), &campaign.code(1)).await;
    assert_eq!(other, "campaign_paused");
}

#[tokio::test]
async fn a_key_is_forgotten_after_thirty_days_and_not_before() {
    const DAY: Duration = Duration::from_hours(24);
    let campaign = TestCampaign::at_noon().await;
    let sending = campaign.submission(&phone(1), &campaign.code(0));
    let first = sending.clone().await;
    campaign.advance(DAY * 30 - Duration::from_secs(1));
    let within = sending.clone().await;
    assert_eq!(within.header("idempotent-replayed"), Some("true"));
    campaign.advance(Duration::from_secs(1));
    let after = sending.await;
    assert_eq!(after.header("idempotent-replayed"), None);
    // The code and the phone are still known.
    assert_eq!(after.fields("id replayed"), id_of(&first) + " true");
    campaign.enter(2, 1).await;
}

#[tokio::test]
async fn the_phone_is_recorded_in_one_form_and_counted_once() {
    let campaign = TestCampaign::with(|config| config.limits.phone_total = Some(1)).await;
    for (spelling, code, outcome) in [
        ("0712 345 678", 0, "entered"),
        ("+255712345678", 1, "entry_limit"),
    ] {
        let code = campaign.code(code);
        assert_eq!(campaign.outcome(spelling, &code).await, outcome);
    }
    let phone = "0712345678".parse().expect("a phone");
    let scope = campaign.scope(Environment::Test);
    let entrant = campaign.service.entrant(&scope, &phone, "").await;
    let entrant = entrant.expect("the table");
    assert_eq!(
        (entrant.total, entrant.entries),
        (1, 1),
        "a refused one does not count"
    );
}

#[tokio::test]
async fn a_campaign_without_codes_ignores_one_that_is_sent() {
    let campaign = TestCampaign::with(|config| config.code = CodePolicy::None).await;
    let without = campaign
        .submission(&phone(1), "x")
        .json(&json!({ "phone": phone(1), "consent": true }));
    assert_eq!(without.await.field("message_key"), "entered");
    assert_eq!(campaign.outcome(&phone(1), "ANYTHING").await, "entered");
}
