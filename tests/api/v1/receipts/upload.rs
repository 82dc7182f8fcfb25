//! The upload, and the receipt's state afterwards.

use futures_util::future::join_all;
use service_tests::campaign::TestCampaign;
use service_tests::http::request_to_storage;
use service_tests::receipts::{announced, hardly_a_photo, id_of, receipts_alone, upload};
use service_tests::text::text_of;

#[tokio::test]
async fn an_upload_makes_the_receipt_uploaded_by_itself() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let id = campaign
        .photo(&campaign.test_key, &hardly_a_photo(), None)
        .await;
    loop {
        let read = campaign
            .test("GET", &format!("/api/v1/receipts/{id}"))
            .await;
        if read.field("state") == "uploaded" {
            break;
        }
        assert_eq!(read.field("state"), "awaiting_upload");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn only_the_first_of_many_uploads_is_taken() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let made = campaign
        .receipt(&campaign.test_key, &announced(&hardly_a_photo(), None))
        .await;
    let replies = join_all((0..20).map(|_| upload(&made, hardly_a_photo()).send())).await;
    let taken = replies.iter().filter(|reply| reply.status == 200).count();
    let refused = replies.iter().filter(|reply| reply.status == 412).count();
    assert_eq!((taken, refused), (1, 19));
}

#[tokio::test]
async fn storage_refuses_another_type_length_or_less_than_all_headers() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let made = campaign
        .receipt(&campaign.test_key, &announced(&hardly_a_photo(), None))
        .await;
    let put = || upload(&made, hardly_a_photo());
    let another_type = put()
        .without("content-type")
        .header("content-type", "image/png");
    let longer = put()
        .without("content-length")
        .raw([hardly_a_photo(), vec![0]].concat());
    let shorter = put()
        .without("content-length")
        .raw(hardly_a_photo()[1..].to_vec());
    let repeatable = put().without("if-none-match");
    for wrong in [another_type, longer, shorter, repeatable] {
        assert_eq!(wrong.await.status, 403);
    }
    let url = text_of(&made.field("upload")["url"]).to_owned();
    assert_eq!(
        request_to_storage("GET", url.clone()).await.status,
        403,
        "the target is for PUT alone"
    );
    assert_eq!(put().await.status, 200, "nothing of that was kept");
}

#[tokio::test]
async fn a_browser_may_upload_from_any_page() {
    let campaign = TestCampaign::with(receipts_alone).await;
    let made = campaign
        .receipt(&campaign.test_key, &announced(&hardly_a_photo(), None))
        .await;
    let url = text_of(&made.field("upload")["url"]).to_owned();
    let preflight = request_to_storage("OPTIONS", url)
        .header("origin", "https://brand.example")
        .header("access-control-request-method", "PUT")
        .header(
            "access-control-request-headers",
            "content-type,if-none-match",
        )
        .await;
    assert!(preflight.status.is_success(), "{}", preflight.status);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    let allowed = preflight
        .header("access-control-allow-headers")
        .expect("headers")
        .to_lowercase();
    assert_contains!(allowed, "content-type", "if-none-match");
    // As in a browser, no script sets content-length.
    let put = upload(&made, hardly_a_photo())
        .without("content-length")
        .header("origin", "https://brand.example");
    let uploaded = put.await;
    assert_eq!(uploaded.status, 200);
    assert_eq!(uploaded.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn the_upload_stays_the_same_whatever_the_keys_campaign_becomes() {
    let mut campaign = TestCampaign::with(receipts_alone).await;
    let made = campaign
        .receipt(&campaign.test_key, &announced(&hardly_a_photo(), None))
        .await;
    campaign.config.paused = true;
    campaign.apply().await;
    assert_eq!(upload(&made, hardly_a_photo()).await.status, 200);
    let read = campaign
        .test(
            "POST",
            &format!("/api/v1/receipts/{}/upload-url", id_of(&made)),
        )
        .await;
    assert_eq!(read.fields("state upload"), "uploaded null");
}
