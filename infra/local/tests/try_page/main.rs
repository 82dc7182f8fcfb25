//! The try page over HTTP: its files, and the server that keeps API keys.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod calls;
mod events;

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

    async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> reqwest::Response {
        let client = http_client::builder().unwrap().build().unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = client.request(method, format!("{}{path}", self.stack.base_url()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(body.to_owned()).send().await.unwrap()
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<String> {
        let reply = self.request(method, path, headers, body).await;
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
    let posted = tried.send("POST", "/", &[], "").await;
    assert_eq!(error(&posted), "404 not_found");
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
        let connects = format!("connect-src 'self' {storage};");
        assert!(
            policy.contains(&connects) && !policy.contains("unsafe"),
            "{policy}"
        );
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
            let kept = "public, max-age=31536000, immutable";
            assert_eq!(header(&reply, "cache-control"), kept, "{file}");
        }
    }
    assert!(imported.len() >= 3, "{imported:?}");
    for module in imported {
        let reply = tried.get(&module).await;
        assert_eq!(reply.status(), 200, "{module}");
        let kind = header(&reply, "content-type");
        assert_eq!(kind, "text/javascript; charset=utf-8", "{module}");
        // Else it is fetched only once another is there.
        assert!(
            files.contains(&module) || module.ends_with("/photo.js"),
            "{module}"
        );
    }
    assert_eq!(tried.get("/try/000000000000/page.js").await.status(), 404);
    let unversioned = tried.get("/try/page.js").await;
    assert_eq!(header(&unversioned, "cache-control"), "no-cache");
    assert_eq!(error(&tried.get("/try/other").await), "404 not_found");
    let posted = tried.send("POST", "/try", &[], "").await;
    assert_eq!(error(&posted), "405 method_not_allowed");
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
    let messages = &campaign["messages"];
    let invalid = "Namba hii si sahihi. Iangalie vizuri kisha ujaribu tena.";
    assert_eq!(messages["invalid"], invalid);
    // The page has words of its own.
    let own =
        "phone_invalid consent_required code_required file_too_large file_wrong_type rate_limited";
    for name in own.split(' ') {
        assert!(messages[name].is_string(), "{name}");
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
        let gzip = [GUARD, ("accept-encoding", "br, gzip")];
        let reply = tried.request("GET", path, &gzip, "").await;
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
async fn a_staging_stack_offers_test_keys_alone() {
    let environments = async |tried: &Tried| {
        let page = loaded(&tried.get("/try?key=live").await);
        let all = page["campaigns"][0]["environments"].as_array().unwrap();
        all.iter()
            .map(|environment| environment["name"].clone())
            .collect::<Vec<_>>()
    };
    let staging = Tried::start_as("staging").await;
    assert_eq!(environments(&staging).await, ["test"]);
    let reply = staging
        .call("GET", &format!("/try/api/{CODES}/live/campaign"), "")
        .await;
    assert_eq!(error(&reply), "401 key_wrong_environment");
    let production = Tried::start().await;
    assert_eq!(environments(&production).await, ["test", "live"]);
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
    let wrong = [
        "?code=",
        "?code=SHORT",
        "?code=%3Cscript%3E",
        "?code=good010001",
    ];
    for query in wrong.into_iter().chain([""]) {
        let reply = tried.get(&format!("/try/receipt.png{query}")).await;
        assert_eq!(error(&reply), "422 validation_failed", "{query}");
    }
}
