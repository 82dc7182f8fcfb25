//! The try page over HTTP: its files, and the server that keeps API keys.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::io::Read as _;

use axum::http::{Method, Response};
use common::clock::Clock;
use common::domain::Environment;
use common::upstream::http_client;
use flate2::read::GzDecoder;
use local::demo::{self, Demo};
use local::stack::{Options, Stack};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CODES: &str = "chai-bora-2026";

struct Tried {
    stack: Stack,
    demos: Vec<Demo>,
}

impl Tried {
    async fn start() -> Self {
        Self::start_as("production").await
    }

    async fn start_as(stage: &'static str) -> Self {
        let stack = Stack::start(Options {
            stage,
            ..Options::default()
        })
        .await
        .expect("it starts");
        let env = stack.env().clone().into_iter().collect();
        let demos = demo::load(&env, None, stack.partner_url(), &Clock::system())
            .await
            .expect("demos");
        stack.show_demos(demos.clone());
        Self { stack, demos }
    }

    fn demo(&self, slug: &str) -> &Demo {
        self.demos
            .iter()
            .find(|demo| demo.slug().as_str() == slug)
            .expect("a demo campaign")
    }

    async fn get(&self, path: &str) -> Response<String> {
        self.send("GET", path, &[], "").await
    }

    /// Sends the page's headers.
    async fn call(&self, method: &str, path: &str, body: &str) -> Response<String> {
        let attempt = ("idempotency-key", "attempt-0000000001");
        self.send(method, path, &[GUARD, JSON, attempt], body).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<String> {
        let client = http_client::builder().unwrap().build().unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = client.request(method, format!("{}{path}", self.stack.base_url()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let reply = request.body(body.to_owned()).send().await.unwrap();
        let mut response = Response::builder().status(reply.status());
        response.headers_mut().unwrap().clone_from(reply.headers());
        response.body(reply.text().await.unwrap()).unwrap()
    }
}

fn loaded(page: &Response<String>) -> Value {
    let (_, rest) = page
        .body()
        .split_once(r#"id="loaded">"#)
        .expect("the element");
    let (text, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

const GUARD: (&str, &str) = ("x-requested-with", "try-page");
const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn the_stacks_address_leads_to_the_reference() {
    let tried = Tried::start().await;
    let reply = tried.get("/").await;
    assert_eq!(reply.status(), 307);
    assert_eq!(header(&reply, "location"), "/docs");
    assert_eq!(tried.get("/docs").await.status(), 200);
    assert_eq!(
        error(&tried.send("POST", "/", &[], "").await),
        "404 not_found"
    );
}

fn parsed(reply: &Response<String>) -> Value {
    serde_json::from_str(reply.body()).unwrap_or_else(|error| panic!("{error} in {}", reply.body()))
}

/// Status and code of an error that has all members.
fn error(reply: &Response<String>) -> String {
    let body = parsed(reply);
    for field in ["message", "fix", "docs_url"] {
        assert!(body["error"][field].is_string(), "{field} in {body}");
    }
    let id = header(reply, "x-request-id");
    assert_eq!(body["error"]["request_id"], id);
    assert_eq!(header(reply, "cache-control"), "no-store");
    format!(
        "{} {}",
        reply.status().as_u16(),
        body["error"]["code"].as_str().unwrap()
    )
}

fn header<'a>(reply: &'a Response<String>, name: &str) -> &'a str {
    reply.headers()[name].to_str().unwrap()
}

fn entry(code: &str, phone: &str) -> String {
    json!({ "code": code, "phone": phone, "consent": true }).to_string()
}

#[tokio::test]
async fn page_and_its_files_load_nothing_from_elsewhere() {
    let tried = Tried::start().await;
    let storage = &tried.stack.env()["AWS_ENDPOINT_URL_S3"];
    let page = tried.get("/try").await;
    assert_eq!(header(&page, "cache-control"), "no-cache");
    let mut files = vec!["/try".to_owned()];
    let named = page.body().split('"');
    files.extend(
        named
            .filter(|text| text.starts_with("/try/"))
            .map(str::to_owned),
    );
    let mut imported = Vec::new();
    for file in &files {
        let reply = tried.get(file).await;
        assert_eq!(reply.status(), 200, "{file}");
        let policy = header(&reply, "content-security-policy");
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(
            policy.contains(&format!("connect-src 'self' {storage};")),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        // The SVG namespace is no external URL.
        let text = reply.body().replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http://") && !text.contains("https://"),
            "{file}"
        );
        let modules = reply
            .body()
            .split('\'')
            .filter_map(|text| text.strip_prefix("./"));
        let folder = file.rsplit_once('/').expect("a path").0;
        imported.extend(modules.map(|module| format!("{folder}/{module}")));
        if file != "/try" {
            assert_eq!(
                header(&reply, "cache-control"),
                "public, max-age=31536000, immutable",
                "{file}"
            );
        }
    }
    assert!(imported.len() >= 3, "{imported:?}");
    for module in imported {
        let reply = tried.get(&module).await;
        assert_eq!(reply.status(), 200, "{module}");
        assert_eq!(
            header(&reply, "content-type"),
            "text/javascript; charset=utf-8",
            "{module}"
        );
        let is_named = files.contains(&module);
        assert!(
            is_named || module.ends_with("/photo.js"),
            "{module} is fetched only once another is there"
        );
    }
    assert_eq!(tried.get("/try/000000000000/page.js").await.status(), 404);
    assert_eq!(
        tried.get("/try/page.js").await.headers()["cache-control"],
        "no-cache"
    );
    assert_eq!(error(&tried.get("/try/other").await), "404 not_found");
    assert_eq!(
        error(&tried.send("POST", "/try", &[], "").await),
        "405 method_not_allowed"
    );
}

#[tokio::test]
async fn page_comes_with_the_campaign_that_it_shows_first() {
    let tried = Tried::start().await;
    let swahili = [("accept-language", "sw-TZ,en;q=0.5")];
    let path = "/try?campaign=duka-kuu-2026&key=live";
    let page = loaded(&tried.send("GET", path, &swahili, "").await);
    assert_eq!(page["language"], "sw");
    assert_eq!(page["first"]["environment"], "live");
    let campaign = &page["first"]["campaign"];
    assert_eq!(campaign["slug"], "duka-kuu-2026");
    assert_eq!(campaign["livemode"], true);
    assert_eq!(
        campaign["messages"]["invalid"],
        "Namba hii si sahihi. Iangalie vizuri kisha ujaribu tena."
    );
    for name in [
        "phone_invalid",
        "consent_required",
        "code_required",
        "file_too_large",
        "file_wrong_type",
        "rate_limited",
    ] {
        assert!(
            campaign["messages"][name].is_string(),
            "the page has no words of its own for {name}"
        );
    }
    let path = "/try?campaign=none&language=en";
    let page = loaded(&tried.send("GET", path, &swahili, "").await);
    assert_eq!(page["language"], "en");
    assert_eq!(page["first"]["slug"], CODES);
}

#[tokio::test]
async fn texts_are_compressed_for_browsers_that_take_gzip() {
    let tried = Tried::start().await;
    let path = format!("/try/api/{CODES}/test/campaign");
    for path in ["/try", "/try/entry.js", &path] {
        let plain = tried.send("GET", path, &[GUARD], "").await;
        assert!(!plain.headers().contains_key("content-encoding"), "{path}");
        let url = format!("{}{path}", tried.stack.base_url());
        let client = http_client::builder().unwrap().build().unwrap();
        let asked = client.get(url).header(GUARD.0, GUARD.1);
        let asked = asked.header("accept-encoding", "br, gzip");
        let reply = asked.send().await.unwrap();
        assert_eq!(reply.headers()["content-encoding"], "gzip", "{path}");
        let is_kept = reply.headers()["cache-control"] != "no-store";
        assert_eq!(reply.headers().contains_key("vary"), is_kept, "{path}");
        let mut text = String::new();
        let packed = reply.bytes().await.unwrap();
        let mut unpacked = GzDecoder::new(&packed[..]);
        unpacked.read_to_string(&mut text).expect("gzip");
        assert!(packed.len() * 2 < text.len(), "{path}: {}", packed.len());
        assert_eq!(text.len(), plain.body().len(), "{path}");
    }
}

#[tokio::test]
async fn head_of_the_page_is_answered_like_get() {
    let tried = Tried::start().await;
    for path in ["/try", "/try/page.js"] {
        let got = tried.get(path).await;
        let head = tried.send("HEAD", path, &[], "").await;
        assert_eq!(head.status(), 200, "{path}");
        assert_eq!(head.body(), "", "{path}");
        let [got, head] = [got, head].map(|reply| header(&reply, "content-length").to_owned());
        assert_eq!(got, head, "{path}");
    }
}

#[tokio::test]
async fn call_of_the_page_is_for_the_campaign_in_its_path() {
    let tried = Tried::start().await;
    for (slug, environment, livemode) in [
        (CODES, "test", false),
        (CODES, "live", true),
        ("mango-2025", "test", false),
    ] {
        let path = format!("/try/api/{slug}/{environment}/campaign");
        let reply = tried.call("GET", &path, "").await;
        assert_eq!(reply.status(), 200);
        let campaign = parsed(&reply);
        assert_eq!(campaign["slug"], slug);
        assert_eq!(campaign["livemode"], livemode);
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
        assert_eq!(
            parsed(&reply)["messages"]["entered"],
            "Umeingia! Chai Bora inakutakia bahati njema."
        );
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
    for (method, path, expected, allowed) in [
        (
            "GET",
            "nobodys-campaign/test/campaign",
            "404 not_found",
            None,
        ),
        (
            "GET",
            "chai-bora-2026/staging/campaign",
            "404 not_found",
            None,
        ),
        ("GET", "chai-bora-2026/campaign", "404 not_found", None),
        ("GET", "chai-bora-2026/test/", "404 not_found", None),
        (
            "GET",
            "chai-bora-2026/test/campaign/",
            "404 not_found",
            None,
        ),
        (
            "GET",
            "chai-bora-2026/test/receipts/5d2f7c1e-0b64-8a8e-9f3d-7c6e0d3407c3",
            "404 not_found",
            None,
        ),
        (
            "GET",
            "chai-bora-2026/test/submissions/5d2f7c1e-0b64-8a8e-9f3d-7c6e0d3407c3",
            "404 not_found",
            None,
        ),
        ("GET", "sample-events/test/campaign", "404 not_found", None),
        ("GET", "", "404 not_found", None),
        (
            "POST",
            "chai-bora-2026/test/codes/check",
            "404 not_found",
            None,
        ),
        (
            "POST",
            "chai-bora-2026/test/campaign",
            "405 method_not_allowed",
            Some("GET"),
        ),
        (
            "GET",
            "chai-bora-2026/test/submissions",
            "405 method_not_allowed",
            Some("POST"),
        ),
        (
            "PUT",
            "chai-bora-2026/test/receipts",
            "405 method_not_allowed",
            Some("POST"),
        ),
        (
            "DELETE",
            "chai-bora-2026/test/submissions/x",
            "405 method_not_allowed",
            Some("GET"),
        ),
    ] {
        let reply = tried.call(method, &format!("/try/api/{path}"), "").await;
        assert_eq!(error(&reply), expected, "{method} {path}");
        let allow = reply
            .headers()
            .get("allow")
            .map(|allow| allow.to_str().unwrap());
        assert_eq!(allow, allowed, "{method} {path}");
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
    assert!(
        preflight
            .headers()
            .keys()
            .all(|name| !name.as_str().starts_with("access-control-"))
    );
}

#[tokio::test]
async fn a_staging_stack_offers_test_keys_alone() {
    let environments = |guide: &Value| {
        let all = guide["campaigns"][0]["environments"].as_array().unwrap();
        let names = all.iter().map(|environment| environment["name"].clone());
        names.collect::<Vec<_>>()
    };
    let staging = Tried::start_as("staging").await;
    assert_eq!(
        environments(&loaded(&staging.get("/try?key=live").await)),
        ["test"]
    );
    let reply = staging
        .call("GET", &format!("/try/api/{CODES}/live/campaign"), "")
        .await;
    assert_eq!(error(&reply), "401 key_wrong_environment");
    let production = Tried::start().await;
    assert_eq!(
        environments(&loaded(&production.get("/try").await)),
        ["test", "live"]
    );
}

#[tokio::test]
async fn without_demo_campaigns_there_is_a_page_and_nothing_to_try() {
    let stack = Stack::start(Options::default()).await.expect("it starts");
    let tried = Tried {
        stack,
        demos: Vec::new(),
    };
    assert_eq!(tried.get("/try").await.status(), 200);
    assert_eq!(loaded(&tried.get("/try").await)["campaigns"], json!([]));
    let reply = tried
        .call("GET", &format!("/try/api/{CODES}/test/campaign"), "")
        .await;
    assert_eq!(error(&reply), "404 not_found");
    assert!(reply.body().contains("--no-demo"), "{}", reply.body());
}

#[tokio::test]
async fn a_sample_receipt_is_drawn_for_what_can_be_a_receipts_code() {
    let tried = Tried::start().await;
    let reply = tried.get("/try/receipt.png?code=GOOD010001").await;
    assert_eq!(reply.status(), 200);
    assert_eq!(header(&reply, "content-type"), "image/png");
    for query in [
        "",
        "?code=",
        "?code=SHORT",
        "?code=%3Cscript%3E",
        "?code=good010001",
    ] {
        let reply = tried.get(&format!("/try/receipt.png{query}")).await;
        assert_eq!(error(&reply), "422 validation_failed", "{query}");
    }
}
