//! Paths and methods outside the API are refused before authentication.

use insta::assert_snapshot;
use service_tests::campaign::TestCampaign;
use service_tests::http::{Reply, request};
use service_tests::service::Service;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends no key.
async fn send(method: &str, path: &str) -> Reply {
    request(method, format!("{}{path}", Service::shared().base_url)).await
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    assert_snapshot!(send("GET", "/api/v1/none").await.snapshot(), @r#"
    404 {
      "error": {
        "code": "not_found",
        "docs_url": "[docs]",
        "fix": "Check the path against the API reference: every path of the API begins with `/api/v1/`, is in lower case and has no slash at its end.",
        "message": "There is nothing here. There is no such path.",
        "request_id": "[request id]"
      }
    }
    "#);
}

#[tokio::test]
async fn a_path_has_one_spelling() {
    for path in [
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v2/campaign",
        "/api/v1/campaign/",
        "//api/v1/campaign",
        "/api//v1/campaign",
        "/api/v1/Campaign",
        "/API/V1/CAMPAIGN",
        "/api/v1/campaign.json",
        "/api/v1/%63ampaign",
        "/api/v1/campaign%2F",
        "/api/v1/campaign;a=b",
        "/api/v1/submissions/",
        "/api/v1/submissions/lookup/",
        "/api/v1/submissions/one/two",
        "/api/v1/codes",
        "/api/v1/codes/check/",
        "/doc",
        "/openapi",
        "/openapi.json/",
    ] {
        for method in ["GET", "POST"] {
            let reply = send(method, path).await;
            assert_eq!(reply.refusal(), "404 not_found", "{method} {path}");
        }
    }
}

/// A raw socket: the HTTP client would normalize the paths.
#[tokio::test]
async fn dots_in_a_path_lead_nowhere() {
    let service = Service::shared();
    let host = service.base_url.trim_start_matches("http://");
    for path in ["/api/v1/./campaign", "/api/v1/none/../campaign"] {
        let mut stream = TcpStream::connect(host).await.expect("a connection");
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it is sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("a reply");
        assert!(
            reply.starts_with("HTTP/1.1 404 ") && reply.contains("\"not_found\""),
            "{path}: {reply}"
        );
    }
}

#[tokio::test]
async fn a_known_path_says_which_methods_it_takes() {
    let reply = send("POST", "/api/v1/campaign").await;
    assert_snapshot!(reply.snapshot(), @r#"
    405 {
      "error": {
        "code": "method_not_allowed",
        "docs_url": "[docs]",
        "fix": "Use one of the methods named in the Allow header.",
        "message": "This path does not take this method.",
        "request_id": "[request id]"
      }
    }
    "#);
    for (path, allowed) in [
        ("/api/v1/campaign", "GET"),
        ("/api/v1/codes/check", "POST"),
        ("/api/v1/submissions", "POST"),
        // Not taken for an id.
        ("/api/v1/submissions/lookup", "POST"),
        (
            "/api/v1/submissions/0b0a6f6e-6a53-4a0e-8f0e-0d6f4f1f2a3b",
            "GET",
        ),
        ("/api/v1/submissions/anything", "GET"),
        ("/api/v1/receipts/x", "GET"),
    ] {
        let other = if allowed == "GET" { "POST" } else { "GET" };
        for method in [
            "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "FOO", "get", "post", other,
        ] {
            let reply = send(method, path).await;
            assert_eq!(reply.refusal(), "405 method_not_allowed", "{method} {path}");
            assert_eq!(reply.header("allow"), Some(allowed), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn unknown_path_ignores_method_body_and_key() {
    let campaign = TestCampaign::plain().await;
    let reply = campaign
        .test("DELETE", "/api/v1/none")
        .raw("not JSON")
        .await;
    assert_eq!(reply.refusal(), "404 not_found");
    let reply = campaign
        .with_key("nonsense", "PUT", "/api/v1/submissions")
        .raw("not JSON")
        .await;
    assert_eq!(reply.refusal(), "405 method_not_allowed");
}

#[tokio::test]
async fn a_head_request_is_answered_without_a_body() {
    let reply = send("HEAD", "/api/v1/campaign").await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (405, ""));
    assert_eq!(reply.header("allow"), Some("GET"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let reply = send("HEAD", "/api/v1/none").await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (404, ""));
}

#[tokio::test]
async fn unknown_query_changes_nothing() {
    let campaign = TestCampaign::plain().await;
    for query in [
        "?",
        "?a=b",
        "?locale",
        "?locale=&locale=sw",
        "?%ff=%zz&&=",
        "?locale=%FF",
    ] {
        let reply = campaign
            .test("GET", &format!("/api/v1/campaign{query}"))
            .await;
        assert_eq!(reply.status, 200, "{query}");
        assert_eq!(
            reply.field("messages")["campaign_paused"],
            "The campaign is paused. Try again later."
        );
    }
}
