use insta::assert_snapshot;
use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::database_faults::Fault;
use service_tests::receipts::id_of;
use service_tests::service::Service;
use service_tests::text::len_of;

/// Attempts for each call to the database.
const MAX_ATTEMPTS: usize = 3;

#[tokio::test]
async fn failure_hides_its_cause_and_the_same_request_goes_on() {
    let (service, proxy) = Service::intercepted().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(1));

    proxy.play([Fault::AnswerLost; MAX_ATTEMPTS]);
    let failed = sending.clone().await;
    assert_eq!(proxy.faults_left(), 0, "every try failed");
    assert_snapshot!(failed.snapshot(), @r#"
    500 {
      "error": {
        "code": "internal_error",
        "docs_url": "[docs]",
        "fix": "Send the same request again, with the same Idempotency-Key if it had one. If it keeps failing, quote the request_id to your service operator.",
        "message": "Something failed on our side.",
        "request_id": "[request id]"
      }
    }
    "#);
    assert_eq!(failed.header("cache-control"), Some("no-store"));
    assert_eq!(
        failed.header("x-request-id"),
        failed.field("error")["request_id"].as_str()
    );

    let again = sending.await;
    assert_eq!(again.field("message_key"), "entered");
    let listed = campaign.lookup(&phone(1)).await;
    assert_eq!(len_of(&listed.field("submissions")), 1, "entered once");
    assert_eq!(listed.field("total_entries"), 1);
}

#[tokio::test]
async fn unreadable_record_is_unavailable_and_hides_no_other() {
    let campaign = TestCampaign::plain().await;
    let sending = campaign.entry(&phone(1), &campaign.code(1));
    let id = id_of(&sending.clone().await);
    let other = id_of(&campaign.entry(&phone(1), &campaign.code(2)).await);
    campaign.make_unreadable(&id).await;
    for refused in [campaign.read(&campaign.live_key, &id).await, sending.await] {
        assert_eq!(refused.status, 503, "{}", refused.text);
        assert_eq!(refused.error_code(), "service_unavailable");
        assert!(
            refused
                .header("retry-after")
                .is_some_and(|wait| wait.parse().is_ok_and(|wait: u32| wait > 0))
        );
    }
    assert_eq!(campaign.read(&campaign.live_key, &other).await.status, 200);
    let listed = campaign
        .live("POST", "/api/v1/submissions/lookup")
        .json(&json!({ "phone": phone(1) }));
    let listed = listed.await.field("submissions");
    let ids: Vec<_> = listed
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(ids, [json!(other)]);
}
