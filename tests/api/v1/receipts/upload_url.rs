//! `POST /api/v1/receipts/{id}/upload-url`.

use service_tests::campaign::TestCampaign;
use service_tests::receipts::{announced, hardly_a_photo, id_of, receipts_alone, upload};

async fn refresh(campaign: &TestCampaign, id: &str) -> service_tests::http::Reply {
    campaign
        .test("POST", &format!("/api/v1/receipts/{id}/upload-url"))
        .await
}

#[tokio::test]
async fn a_fresh_target_works_like_the_first_until_the_file_is_there() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let made = campaign
        .receipt(&campaign.test_key, &announced(&hardly_a_photo(), None))
        .await;
    let fresh = refresh(&campaign, &id_of(&made)).await;
    assert_eq!(fresh.fields("id state"), made.fields("id state"));
    assert_eq!(
        fresh.fields("upload.headers"),
        made.fields("upload.headers")
    );
    assert_eq!(upload(&fresh, hardly_a_photo()).await.status, 200);
    assert_eq!(
        upload(&made, hardly_a_photo()).await.status,
        412,
        "one file for all targets"
    );
    let there = refresh(&campaign, &id_of(&made)).await;
    assert_eq!(there.fields("state upload"), "uploaded null");
}

#[tokio::test]
async fn there_is_nothing_to_upload_for_a_typed_receipt() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let id = campaign
        .typed(&campaign.test_key, "AB12CD3456", "10:15")
        .await;
    let refused = refresh(&campaign, &id).await;
    assert_eq!(refused.refusal(), "422 validation_failed");
    let fix = "Send the receipt's id as `receipt_id` with POST /api/v1/submissions at once.";
    assert_eq!(refused.field("error")["fix"], fix);
}

#[tokio::test]
async fn an_attached_receipt_has_no_more_targets() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let id = campaign
        .photo(&campaign.test_key, &hardly_a_photo(), Some("TEST0REVIEW"))
        .await;
    campaign
        .with_receipt(&campaign.test_key, "0712345678", "", &id)
        .await;
    assert_eq!(
        refresh(&campaign, &id).await.refusal(),
        "422 receipt_already_attached"
    );
}
