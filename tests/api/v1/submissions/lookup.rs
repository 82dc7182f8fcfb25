//! `POST /api/v1/submissions/lookup`: a phone's submissions.

use std::time::Duration;

use common::domain::campaign::{CodePolicy, PhoneLimits};
use common::domain::scope::Environment;
use insta::assert_snapshot;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::service::Service;
use service_tests::text::list_of;

const PATH: &str = "/api/v1/submissions/lookup";

/// A field of each listed submission.
fn each(reply: &Value, field: &str) -> Vec<Value> {
    let list = list_of(&reply["submissions"]);
    list.iter()
        .map(|submission| submission[field].clone())
        .collect()
}

#[tokio::test]
async fn a_phone_never_seen_has_an_empty_list() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign.lookup(&phone(1)).await;
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "submissions": [],
      "timezone": "Africa/Dar_es_Salaam",
      "total_entries": 0
    }
    "#);
}

#[tokio::test]
async fn submissions_are_listed_newest_first_refused_ones_among_them() {
    let service = Service::at_noon();
    let mut config = plain();
    config.entries_per_submission = 3;
    config.limits = PhoneLimits {
        phone_daily: Some(2),
        phone_total: None,
    };
    let campaign = TestCampaign::on(&service, config).await;
    let mut created = Vec::new();
    for code in [
        &campaign.code(1),
        "no such code",
        "TEST-0-INSTANT-WIN",
        &campaign.code(2),
    ] {
        created.insert(0, campaign.submit(&phone(1), code).await.json());
        service.clock.advance(Duration::from_millis(1));
    }
    campaign.submit(&phone(2), &campaign.code(3)).await;

    let reply = campaign.lookup(&phone(1)).await;
    let json = reply.json();
    for field in ["id", "ref", "display_status", "message", "entries"] {
        let expected: Vec<_> = created
            .iter()
            .map(|submission| submission[field].clone())
            .collect();
        assert_eq!(each(&json, field), expected, "{field}");
    }
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "submissions": [
        {
          "date": "[date]",
          "display_status": "not_accepted",
          "entries": 0,
          "id": "[uuid]",
          "message": "You have reached today's limit. Try again tomorrow.",
          "ref": "[ref]"
        },
        {
          "date": "[date]",
          "display_status": "entered",
          "entries": 3,
          "id": "[uuid]",
          "message": "Congratulations, you have won an instant prize! We will contact you on this number.",
          "ref": "[ref]"
        },
        {
          "date": "[date]",
          "display_status": "not_accepted",
          "entries": 0,
          "id": "[uuid]",
          "message": "This code is not valid. Check it and try again.",
          "ref": "[ref]"
        },
        {
          "date": "[date]",
          "display_status": "entered",
          "entries": 3,
          "id": "[uuid]",
          "message": "You are in! Keep your code or receipt until the campaign ends.",
          "ref": "[ref]"
        }
      ],
      "timezone": "Africa/Dar_es_Salaam",
      "total_entries": 6
    }
    "#);
}

#[tokio::test]
async fn a_replay_is_listed_once() {
    let campaign = TestCampaign::plain().await;
    for _ in 0..3 {
        campaign.enter(1, 1).await;
    }
    let reply = campaign.lookup(&phone(1)).await.json();
    assert_eq!(each(&reply, "entries"), [1]);
    assert_eq!(reply["total_entries"], 1);
}

#[tokio::test]
async fn latest_fifty_are_listed_and_all_entries_counted() {
    let service = Service::at_noon();
    let mut config = plain();
    config.code = CodePolicy::None;
    let campaign = TestCampaign::on(&service, config).await;
    let mut ids = Vec::new();
    for _ in 0..53 {
        let body = json!({ "phone": phone(1), "consent": true });
        let reply = campaign.with_body(&campaign.test_key, &body).await;
        ids.insert(0, reply.field("id"));
        service.clock.advance(Duration::from_millis(1));
    }
    let reply = campaign.lookup(&phone(1)).await.json();
    assert_eq!(each(&reply, "id"), ids[..50]);
    assert_eq!(reply["total_entries"], 53);
}

#[tokio::test]
async fn the_date_is_the_campaigns_own_day() {
    let service = Service::at_noon();
    let mut in_auckland = plain();
    in_auckland.timezone = "Pacific/Auckland".parse().expect("a zone");
    let here = TestCampaign::on(&service, plain()).await;
    let in_auckland = TestCampaign::on(&service, in_auckland).await;

    // The millisecond before midnight in Dar es Salaam, then midnight.
    service
        .clock
        .advance(Duration::from_hours(9) - Duration::from_millis(1));
    for serial in [1, 2] {
        for campaign in [&here, &in_auckland] {
            assert_eq!(
                campaign.outcome(&phone(1), &campaign.code(serial)).await,
                "entered"
            );
        }
        service.clock.advance(Duration::from_millis(1));
    }

    let listed = here.lookup(&phone(1)).await.json();
    assert_eq!(each(&listed, "date"), ["2050-06-16", "2050-06-15"]);
    assert_eq!(listed["timezone"], "Africa/Dar_es_Salaam");
    let listed = in_auckland.lookup(&phone(1)).await.json();
    assert_eq!(
        each(&listed, "date"),
        ["2050-06-16", "2050-06-16"],
        "it is nine in the morning there"
    );
    assert_eq!(listed["timezone"], "Pacific/Auckland");
}

#[tokio::test]
async fn a_phone_of_the_wrong_shape_is_named() {
    let campaign = TestCampaign::plain().await;
    let wrong = json!([
        {}, { "phone": null }, { "phone": 255_712_345_678_u64 }, { "phone": ["0712345678"] }, { "phone": "" },
        { "phone": "07123456" }, { "phone": "+255 712 345 6789" }, { "phone": " 07123456\u{200b}\n" },
        { "Phone": "0712345678" },
    ]);
    for wrong in list_of(&wrong) {
        let refusal = campaign.test("POST", PATH).json(wrong).await.refusal();
        assert_eq!(refusal, "422 validation_failed phone", "{wrong}");
    }
    let reply = campaign.lookup("07123456").await;
    assert_snapshot!(reply.snapshot(), @r#"
    422 {
      "error": {
        "code": "validation_failed",
        "docs_url": "[docs]",
        "errors": [
          {
            "field": "phone",
            "message": "`phone` must be a string of 9 to 16 characters.",
            "pointer": "/phone"
          }
        ],
        "field": "phone",
        "fix": "Correct the request; where fields are at fault, `errors` lists them all and `field` names the first.",
        "message": "The request is not in the expected shape. `phone` must be a string of 9 to 16 characters.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn a_blocked_phone_sees_its_submissions_as_well() {
    let campaign = TestCampaign::plain().await;
    campaign.set_blocked(Environment::Test, 1, true).await;
    let refused = campaign.submit(&phone(1), &campaign.code(1)).await;
    assert_eq!(refused.field("message_key"), "blocked");
    let reply = campaign.lookup(&phone(1)).await.json();
    assert_eq!(each(&reply, "id"), [refused.field("id")]);
    assert_eq!(reply["total_entries"], 0);
}
