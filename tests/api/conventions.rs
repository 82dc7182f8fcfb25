//! Rules for every reply: request id, no caching, the shape of errors, and repeated or non-ASCII request headers.

use common::domain::message::MessageKey;
use common::error::ErrorCode;
use serde_json::json;
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::http::{Reply, RequestBuilder, request};
use service_tests::receipts::id_of;
use service_tests::text::text_of;

/// Good requests, and requests that each layer refuses.
fn one_of_each_kind(campaign: &TestCampaign) -> Vec<(&'static str, RequestBuilder)> {
    let base = &campaign.service.base_url;
    let bad = |path| {
        campaign
            .test("POST", path)
            .json(&json!({}))
            .header("idempotency-key", fresh_key())
    };
    vec![
        ("the campaign", campaign.test("GET", "/api/v1/campaign")),
        (
            "a submission",
            campaign.submission(&phone(1), &campaign.code(1)),
        ),
        (
            "a refused consumer",
            campaign.submission(&phone(1), "no such code"),
        ),
        ("a pre-check", campaign.check(&campaign.code(2))),
        ("a look-up", campaign.lookup(&phone(1))),
        ("a bad submission", bad("/api/v1/submissions")),
        ("a bad pre-check", bad("/api/v1/codes/check")),
        ("a bad look-up", bad("/api/v1/submissions/lookup")),
        (
            "no such submission",
            campaign.test("GET", "/api/v1/submissions/none"),
        ),
        ("no key", request("GET", format!("{base}/api/v1/campaign"))),
        (
            "no such path",
            request("GET", format!("{base}/api/v1/none")),
        ),
        (
            "no such method",
            request("DELETE", format!("{base}/api/v1/campaign")),
        ),
        (
            "the page of errors",
            request("GET", format!("{base}/docs/errors")),
        ),
    ]
}

#[tokio::test]
async fn messages_are_in_the_requests_language_and_own_words() {
    let campaign = TestCampaign::with(|config| {
        for key in [MessageKey::Entered, MessageKey::Invalid] {
            let own = "Karibu chai!".to_owned();
            config.messages.sw.insert(key.into(), own);
        }
    })
    .await;
    let entered = id_of(&campaign.submit(&phone(1), &campaign.code(1)).await);
    let (post, body) = (
        "POST",
        [json!({ "phone": phone(1) }), json!({ "code": "x" })],
    );
    for (method, path, body) in [
        ("GET", format!("/api/v1/submissions/{entered}"), None),
        (
            post,
            "/api/v1/submissions/lookup".to_owned(),
            Some(&body[0]),
        ),
        (post, "/api/v1/codes/check".to_owned(), Some(&body[1])),
    ] {
        let send = async |query: &str, language: &str| {
            let request = campaign.test(method, &format!("{path}{query}"));
            let request = request.header("accept-language", language);
            let request = body.map_or(request.clone(), |body| request.json(body));
            request.await.text
        };
        assert_contains!(send("", "sw-TZ").await, "Karibu chai!");
        assert_contains!(send("?locale=sw", "en").await, "Karibu chai!");
        assert_lacks!(send("", "en").await, "Karibu chai!");
    }
}

#[tokio::test]
async fn the_callers_request_id_comes_back_on_every_reply() {
    let campaign = TestCampaign::plain().await;
    for (kind, sending) in one_of_each_kind(&campaign) {
        let reply = sending.header("x-request-id", "Page-1.2_3+4/5=6").await;
        assert_eq!(
            reply.header("x-request-id"),
            Some("Page-1.2_3+4/5=6"),
            "{kind}"
        );
        if !reply.status.is_success() {
            assert_eq!(
                reply.field("error")["request_id"],
                "Page-1.2_3+4/5=6",
                "{kind}"
            );
        }
    }
}

#[tokio::test]
async fn a_request_without_an_id_is_given_one_of_its_own() {
    let campaign = TestCampaign::plain().await;
    let mut ids = Vec::new();
    for (kind, sending) in one_of_each_kind(&campaign) {
        let reply = sending.await;
        let id = reply
            .header("x-request-id")
            .unwrap_or_else(|| panic!("{kind} has no id"))
            .to_owned();
        if !reply.status.is_success() {
            assert_eq!(reply.field("error")["request_id"], *id, "{kind}");
        }
        ids.push(id);
    }
    let made = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), made, "no two requests have the same id");
}

#[tokio::test]
async fn a_request_id_unfit_for_a_log_is_replaced() {
    let campaign = TestCampaign::plain().await;
    let longest = "x".repeat(128);
    let read = || campaign.test("GET", "/api/v1/campaign");
    let reply = read().header("x-request-id", &longest).await;
    assert_eq!(reply.header("x-request-id"), Some(longest.as_str()));
    for unfit in [
        &b"two words"[..],
        b"",
        b"\"quoted\"",
        b"caf\xc3\xa9",
        b"\xff\xfe",
        "x".repeat(129).as_bytes(),
    ] {
        let reply = read().header("x-request-id", unfit).await;
        let id = reply.header("x-request-id").expect("an id");
        assert!(id.starts_with("req_"), "{unfit:?} became {id}");
        assert_eq!(reply.status, 200);
    }
    let twice = read()
        .header("x-request-id", "a")
        .header("x-request-id", "b")
        .await;
    assert!(
        twice
            .header("x-request-id")
            .expect("an id")
            .starts_with("req_")
    );
}

#[tokio::test]
async fn no_reply_of_the_api_may_be_stored() {
    let campaign = TestCampaign::plain().await;
    for (kind, sending) in one_of_each_kind(&campaign) {
        let reply = sending.await;
        let expected = if kind == "the page of errors" {
            "public, max-age=300"
        } else {
            "no-store"
        };
        assert_eq!(reply.header("cache-control"), Some(expected), "{kind}");
    }
}

#[tokio::test]
async fn every_reply_but_the_page_is_json() {
    let campaign = TestCampaign::plain().await;
    for (kind, sending) in one_of_each_kind(&campaign) {
        let expected = if kind == "the page of errors" {
            "text/html; charset=utf-8"
        } else {
            "application/json"
        };
        assert_eq!(
            sending.await.header("content-type"),
            Some(expected),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn an_error_says_what_is_wrong_and_how_to_fix_it() {
    let campaign = TestCampaign::plain().await;
    for (kind, sending) in one_of_each_kind(&campaign) {
        let reply = sending.await;
        if reply.status.is_success() {
            continue;
        }
        let error = reply.field("error");
        let names: Vec<_> = error
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        let mut expected = vec![
            "code",
            "docs_url",
            "errors",
            "field",
            "fix",
            "message",
            "request_id",
        ];
        expected.retain(|name| !matches!(*name, "errors" | "field") || !error[*name].is_null());
        assert_eq!(names, expected, "{kind}");
        for name in expected.into_iter().filter(|name| *name != "errors") {
            assert!(
                error[name].as_str().is_some_and(|text| !text.is_empty()),
                "{kind}: {name}"
            );
        }
        assert_eq!(
            reply.json().as_object().expect("an object").len(),
            1,
            "{kind}: nothing beside the error"
        );
    }
}

#[tokio::test]
async fn an_errors_docs_url_leads_to_a_page_that_explains_it() {
    let campaign = TestCampaign::plain().await;
    let refused = campaign.test("GET", "/api/v1/submissions/none").await;
    let url = text_of(&refused.field("error")["docs_url"]).to_owned();
    let (page, fragment) = url.split_once('#').expect("a place on the page");
    assert_eq!(fragment, "not_found");
    let page = request("GET", page.to_owned()).await;
    assert_eq!(page.status, 200);
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    for code in ErrorCode::ALL {
        assert!(
            page.text.contains(&format!("id=\"{}\"", code.as_str())),
            "{} is explained",
            code.as_str()
        );
    }
}

#[tokio::test]
async fn the_page_of_errors_is_only_read() {
    let campaign = TestCampaign::plain().await;
    let reply = request("POST", format!("{}/docs/errors", campaign.service.base_url)).await;
    assert_eq!(reply.refusal(), "405 method_not_allowed");
    assert_eq!(reply.header("allow"), Some("GET, HEAD"));
}

#[tokio::test]
async fn a_content_type_that_comes_twice_is_no_content_type() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign
        .check("any")
        .header("content-type", "application/json")
        .await;
    assert_eq!(reply.refusal(), "422 validation_failed");
}

#[tokio::test]
async fn headers_that_say_nothing_are_ignored() {
    let campaign = TestCampaign::plain().await;
    let send = async |name: &str, value: &[u8]| -> Reply {
        campaign.check(&campaign.code(1)).header(name, value).await
    };
    for (name, value) in [
        ("accept-language", &b"\xff\xff, sw;q=\xe9"[..]),
        ("svc-client-ip", b"not an address"),
        ("svc-client-ip", b"\xe9"),
        ("svc-client-ip", b""),
        ("accept", b"text/plain"),
        ("idempotency-key", b"x"),
        ("x-nobody-knows", b"\xe9"),
    ] {
        let reply = send(name, value).await;
        assert_eq!(
            (reply.status.as_u16(), reply.field("precheck")),
            (200, json!("valid")),
            "{name}"
        );
    }
}

#[tokio::test]
async fn header_names_are_taken_in_any_case() {
    let campaign = TestCampaign::plain().await;
    let reply = request(
        "POST",
        format!("{}/api/v1/submissions", campaign.service.base_url),
    )
    .header("AUTHORIZATION", format!("Bearer {}", campaign.test_key))
    .header("Idempotency-KEY", fresh_key())
    .header("Svc-Campaign", campaign.config.slug.as_str())
    .header("ACCEPT-language", "sw")
    .json(&body(&phone(1), &campaign.code(1)))
    .await;
    assert_eq!(
        reply.field("message"),
        "Umeingia kwenye shindano! Tunza namba au risiti yako hadi kampeni itakapoisha."
    );
}
