//! What is served beside the API: its description, and the reference pages.

use common::http::routes::ROUTES;
use service_tests::campaign::TestCampaign;
use service_tests::http::{Reply, request};
use service_tests::service::Service;

const PAGES: [&str; 7] = [
    "/docs",
    "/docs/operations",
    "/docs/objects",
    "/docs/errors",
    "/docs/sentinels",
    "/docs/limits",
    "/docs/changes",
];

async fn get(path: &str) -> Reply {
    let reply = request("GET", format!("{}{path}", Service::shared().base_url)).send().await;
    assert_eq!(reply.status, 200, "{path}");
    reply
}

#[tokio::test]
async fn the_description_is_served_in_both_forms_and_names_this_deployment() {
    for (path, version) in [("/openapi.json", "3.1.0"), ("/openapi-3.0.json", "3.0.3")] {
        let description = get(path).await.json();
        assert_eq!(description["openapi"], version);
        assert_eq!(description["servers"][0]["url"], *Service::shared().base_url);
        for route in ROUTES {
            assert!(
                description["paths"][route.path][route.method.to_lowercase()].is_object(),
                "{}",
                route.path
            );
        }
    }
}

#[tokio::test]
async fn the_pages_together_are_small_and_ask_for_nothing_else() {
    let mut bytes = 0;
    for path in PAGES {
        let page = get(path).await;
        bytes += page.text.len();
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
        for outside in [" src=", "stylesheet", "@import", "url("] {
            assert!(!page.text.contains(outside), "{path} has {outside}");
        }
    }
    assert!(bytes < 200 * 1024, "{bytes} bytes");
}

#[tokio::test]
async fn every_link_of_the_pages_leads_somewhere() {
    let mut looked_at = 0;
    for path in PAGES {
        let page = get(path).await.text;
        for link in page.split("href=\"").skip(1) {
            let link = link.split('"').next().expect("an end");
            if link == "data:," {
                // No icon, so that no browser asks for one.
                continue;
            }
            let (target, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() { path } else { target };
            let text = get(target).await.text;
            assert!(place.is_empty() || text.contains(&format!("id=\"{place}\"")), "{path} links to {link}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 200, "{looked_at}");
}

#[tokio::test]
async fn a_page_is_found_with_a_slash_at_the_end_too() {
    for path in PAGES {
        let page = get(path).await.text;
        assert_eq!(get(&format!("{path}/")).await.text, page);
    }
}

#[tokio::test]
async fn a_page_can_be_asked_for_by_its_headers_alone() {
    for path in ["/docs", "/openapi.json"] {
        let reply = request("HEAD", format!("{}{path}", Service::shared().base_url)).send().await;
        assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, ""), "{path}");
        assert_eq!(reply.header("content-type"), get(path).await.header("content-type"));
    }
}

#[tokio::test]
async fn pages_and_description_are_only_read() {
    for path in ["/docs", "/docs/errors", "/openapi.json"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let reply = request(method, format!("{}{path}", Service::shared().base_url)).send().await;
            assert_eq!(reply.refusal(), (405, "method_not_allowed".to_owned(), None), "{method} {path}");
            assert_eq!(reply.header("allow"), Some("GET, HEAD"));
        }
    }
}

/// What is to be copied from a page, as plain text.
fn samples(page: &str) -> Vec<String> {
    let mut samples = Vec::new();
    for sample in page.split("<pre").skip(1).filter_map(|rest| rest.split("</pre>").next()) {
        let text: String =
            sample.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
        let plain = [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
        samples.push(plain.into_iter().fold(text, |text, (escaped, plain)| text.replace(escaped, plain)));
    }
    samples
}

/// The test code in a text.
fn test_code(text: &str) -> Option<&str> {
    let code = &text[text.find("TEST-0-")?..];
    let end = code.find(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c));
    Some(&code[..end.unwrap_or(code.len())])
}

#[tokio::test]
async fn every_sample_that_enters_does_what_its_code_says_even_once_a_day_for_each_phone() {
    let campaign = TestCampaign::with(|campaign| campaign.limits.phone_daily = Some(1)).await;
    let pages = [get("/docs").await.text, get("/docs/operations").await.text];
    let mut outcomes = Vec::new();
    for sample in pages.iter().flat_map(|page| samples(page)) {
        let phone = sample.find(" 345 678").map(|end| &sample[end - 4..end + 8]);
        let (Some(code), Some(phone), true) = (test_code(&sample), phone, sample.contains("consent")) else {
            continue;
        };
        let reply = campaign.submit(phone, code).await;
        assert_eq!(reply.field("replayed"), false, "{sample}");
        outcomes.push(reply.field("message_key").as_str().expect("a key").to_owned());
    }
    assert_eq!(outcomes, ["entered", "already_used", "entered", "entered", "entered"]);
}

#[tokio::test]
async fn what_a_page_tells_of_headers_its_commands_show() {
    let page = get("/docs").await.text;
    let entering: Vec<_> =
        samples(&page).into_iter().filter(|sample| sample.contains("Idempotency-Key: first")).collect();
    assert!(page.contains("Idempotent-Replayed: true") && entering.len() == 1);
    assert!(entering.iter().all(|command| command.starts_with("curl -si ")), "{entering:?}");
    let keys = ["first-of-the-overview", "second-of-the-overview"];
    let readme = include_str!("../../README.md");
    assert!(
        keys.iter().all(|key| page.contains(key) && !readme.contains(key)),
        "another body needs another key"
    );
}
