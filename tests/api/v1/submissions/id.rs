//! `GET /api/v1/submissions/{id}`.

use std::time::Duration;

use common::domain::ids::SubmissionId;
use common::random;
use insta::{allow_duplicates, assert_snapshot};
use serde_json::Value;
use service_tests::campaign::{TestCampaign, phone};
use service_tests::http::Reply;
use service_tests::text::text_of;

async fn read(campaign: &TestCampaign, id: &str) -> Reply {
    campaign
        .test("GET", &format!("/api/v1/submissions/{id}"))
        .await
}

async fn submitted(campaign: &TestCampaign, phone: &str, code: &str) -> Value {
    let reply = campaign.submit(phone, code).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

fn id_of(submission: &Value) -> &str {
    text_of(&submission["id"])
}

#[tokio::test]
async fn a_refused_consumer_is_read_as_created() {
    let campaign = TestCampaign::plain().await;
    let created = submitted(&campaign, &phone(1), "no such code").await;
    let reply = read(&campaign, id_of(&created)).await;
    assert_eq!(reply.json(), created);
    assert_snapshot!(reply.snapshot(), @r#"
    200 {
      "campaign": "[slug]",
      "consent": {
        "language": "en",
        "version": null
      },
      "created_at": "[time]",
      "display_status": "not_accepted",
      "entries": 0,
      "id": "[uuid]",
      "instant_win": null,
      "livemode": false,
      "message": "This code is not valid. Check it and try again.",
      "message_key": "invalid",
      "poll_after_seconds": null,
      "reasons": [
        "invalid"
      ],
      "receipt": null,
      "ref": "[ref]",
      "replayed": false,
      "review_status": null,
      "state": "rejected",
      "terminal": true,
      "updated_at": "[time]",
      "upstream": null
    }
    "#);
}

#[tokio::test]
async fn a_guessed_id_with_a_true_ref_is_not_found() {
    let campaign = TestCampaign::plain().await;
    let created = submitted(&campaign, &phone(1), &campaign.code(1)).await;
    let id: SubmissionId = id_of(&created).parse().expect("an id");
    assert_eq!(created["ref"], id.reference().to_string());
    let digit = if id.to_string().starts_with('0') {
        "1"
    } else {
        "0"
    };
    let guessed = format!("{digit}{}", id.to_string().split_at(1).1);
    assert_eq!(
        guessed.parse::<SubmissionId>().expect("an id").reference(),
        id.reference()
    );
    for other in [
        guessed,
        random::receipt_id().to_string(),
        id.reference().to_string(),
    ] {
        let reply = read(&campaign, &other).await;
        assert_eq!(reply.refusal(), "404 not_found", "{other}");
    }
}

#[tokio::test]
async fn times_are_the_moment_of_creation_in_utc() {
    let campaign = TestCampaign::at_noon().await;
    campaign.advance(Duration::from_millis(7));
    let created = submitted(&campaign, &phone(1), &campaign.code(1)).await;
    campaign.advance(Duration::from_secs(3600));
    let read = read(&campaign, id_of(&created)).await;
    assert_eq!(
        read.fields("created_at updated_at"),
        "2050-06-15T12:00:00.007Z 2050-06-15T12:00:00.007Z"
    );
}

#[tokio::test]
async fn an_id_is_read_in_upper_case_and_percent_encoded_as_well() {
    let campaign = TestCampaign::plain().await;
    let created = submitted(&campaign, &phone(1), &campaign.code(1)).await;
    let id = id_of(&created);
    let encoded: String = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for spelling in [
        id.to_uppercase(),
        id.replace('-', "%2D"),
        id.replace('-', "%2d"),
        encoded,
    ] {
        let reply = read(&campaign, &spelling).await;
        assert_eq!(reply.json(), created, "{spelling}");
    }
}

#[tokio::test]
async fn what_is_not_a_uuid_is_not_found() {
    let campaign = TestCampaign::plain().await;
    let created = submitted(&campaign, &phone(1), &campaign.code(1)).await;
    let id = id_of(&created);
    for other in [
        "none",
        "0",
        "%00",
        "%ff%fe",
        "%zz",
        "%",
        "..%2Fcampaign",
        "%F0%9F%AB%96",
        &id.replace('-', ""),
        &format!("%7B{id}%7D"),
        &format!("urn:uuid:{id}"),
        &format!("{id}%00"),
        &format!("%20{id}"),
        &format!("{id}%2F"),
        &id[..35],
        &format!("{id}0"),
        &"x".repeat(2000),
        "00000000-0000-0000-0000-000000000000",
    ] {
        let reply = read(&campaign, other).await;
        allow_duplicates!(assert_snapshot!(reply.snapshot(), @r#"
        404 {
          "error": {
            "code": "not_found",
            "docs_url": "[docs]",
            "fix": "Check the path and the id, and that the record was made with a key of the same campaign and environment.",
            "message": "There is nothing here.",
            "request_id": "[request id]"
          }
        }
        "#));
    }
}

#[tokio::test]
async fn the_phone_and_the_code_are_in_no_reply() {
    let campaign = TestCampaign::plain().await;
    let code = campaign.code(1);
    let created = submitted(&campaign, &phone(1), &code).await;
    let text = read(&campaign, id_of(&created)).await.text;
    assert_lacks!(text, phone(1)[4..], code);
}
