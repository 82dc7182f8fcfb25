//! Calls of the page to the API, by the server that keeps the keys.

use super::*;

#[tokio::test]
async fn call_of_the_page_is_for_the_campaign_in_its_path() {
    let tried = Tried::start().await;
    for scope in [
        "chai-bora-2026/test",
        "chai-bora-2026/live",
        "mango-2025/test",
    ] {
        let path = format!("/try/api/{scope}/campaign");
        let campaign = parsed(&tried.call("GET", &path, "").await);
        let (slug, environment) = scope.split_once('/').expect("a scope");
        assert_eq!(campaign["slug"], slug);
        assert_eq!(campaign["livemode"], environment == "live");
    }
}

#[tokio::test]
async fn the_language_goes_on_to_the_api_by_header_and_by_query() {
    let tried = Tried::start().await;
    let path = format!("/try/api/{CODES}/test/campaign");
    let swahili = [GUARD, ("accept-language", "sw-TZ,en;q=0.5")];
    let by_header = tried.send("GET", &path, &swahili, "").await;
    let by_query = tried.call("GET", &format!("{path}?locale=sw"), "").await;
    for reply in [by_header, by_query] {
        let entered = "Umeingia! Chai Bora inakutakia bahati njema.";
        assert_eq!(parsed(&reply)["messages"]["entered"], entered);
    }
}

#[tokio::test]
async fn an_attempt_that_is_sent_again_is_one_entry() {
    let tried = Tried::start().await;
    let path = format!("/try/api/{CODES}/test/submissions");
    let body = entry("TEST-0-VALID", "0712345678");
    let first = tried.call("POST", &path, &body).await;
    let second = tried.call("POST", &path, &body).await;
    assert_eq!(parsed(&first)["message_key"], "entered");
    assert_eq!(parsed(&first)["id"], parsed(&second)["id"]);
    assert!(!first.headers().contains_key("idempotent-replayed"));
    assert_eq!(header(&second, "idempotent-replayed"), "true");
    let id = parsed(&first)["id"].as_str().unwrap().to_owned();
    let read = tried.call("GET", &format!("{path}/{id}"), "").await;
    assert_eq!(parsed(&read)["display_status"], "entered");
    let live = path.replace("test", "live");
    let elsewhere = tried.call("GET", &format!("{live}/{id}"), "").await;
    assert_eq!(error(&elsewhere), "404 not_found");
}

#[tokio::test]
async fn no_key_is_in_anything_that_a_browser_gets() {
    let tried = Tried::start().await;
    let mut replies = Vec::new();
    for file in "/try /try/page.js /try/entry.js /try/api.js /try/photo.js /try/words.js".split(' ')
    {
        replies.push(tried.get(file).await);
    }
    let wrong = entry("AAAA-BBBB-CCCC", "0712345678");
    let photo = r#"{"type":"photo","content_type":"image/jpeg","size_bytes":9}"#;
    for (method, path, body) in [
        ("GET", "chai-bora-2026/live/campaign", ""),
        ("POST", "chai-bora-2026/live/submissions", wrong.as_str()),
        ("POST", "chai-bora-2026/live/submissions", "{}"),
        ("POST", "chai-bora-2026/live/receipts", "{}"),
        ("DELETE", "chai-bora-2026/live/campaign", ""),
        ("POST", "duka-kuu-2026/live/receipts", photo),
    ] {
        let path = format!("/try/api/{path}");
        replies.push(tried.call(method, &path, body).await);
    }
    assert!(parsed(replies.last().unwrap())["upload"]["url"].is_string());
    for reply in replies {
        let seen = format!("{:?}{}", reply.headers(), reply.body());
        for demo in &tried.demos {
            for environment in Environment::ALL {
                assert!(!seen.contains(demo.key(environment)), "a key in {seen}");
            }
        }
    }
}

#[tokio::test]
async fn a_browser_can_choose_neither_key_nor_address() {
    let tried = Tried::start().await;
    let other_key = format!("Bearer {}", tried.demo("mango-2025").key(Environment::Live));
    let path = format!("/try/api/{CODES}/test/submissions/lookup");
    let mut statuses = Vec::new();
    for index in 0..31 {
        let address = format!("203.0.{index}.1");
        let headers = [
            GUARD,
            JSON,
            ("authorization", other_key.as_str()),
            ("svc-campaign", "mango-2025"),
            ("svc-client-ip", address.as_str()),
        ];
        let body = json!({ "phone": format!("07120000{index:02}") }).to_string();
        let reply = tried.send("POST", &path, &headers, &body).await;
        statuses.push(reply.status().as_u16());
    }
    // All count for the caller's real address.
    assert_eq!(statuses, [vec![200; 30], vec![429]].concat());
}

#[tokio::test]
async fn there_is_nothing_but_what_the_page_needs() {
    let tried = Tried::start().await;
    let id = "5d2f7c1e-0b64-8a8e-9f3d-7c6e0d3407c3";
    for request in [
        "GET nobodys-campaign/test/campaign",
        "GET chai-bora-2026/staging/campaign",
        "GET chai-bora-2026/campaign",
        "GET chai-bora-2026/test/",
        "GET chai-bora-2026/test/campaign/",
        &format!("GET chai-bora-2026/test/receipts/{id}"),
        &format!("GET chai-bora-2026/test/submissions/{id}"),
        "GET sample-events/test/campaign",
        "GET ",
        "POST chai-bora-2026/test/codes/check",
    ] {
        let (method, path) = request.split_once(' ').expect("a method");
        let reply = tried.call(method, &format!("/try/api/{path}"), "").await;
        assert_eq!(error(&reply), "404 not_found", "{request}");
        assert_eq!(reply.headers().get("allow"), None, "{request}");
    }
    for (request, allowed) in [
        ("POST chai-bora-2026/test/campaign", "GET"),
        ("GET chai-bora-2026/test/submissions", "POST"),
        ("PUT chai-bora-2026/test/receipts", "POST"),
        ("DELETE chai-bora-2026/test/submissions/x", "GET"),
    ] {
        let (method, path) = request.split_once(' ').expect("a method");
        let reply = tried.call(method, &format!("/try/api/{path}"), "").await;
        assert_eq!(error(&reply), "405 method_not_allowed", "{request}");
        assert_eq!(header(&reply, "allow"), allowed, "{request}");
    }
    // A raw connection: the HTTP client would normalize the path.
    let host = tried.stack.base_url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = "GET /try/api/chai-bora-2026/test/../../../campaign HTTP/1.1\r\nx-requested-with: try-page\r\n";
    let head = format!("{head}host: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut dotted = String::new();
    stream.read_to_string(&mut dotted).await.unwrap();
    assert!(dotted.starts_with("HTTP/1.1 404 "), "{dotted}");
    assert!(dotted.contains("\"not_found\""), "{dotted}");
}

#[tokio::test]
async fn body_is_small_and_json() {
    let tried = Tried::start().await;
    let path = format!("/try/api/{CODES}/test/submissions");
    let entry = entry("TEST-0-VALID", "0712345678");
    let padded = |bytes: usize| format!("{}{entry}", " ".repeat(bytes - entry.len()));
    let over = tried.call("POST", &path, &padded(16 * 1024 + 1)).await;
    assert_eq!(error(&over), "422 validation_failed");
    assert!(over.body().contains("16 KiB"), "{}", over.body());
    let huge = tried.call("POST", &path, &padded(3 * 1024 * 1024)).await;
    assert_eq!(error(&huge), "422 validation_failed");
    let largest = tried.call("POST", &path, &padded(16 * 1024)).await;
    assert_eq!(parsed(&largest)["message_key"], "entered");
    let attempt = ("idempotency-key", "attempt-0000000002");
    let headers = [GUARD, attempt, ("content-type", "text/plain")];
    let plain = tried.send("POST", &path, &headers, &entry).await;
    assert_eq!(error(&plain), "422 validation_failed");
}

#[tokio::test]
async fn pages_of_other_sites_are_not_served() {
    let tried = Tried::start().await;
    let path = format!("/try/api/{CODES}/test/submissions");
    let attempt = ("idempotency-key", "attempt-0000000001");
    let origin = ("origin", "https://elsewhere.example");
    let body = entry("TEST-0-VALID", "0712345678");
    let headers = [JSON, attempt, origin];
    let reply = tried.send("POST", &path, &headers, &body).await;
    assert_eq!(error(&reply), "422 validation_failed");
    for part in ["x-requested-with", "Send this header"] {
        assert!(reply.body().contains(part), "{}", reply.body());
    }
    // A browser's preflight before a custom header.
    let asked = [
        origin,
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "x-requested-with,content-type",
        ),
    ];
    let preflight = tried.send("OPTIONS", &path, &asked, "").await;
    assert_eq!(error(&preflight), "405 method_not_allowed");
    let mut names = preflight.headers().keys();
    assert!(names.all(|name| !name.as_str().starts_with("access-control-")));
}
