//! The RateLimit headers: which limits apply to a reply, and how much remains.

use std::time::Duration;

use common::domain::scope::Environment;
use service_tests::campaign::{TestCampaign, phone, plain};
use service_tests::http::Reply;
use service_tests::service::Service;

fn limits(reply: &Reply) -> (Option<&str>, Option<&str>) {
    (reply.header("ratelimit-policy"), reply.header("ratelimit"))
}

#[tokio::test]
async fn every_reply_after_the_gate_says_how_the_key_stands() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
    let key = campaign.issue(Environment::Test, 3).await;
    let read = || campaign.with_key(&key, "GET", "/api/v1/campaign").send();
    service.clock.advance(Duration::from_millis(18_500));
    assert_eq!(
        limits(&read().await),
        (Some("\"key\";q=3;w=60"), Some("\"key\";r=2;t=42"))
    );
    let refused = campaign
        .with_key(&key, "POST", "/api/v1/codes/check")
        .raw("no JSON")
        .await;
    assert_eq!(
        limits(&refused),
        (Some("\"key\";q=3;w=60"), Some("\"key\";r=1;t=42"))
    );
    assert_eq!(limits(&read().await).1, Some("\"key\";r=0;t=42"));
    let over = read().await;
    assert_eq!(
        (limits(&over).1, over.header("retry-after")),
        (Some("\"key\";r=0;t=42"), Some("42"))
    );
}

#[tokio::test]
async fn a_request_that_is_not_counted_says_nothing_of_limits() {
    let campaign = TestCampaign::plain().await;
    let path = "/api/v1/campaign";
    let unknown = campaign.with_key("svc_test_12345678", "GET", path).await;
    assert_eq!(limits(&unknown), (None, None));
    let mismatched = campaign
        .test("GET", path)
        .header("svc-campaign", "another")
        .await;
    assert_eq!(limits(&mismatched), (None, None));
    assert_eq!(limits(&campaign.test("DELETE", path).await), (None, None));
}

#[tokio::test]
async fn a_pre_check_says_what_is_left_of_the_address_range() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
    let check = campaign.check("x").header("svc-client-ip", "41.59.13.7");
    let first = check.clone().await;
    assert!(
        limits(&first)
            .0
            .expect("limits")
            .ends_with(", \"address\";q=30;w=600")
    );
    assert!(
        limits(&first)
            .1
            .expect("limits")
            .ends_with(", \"address\";r=29;t=600")
    );
    service.clock.advance(Duration::from_secs(100));
    for left in (0..29).rev() {
        let reply = check.clone().await;
        assert!(
            limits(&reply)
                .1
                .expect("limits")
                .ends_with(&format!(", \"address\";r={left};t=500"))
        );
    }
    let refused = check.await;
    assert!(
        limits(&refused)
            .1
            .expect("limits")
            .ends_with(", \"address\";r=0;t=500"),
        "{refused:?}"
    );
    assert_eq!(refused.header("retry-after"), Some("500"));
}

#[tokio::test]
async fn lookup_names_its_limits_and_what_is_known_of_their_rest() {
    let service = Service::at_noon();
    let campaign = TestCampaign::on(&service, plain()).await;
    let lookup = campaign
        .lookup(&phone(1))
        .header("svc-client-ip", "41.59.13.7");
    for _ in 0..5 {
        let reply = lookup.clone().await;
        let (policy, left) = limits(&reply);
        assert!(
            policy
                .expect("limits")
                .ends_with(", \"phone\";q=5;w=600, \"address\";q=30;w=600")
        );
        assert!(
            !left.expect("limits").contains("phone"),
            "a log that was only appended to is not known"
        );
    }
    let refused = lookup.await;
    assert!(
        limits(&refused)
            .1
            .expect("limits")
            .ends_with(", \"phone\";r=0;t=600"),
        "{refused:?}"
    );
}
