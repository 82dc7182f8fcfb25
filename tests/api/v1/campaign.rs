//! `GET /api/v1/campaign`.

use std::time::Duration;

use common::domain::campaign::{CodePolicy, PhoneLimits, Window};
use common::domain::message::{Language, MessageKey};
use common::domain::timestamp::Timestamp;
use insta::assert_snapshot;
use serde_json::Value;
use service_tests::campaign::TestCampaign;
use service_tests::receipts::receipts_alone;
use service_tests::service::{NOON, Service};
use service_tests::text::fields;

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
    let mut reply = campaign.test("GET", PATH).await;
    let mut shown = reply.json();
    let messages = shown["messages"].take();
    reply.text = shown.to_string();
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "brand": "Chai Bora",
      "capabilities": {
        "code_required": true,
        "precheck": true,
        "receipt_required": false,
        "typed_receipt": false
      },
      "consent": null,
      "limits": {
        "phone_daily": 3,
        "phone_total": 20
      },
      "livemode": false,
      "messages": null,
      "name": "Chai Bora Shinda",
      "receipt": null,
      "slug": "[slug]",
      "status": "live",
      "timezone": "Africa/Dar_es_Salaam",
      "window": {
        "end": null,
        "start": "2025-12-31T21:00:00.000Z"
      }
    }
    "#);
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
    let reply = sending.await;
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
    let reply = campaign.live("GET", PATH).await.json();
    assert_eq!(reply["slug"], campaign.config.slug.as_str());
    let names = "livemode window.start window.end timezone limits.phone_daily limits.phone_total";
    assert_eq!(
        fields(&reply, names),
        "true null 2099-12-31T23:59:59.999Z Asia/Kathmandu null null"
    );
}

#[tokio::test]
async fn the_status_follows_from_the_window_and_the_time() {
    let service = Service::at_noon();
    let start = NOON.after(Duration::from_secs(60));
    let end = NOON.after(Duration::from_secs(120));
    let window = Window {
        start: Some(start),
        end: Some(end),
    };
    let campaign = TestCampaign::changed(&service, |config| config.window = window).await;
    // The start belongs to the window, the end does not.
    for (wait, status) in [
        (59_999, "not_started"),
        (1, "live"),
        (59_999, "live"),
        (1, "ended"),
    ] {
        campaign.advance(Duration::from_millis(wait));
        assert_eq!(campaign.test("GET", PATH).await.field("status"), status);
    }
}

#[tokio::test]
async fn pause_shows_within_five_seconds_and_precedes_the_window() {
    let mut campaign = TestCampaign::at_noon().await;
    assert_eq!(campaign.test("GET", PATH).await.field("status"), "live");
    campaign.config.window.end = Some(NOON);
    for (paused, status) in [(true, "paused"), (false, "ended")] {
        campaign.config.paused = paused;
        campaign.apply().await;
        campaign.advance(Duration::from_secs(5));
        assert_eq!(campaign.test("GET", PATH).await.field("status"), status);
    }
}

#[tokio::test]
async fn a_campaign_without_codes_needs_and_checks_none() {
    let campaign = TestCampaign::with(|config| config.code = CodePolicy::None).await;
    let capabilities = campaign.test("GET", PATH).await.field("capabilities");
    let names = "precheck code_required receipt_required typed_receipt";
    assert_eq!(fields(&capabilities, names), "false false false false");
}

#[tokio::test]
async fn known_locale_wins_over_the_header() {
    let campaign = TestCampaign::plain().await;
    let english = MessageKey::CampaignEnded.text(Language::En);
    let swahili = MessageKey::CampaignEnded.text(Language::Sw);
    for (query, header, expected) in [
        ("?locale=sw", None, swahili),
        ("?locale=sw", Some("en"), swahili),
        ("?page=1&locale=%73w", Some("en"), swahili),
        ("?locale=en", Some("sw"), english),
    ] {
        assert_eq!(copy(&campaign, query, header).await, expected, "{query}");
    }
    for unknown in [
        "?locale=fr",
        "?locale=",
        "?locale",
        "?locale=SW",
        "?locale=sw-TZ",
        "?Locale=en",
    ] {
        for (header, expected) in [(Some("sw"), swahili), (None, english)] {
            assert_eq!(
                copy(&campaign, unknown, header).await,
                expected,
                "{unknown}"
            );
        }
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
        .await
        .field("messages");
    assert_eq!(swahili["entered"], "Karibu chai!");
    assert_eq!(swahili.as_object().expect("a map").len(), 28);
}

#[tokio::test]
async fn a_body_with_a_get_is_not_looked_at() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.test("GET", PATH).raw("not JSON").await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn receipt_campaign_hides_how_products_are_recognised() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let reply = campaign.test("GET", PATH).await;
    let capabilities = reply.field("capabilities");
    let names = "precheck code_required receipt_required typed_receipt";
    assert_eq!(fields(&capabilities, names), "false false true true");
    assert_snapshot!(format!("{:#}", reply.field("receipt")), @r#"
    {
      "accepted_types": [
        "image/jpeg",
        "image/png",
        "image/webp"
      ],
      "branches": [
        {
          "city": "Dar es Salaam",
          "key": "kko",
          "merchant": "Duka Kuu",
          "name": "kko"
        },
        {
          "city": "Dar es Salaam",
          "key": "mwz",
          "merchant": "Duka Kuu",
          "name": "mwz"
        }
      ],
      "draw_period": null,
      "max_bytes": 5242880,
      "products": [
        {
          "color": null,
          "image": null,
          "key": "chai-250",
          "label": "chai-250",
          "name": "CHAI BORA 250",
          "range": "Classic"
        },
        {
          "color": null,
          "image": null,
          "key": "chai-500",
          "label": "chai-500",
          "name": "CHAI BORA 500",
          "range": "Classic"
        }
      ],
      "ranges": [
        {
          "name": "Classic",
          "tag": null
        }
      ]
    }
    "#);
    assert_lacks!(reply.text, "100147181", "03TZ");
}
