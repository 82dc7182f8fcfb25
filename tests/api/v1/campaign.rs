//! `GET /api/v1/campaign`.

use common::domain::campaign::PhoneLimits;
use common::domain::message::{Language, MessageKey};
use common::domain::moment::Moment;
use serde_json::json;
use service_tests::campaign::TestCampaign;

const PATH: &str = "/api/v1/campaign";

#[tokio::test]
async fn a_campaign_says_what_its_callers_need() {
    let campaign = TestCampaign::with(|config| {
        config.limits = PhoneLimits { phone_daily: Some(3), phone_total: Some(20) };
        config.window.start = Some(Moment::from_millis(1_767_214_800_000));
        config.messages.en.insert(MessageKey::Entered, "Chai for you!".to_owned());
    })
    .await;
    let reply = campaign.test("GET", PATH).send().await;
    let mut shown = reply.shown();
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
            "receipt": null, "messages": null,
        }])
    );
    assert_eq!(messages.as_object().expect("a map").len(), 26);
    assert_eq!(messages["entered"], "Chai for you!");
    assert_eq!(messages["invalid"], MessageKey::Invalid.copy(Language::En));
}
