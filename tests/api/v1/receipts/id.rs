//! `GET /api/v1/receipts/{id}`.

use service_tests::campaign::TestCampaign;
use service_tests::receipts::{announced, id_of, receipts_alone};

#[tokio::test]
async fn the_upload_is_never_shown() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let made = campaign
        .receipt(&campaign.test_key, &announced(&[0; 9], None))
        .await;
    let read = campaign
        .test("GET", &format!("/api/v1/receipts/{}", id_of(&made)))
        .await;
    assert_eq!(
        read.fields("type state upload"),
        "photo awaiting_upload null"
    );
    assert_eq!(read.fields("id created_at"), made.fields("id created_at"));
}

#[tokio::test]
async fn a_receipt_of_another_scope_is_not_found_by_any_endpoint() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let other = TestCampaign::with(receipts_alone).await;
    let id = id_of(
        &campaign
            .receipt(&campaign.test_key, &announced(&[0; 9], None))
            .await,
    );
    for key in [&campaign.live_key, &other.test_key] {
        for (method, path) in [
            ("GET", format!("/api/v1/receipts/{id}")),
            ("POST", format!("/api/v1/receipts/{id}/upload-url")),
        ] {
            let reply = campaign.with_key(key, method, &path).await;
            assert_eq!(reply.refusal(), "404 not_found", "{method} {path}");
        }
        let reply = campaign.with_receipt(key, "0712345678", "", &id).await;
        assert_eq!(reply.refusal(), "404 not_found receipt_id");
    }
}

#[tokio::test]
async fn what_is_no_id_is_not_found() {
    let campaign = TestCampaign::with(receipts_alone).await;
    for id in ["x", "00000000-0000-4000-8000-000000000000", "%20"] {
        let reply = campaign
            .test("GET", &format!("/api/v1/receipts/{id}"))
            .await;
        assert_eq!(reply.error_code(), "not_found", "{id}");
    }
}
