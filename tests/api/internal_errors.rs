use serde_json::json;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::proxy::Fault;
use service_tests::service::Service;

/// Attempts for each call to the database.
const MAX_ATTEMPTS: usize = 3;

#[tokio::test]
async fn a_failure_says_nothing_of_its_cause_and_the_same_request_goes_on_from_there() {
    let (service, proxy) = Service::behind_proxy().await;
    let campaign = TestCampaign::on(&service, plain()).await;
    let sending = campaign.submission(&phone(1), &campaign.code(1));

    proxy.play([Fault::AnswerLost; MAX_ATTEMPTS]);
    let failed = sending.clone().send().await;
    assert_eq!(proxy.faults_left(), 0, "every try failed");
    assert_eq!(
        failed.redacted(),
        json!([500, { "error": {
            "code": "internal_error",
            "message": "Something failed on our side.",
            "fix": "Send the same request again, with the same Idempotency-Key if it had one. If it keeps \
                    failing, quote the request_id to your service operator.",
            "docs_url": "[docs]", "request_id": "[request id]",
        } }])
    );
    assert_eq!(failed.header("cache-control"), Some("no-store"));
    assert_eq!(failed.header("x-request-id"), failed.field("error")["request_id"].as_str());

    let again = sending.send().await;
    assert_eq!(again.field("message_key"), "entered");
    let listed = campaign.lookup(&phone(1)).send().await;
    assert_eq!(listed.field("submissions").as_array().map(Vec::len), Some(1), "entered once");
    assert_eq!(listed.field("total_entries"), 1);
}
