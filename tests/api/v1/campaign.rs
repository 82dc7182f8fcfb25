//! `GET /api/v1/campaign`.

use std::time::Duration;

use common::domain::campaign::{CodePolicy, PhoneLimits, Window};
use common::domain::message::{Language, MessageKey};
use common::domain::timestamp::Timestamp;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, plain};
use service_tests::receipts::receipts_alone;
use service_tests::service::{NOON, Service};

const PATH: &str = "/api/v1/campaign";

#[tokio::test]
async fn a_campaign_says_what_its_callers_need() {
    let campaign = TestCampaign::with(|config| {
        config.limits = PhoneLimits {
            phone_daily: Some(3),
            phone_total: Some(20),
        };
        config.window.start = Some(Timestamp::from_millis(1_767_214_800_000));
        config
            .messages
            .en
            .insert(MessageKey::Entered.into(), "Chai for you!".to_owned());
    })
    .await;
    let reply = campaign.test("GET", PATH).send().await;
    let mut shown = reply.redacted();
    let messages = shown[1]["messages"].take();
    assert_eq!(
        shown,
        json!([200, {
            "slug": "[slug]", "name": "Chai Bora Shinda", "brand": "Chai Bora", "livemode": false,
            "status": "live", "window": { "start": "2025-12-31T21:00:00.000Z", "end": null },
            "timezone": "Africa/Dar_es_Salaam",
            "capabilities": {
                "precheck": true, "code_required": true, "receipt_required": false, "typed_receipt": false,
            },
            "limits": { "phone_daily": 3, "phone_total": 20 },
            "receipt": null, "consent": null, "messages": null,
        }])
    );
    assert_eq!(messages.as_object().expect("a map").len(), 28);
    assert_eq!(messages["entered"], "Chai for you!");
    assert_eq!(messages["invalid"], MessageKey::Invalid.text(Language::En));
}

/// The text of one message for these languages.
async fn copy(campaign: &TestCampaign, query: &str, accept_language: Option<&str>) -> Value {
    let mut sending = campaign.test("GET", &format!("{PATH}{query}"));
    if let Some(value) = accept_language {
        sending = sending.header("accept-language", value);
    }
    let reply = sending.send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.field("messages")["campaign_ended"].clone()
}

#[tokio::test]
async fn a_live_key_reads_the_same_campaign_in_live_mode() {
    let campaign = TestCampaign::with(|config| {
        config.limits = PhoneLimits::default();
        config.window.end = Some(Timestamp::from_millis(4_102_444_799_999));
        config.timezone = "Asia/Kathmandu".parse().expect("a zone");
    })
    .await;
    let reply = campaign.live("GET", PATH).send().await.json();
    assert_eq!(reply["slug"], campaign.config.slug.as_str());
    assert_eq!(reply["livemode"], true);
    assert_eq!(
        reply["window"],
        json!({ "start": null, "end": "2099-12-31T23:59:59.999Z" })
    );
    assert_eq!(reply["timezone"], "Asia/Kathmandu");
    assert_eq!(
        reply["limits"],
        json!({ "phone_daily": null, "phone_total": null })
    );
}

#[tokio::test]
async fn the_status_follows_from_the_window_and_the_time() {
    let service = Service::at_noon();
    let start = NOON.after(Duration::from_secs(60));
    let end = NOON.after(Duration::from_secs(120));
    let mut config = plain();
    config.window = Window {
        start: Some(start),
        end: Some(end),
    };
    let campaign = TestCampaign::on(&service, config).await;
    let status = async || campaign.test("GET", PATH).send().await.field("status");

    service.clock.advance(Duration::from_millis(59_999));
    assert_eq!(status().await, "not_started");
    service.clock.advance(Duration::from_millis(1));
    assert_eq!(status().await, "live", "the start belongs to the window");
    service.clock.advance(Duration::from_millis(59_999));
    assert_eq!(status().await, "live");
    service.clock.advance(Duration::from_millis(1));
    assert_eq!(status().await, "ended", "the end does not");
}

#[tokio::test]
async fn pause_shows_within_five_seconds_and_precedes_the_window() {
    let service = Service::at_noon();
    let mut campaign = TestCampaign::on(&service, plain()).await;
    assert_eq!(
        campaign.test("GET", PATH).send().await.field("status"),
        "live"
    );
    campaign.config.paused = true;
    campaign.config.window.end = Some(NOON);
    campaign.apply().await;
    service.clock.advance(Duration::from_secs(5));
    assert_eq!(
        campaign.test("GET", PATH).send().await.field("status"),
        "paused"
    );
    campaign.config.paused = false;
    campaign.apply().await;
    service.clock.advance(Duration::from_secs(5));
    assert_eq!(
        campaign.test("GET", PATH).send().await.field("status"),
        "ended"
    );
}

#[tokio::test]
async fn a_campaign_without_codes_needs_and_checks_none() {
    let campaign = TestCampaign::with(|config| config.code = CodePolicy::None).await;
    assert_eq!(
        campaign
            .test("GET", PATH)
            .send()
            .await
            .field("capabilities"),
        json!({
            "precheck": false, "code_required": false, "receipt_required": false, "typed_receipt": false,
        })
    );
}

#[tokio::test]
async fn known_locale_wins_over_the_header() {
    let campaign = TestCampaign::plain().await;
    let english = MessageKey::CampaignEnded.text(Language::En);
    let swahili = MessageKey::CampaignEnded.text(Language::Sw);
    assert_eq!(copy(&campaign, "?locale=sw", None).await, swahili);
    assert_eq!(copy(&campaign, "?locale=sw", Some("en")).await, swahili);
    assert_eq!(
        copy(&campaign, "?page=1&locale=%73w", Some("en")).await,
        swahili
    );
    assert_eq!(copy(&campaign, "?locale=en", Some("sw")).await, english);
    for unknown in [
        "?locale=fr",
        "?locale=",
        "?locale",
        "?locale=SW",
        "?locale=sw-TZ",
        "?Locale=en",
    ] {
        assert_eq!(
            copy(&campaign, unknown, Some("sw")).await,
            swahili,
            "{unknown}"
        );
        assert_eq!(copy(&campaign, unknown, None).await, english, "{unknown}");
    }
}

#[tokio::test]
async fn a_campaigns_own_copy_wins_in_its_language_alone() {
    let campaign = TestCampaign::with(|config| {
        config.messages.en.insert(
            MessageKey::CampaignEnded.into(),
            "That was \"Chai\" & fun.".to_owned(),
        );
        config
            .messages
            .sw
            .insert(MessageKey::Entered.into(), "Karibu chai!".to_owned());
    })
    .await;
    assert_eq!(copy(&campaign, "", None).await, "That was \"Chai\" & fun.");
    assert_eq!(
        copy(&campaign, "?locale=sw", None).await,
        MessageKey::CampaignEnded.text(Language::Sw)
    );
    let swahili = campaign
        .test("GET", &format!("{PATH}?locale=sw"))
        .send()
        .await
        .field("messages");
    assert_eq!(swahili["entered"], "Karibu chai!");
    assert_eq!(swahili.as_object().expect("a map").len(), 28);
}

#[tokio::test]
async fn a_body_with_a_get_is_not_looked_at() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.test("GET", PATH).raw("not JSON").send().await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_campaign_cannot_be_posted() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.test("POST", PATH).json(&json!({})).send().await;
    assert_eq!(reply.refusal(), "405 method_not_allowed");
    assert_eq!(reply.header("allow"), Some("GET"));
}

#[tokio::test]
async fn receipt_campaign_hides_how_products_are_recognised() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let reply = campaign.test("GET", PATH).send().await;
    assert_eq!(
        reply.field("capabilities"),
        json!({ "precheck": false, "code_required": false, "receipt_required": true, "typed_receipt": true })
    );
    let product = |key: &str, name: &str| json!({ "key": key, "range": "Classic", "label": key, "name": name, "color": null, "image": null });
    let branch = |key: &str| json!({ "key": key, "name": key, "city": "Dar es Salaam", "merchant": "Duka Kuu" });
    assert_eq!(
        reply.field("receipt"),
        json!({
            "max_bytes": 5_242_880,
            "accepted_types": ["image/jpeg", "image/png", "image/webp"],
            "ranges": [{ "name": "Classic", "tag": null }],
            "products": [product("chai-250", "CHAI BORA 250"), product("chai-500", "CHAI BORA 500")],
            "branches": [branch("kko"), branch("mwz")],
            "draw_period": null,
        })
    );
    assert_lacks!(reply.text, "100147181", "03TZ");
}
