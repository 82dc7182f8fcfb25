//! Events that `lambda_http` rejects or panics on. Each gets the described error, and the next
//! event is answered normally.

use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, phone};
use service_tests::contract;
use service_tests::environment::Environment as Process;
use service_tests::event;
use service_tests::http::Reply;
use service_tests::text::parse_json;

use crate::process::start;

const CAMPAIGN: &str = "/api/v1/campaign";
const SUBMISSIONS: &str = "/api/v1/submissions";

async fn reply_to(environment: &mut Process, event: &Value) -> Reply {
    let answer = environment.invoke(event).await.expect("an answer");
    event::reply(&answer)
}

/// The log line of the last request.
async fn line(environment: &Process) -> Value {
    loop {
        let line = parse_json(&environment.next_line().await);
        if line["message"] == "request" {
            return line;
        }
    }
}

#[tokio::test]
async fn a_part_that_no_function_needs_is_left_out() {
    let campaign = TestCampaign::plain().await;
    let mut environment = start("get-campaign", &campaign.service.variables).await;
    let good = event::of("GET", CAMPAIGN, &[], None, &campaign.test_key);
    for (pointer, value) in [
        ("/headers/host", "a host"),
        ("/headers/host", "api.example:none"),
        ("/headers/host", "[::1"),
        ("/headers/host", ""),
        ("/headers/x-forwarded-proto", "ht tp"),
        ("/headers/x-forwarded-proto", ""),
        ("/headers/x-note", "one\u{1}two"),
        ("/headers/x-note", "one\r\ntwo"),
        ("/headers/x-note", "sch\u{f6}n \u{1f600}"),
        ("/headers/not a name", "x"),
        ("/headers/", "x"),
        ("/rawQueryString", "a=\"b\""),
        ("/rawQueryString", "a=<b>#c d"),
        ("/rawQueryString", "a=\u{1}"),
        ("/rawQueryString", "%zz&=&&%"),
    ] {
        let mut event = good.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("a name");
        event.pointer_mut(parent).expect("an object")[name] = json!(value);
        let reply = reply_to(&mut environment, &event).await;
        assert_eq!(reply.status, 200, "{pointer} {value}: {}", reply.text);
        contract::check("GET", CAMPAIGN, &reply);
        assert_eq!(
            line(&environment).await["gateway_request_id"],
            "JKJaXmPLvHcESHA="
        );
    }
}

#[tokio::test]
async fn a_part_that_is_needed_is_taken_for_absent() {
    let campaign = TestCampaign::plain().await;
    let mut environment = start("create-submission", &campaign.service.variables).await;
    let good = event::entry(&body(&phone(1), &campaign.code(0)), &campaign.test_key);
    for (parent, name, value, refusal) in [
        ("", "body", json!("%%%"), (422, "validation_failed")),
        (
            "/headers",
            "authorization",
            json!("Bearer \u{1}"),
            (401, "key_missing"),
        ),
        (
            "/headers",
            "idempotency-key",
            json!("0123456789abcdef\n"),
            (422, "idempotency_key_required"),
        ),
    ] {
        let mut event = good.clone();
        event.pointer_mut(parent).expect("an object")[name] = value;
        event["isBase64Encoded"] = json!(name == "body");
        let reply = reply_to(&mut environment, &event).await;
        contract::check("POST", SUBMISSIONS, &reply);
        assert_eq!(
            (reply.status.as_u16(), reply.error_code().as_str()),
            refusal,
            "{name}"
        );
    }
    let reply = reply_to(&mut environment, &good).await;
    assert_eq!(
        (reply.status.as_u16(), reply.field("message_key")),
        (200, json!("entered"))
    );
}

#[tokio::test]
async fn event_that_is_no_request_is_an_error_that_the_log_explains() {
    let campaign = TestCampaign::plain().await;
    let mut environment = start("get-campaign", &campaign.service.variables).await;
    let good = event::of(
        "GET",
        CAMPAIGN,
        &[("x-request-id", "a-caller".to_owned())],
        None,
        &campaign.test_key,
    );
    let mut without_method = good.clone();
    without_method["requestContext"]["http"]["method"] = json!("no method");
    for (event, request_id) in [
        (without_method, Some("a-caller")),
        (
            json!({ "headers": { "x-request-id": "another" } }),
            Some("another"),
        ),
        (json!({ "headers": { "x-request-id": "not fit" } }), None),
        (json!({}), None),
        (json!([good]), None),
        (json!("text"), None),
        (json!(null), None),
    ] {
        let reply = reply_to(&mut environment, &event).await;
        contract::check("GET", CAMPAIGN, &reply);
        assert_eq!(
            (reply.status.as_u16(), reply.error_code().as_str()),
            (500, "internal_error"),
            "{event}"
        );
        let line = line(&environment).await;
        assert_eq!(line["level"], "ERROR");
        assert_eq!(line["operation"], "get-campaign");
        assert_eq!(line["causes"][0], "lambda_http cannot read the event");
        assert_eq!(reply.header("x-request-id"), line["request_id"].as_str());
        assert_eq!(
            line["request_id"]
                .as_str()
                .filter(|id| !id.starts_with("req_")),
            request_id
        );
    }
    assert_eq!(reply_to(&mut environment, &good).await.status, 200);
}
