//! The API description and the reference pages.

use std::collections::{HashMap, HashSet};

use common::http::routes::ROUTES;
use service_tests::campaign::TestCampaign;
use service_tests::http::{Reply, request};
use service_tests::service::Service;
use service_tests::text::text_of;

const PAGES: [&str; 23] = [
    "/docs",
    "/docs/entry-form",
    "/docs/conventions",
    "/docs/idempotency",
    "/docs/polling",
    "/docs/webhooks",
    "/docs/receipts",
    "/docs/gateway",
    "/docs/going-live",
    "/docs/endpoints",
    "/docs/endpoints/campaign",
    "/docs/endpoints/codes",
    "/docs/endpoints/submissions",
    "/docs/endpoints/receipts",
    "/docs/outcomes",
    "/docs/errors",
    "/docs/sentinels",
    "/docs/limits",
    "/docs/changes",
    "/docs/draws",
    "/docs/draws/my-entry",
    "/docs/instant",
    "/docs/instant/my-prize",
];

async fn get(path: &str) -> Reply {
    let reply = request("GET", format!("{}{path}", Service::shared().base_url)).await;
    assert_eq!(reply.status, 200, "{path}");
    reply
}

#[tokio::test]
async fn description_names_this_deployment() {
    let description = get("/openapi.json").await.json();
    assert_eq!(description["openapi"], "3.1.0");
    assert_eq!(
        description["servers"][0]["url"],
        *Service::shared().base_url
    );
    for path in ["/openapi.json", "/llms.txt"].into_iter().chain(PAGES) {
        assert!(!get(path).await.text.contains("api.example.com"), "{path}");
    }
    for route in ROUTES {
        let endpoint = &description["paths"][route.path][route.method.to_lowercase()];
        assert!(endpoint.is_object(), "{}", route.path);
    }
}

#[tokio::test]
async fn the_pages_are_small_and_load_nothing_from_elsewhere() {
    let mut bytes = 0;
    for path in PAGES {
        let page = get(path).await;
        assert!(
            page.text.len() < 100 * 1024,
            "{path}: {} bytes",
            page.text.len()
        );
        bytes += page.text.len();
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"),
            "{policy}"
        );
        for start in ["src=\"", "rel=\"stylesheet\" href=\""] {
            for asked in page.text.split(start).skip(1) {
                assert!(
                    asked.starts_with("/docs/"),
                    "{path} asks for {}",
                    &asked[..40]
                );
            }
        }
    }
    assert!(bytes < 370 * 1024, "{bytes} bytes");
    for path in ["/docs/style.css", "/docs/script.js", "/docs/search.json"] {
        let file = get(path).await.text;
        assert!(
            file.len() < 100 * 1024 && !file.contains("//cdn") && !file.contains("@import"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn every_link_of_the_pages_leads_somewhere_in_both_forms() {
    let mut texts: HashMap<String, String> = HashMap::new();
    let mut looked_at = 0;
    for path in PAGES {
        let twin = format!("{path}.md");
        let links = [(path.to_owned(), "href=\"", '"'), (twin, "](", ')')];
        for (path, start, end) in links {
            let page = get(&path).await.text;
            for link in page.split(start).skip(1) {
                let link = link.split(end).next().expect("an end");
                let (target, place) = link.split_once('#').unwrap_or((link, ""));
                let target = if target.is_empty() {
                    &path
                } else {
                    target.split('?').next().expect("a path")
                };
                if !texts.contains_key(target) {
                    texts.insert(target.to_owned(), get(target).await.text);
                }
                let text = &texts[target];
                // Fields have no anchors in Markdown.
                let is_there = [format!("id=\"{place}\""), format!("{{#{place}}}")]
                    .iter()
                    .any(|id| text.contains(id));
                assert!(
                    place.is_empty() || is_there || place.contains('.'),
                    "{path} links to {link}"
                );
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 500, "{looked_at}");
}

#[tokio::test]
async fn every_place_that_the_search_knows_is_there() {
    let index = get("/docs/search.json").await.json();
    let places = index.as_array().expect("a list");
    for place in places {
        let url = text_of(&place[2]);
        let (path, anchor) = url.split_once('#').unwrap_or((url, ""));
        assert!(PAGES.contains(&path), "{url}");
        assert!(
            anchor.is_empty() || get(path).await.text.contains(&format!("id=\"{anchor}\"")),
            "{url}"
        );
    }
    for word in [
        "consent_required",
        "poll_after_seconds (The Submission object)",
        "receipt_wrong_store (Message keys)",
        "Going live",
        "Was my entry in the draw?",
    ] {
        assert!(places.iter().any(|place| place[0] == word), "{word}");
    }
}

#[tokio::test]
async fn curl_begins_with_the_call() {
    let mut looked_at = 0;
    for path in PAGES {
        let page = get(&format!("{path}.md")).await.text;
        for line in page.lines().filter(|line| line.starts_with("curl ")) {
            assert!(line.len() <= 90 && !line.contains("--"), "{path}: {line}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 12, "{looked_at}");
}

#[tokio::test]
async fn reserved_errors_stand_last() {
    let page = get("/docs/errors.md").await.text;
    let codes = page
        .lines()
        .filter_map(|line| line.strip_prefix("## `")?.split('`').next());
    let codes: Vec<&str> = codes.collect();
    assert!(
        codes.ends_with(&["session_expired", "campaign_not_assigned"]),
        "{codes:?}"
    );
    assert!(codes.len() > 20, "{codes:?}");
}

#[tokio::test]
async fn changes_have_dates() {
    let page = get("/docs/changes.md").await.text;
    let titles: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    let undated: Vec<_> = titles
        .iter()
        .filter(|title| !title.contains(" 2026"))
        .collect();
    assert_eq!(undated.len(), 1, "only the rules have none: {undated:?}");
}

#[tokio::test]
async fn no_id_stands_on_a_page_twice() {
    for path in PAGES {
        let page = get(path).await.text;
        let mut ids: Vec<&str> = page
            .split(" id=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "{path}");
    }
}

#[tokio::test]
async fn language_models_find_every_page_as_markdown() {
    let list = get("/llms.txt").await;
    assert_eq!(
        list.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    for path in PAGES {
        assert!(
            list.text
                .contains(&format!("({}{path}.md)", Service::shared().base_url)),
            "{path}"
        );
        let page = get(&format!("{path}.md")).await;
        assert_eq!(
            page.header("content-type"),
            Some("text/markdown; charset=utf-8")
        );
        assert!(
            page.text.starts_with("# ") && !page.text.contains("{{"),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_page_is_kept_until_it_changes_and_then_replaced() {
    for path in [
        "/docs",
        "/docs/errors.md",
        "/docs/style.css",
        "/openapi.json",
    ] {
        let url = format!("{}{path}", Service::shared().base_url);
        let page = get(path).await;
        assert_eq!(
            page.header("cache-control"),
            Some("public, max-age=300"),
            "{path}"
        );
        let etag = page.header("etag").expect("an ETag").to_owned();
        for known in [
            etag.clone(),
            format!("W/{etag}"),
            format!("\"other\", {etag}"),
        ] {
            let again = request("GET", url.clone())
                .header("if-none-match", &known)
                .await;
            assert_eq!(
                (again.status.as_u16(), again.text.as_str()),
                (304, ""),
                "{path} {known}"
            );
            assert_eq!(again.header("etag"), Some(etag.as_str()));
        }
        let changed = request("GET", url)
            .header("if-none-match", "\"other\"")
            .await;
        assert_eq!(
            (changed.status.as_u16(), changed.text),
            (200, page.text),
            "{path}"
        );
    }
}

#[tokio::test]
async fn browsers_and_crawlers_get_what_they_ask_for_by_themselves() {
    assert_eq!(
        get("/favicon.ico").await.header("content-type"),
        Some("image/svg+xml")
    );
    assert_contains!(get("/robots.txt").await.text, "Disallow: /api/");
}

#[tokio::test]
async fn a_page_that_does_not_exist_says_so_readably() {
    for path in [
        "/docs/none",
        "/docs/events",
        "/docs/endpoints/none",
        "/docs/none.md",
        "/docs//",
    ] {
        let reply = request("GET", format!("{}{path}", Service::shared().base_url)).await;
        assert_eq!(reply.status, 404, "{path}");
        assert_eq!(
            reply.header("content-type"),
            Some("text/html; charset=utf-8"),
            "{path}"
        );
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        assert!(
            reply.text.contains("Page not found") && reply.text.contains("href=\"/docs/errors\""),
            "{path}"
        );
        let posted = request("POST", format!("{}{path}", Service::shared().base_url)).await;
        assert_eq!(posted.refusal(), "404 not_found", "{path}");
    }
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
        let reply = request("HEAD", format!("{}{path}", Service::shared().base_url)).await;
        assert_eq!(
            (reply.status.as_u16(), reply.text.as_str()),
            (200, ""),
            "{path}"
        );
        assert_eq!(
            reply.header("content-type"),
            get(path).await.header("content-type")
        );
    }
}

#[tokio::test]
async fn pages_and_description_are_only_read() {
    for path in ["/docs", "/docs/errors", "/openapi.json"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let reply = request(method, format!("{}{path}", Service::shared().base_url)).await;
            assert_eq!(reply.refusal(), "405 method_not_allowed", "{method} {path}");
            assert_eq!(reply.header("allow"), Some("GET, HEAD"));
        }
    }
}

/// Copyable code samples of a page, as plain text.
fn samples(page: &str) -> Vec<String> {
    let mut samples = Vec::new();
    for sample in page
        .split("<pre")
        .skip(1)
        .filter_map(|rest| rest.split("</pre>").next())
    {
        let text: String = sample
            .split('<')
            .filter_map(|part| part.split_once('>'))
            .map(|(_, text)| text)
            .collect();
        let plain = [
            ("&quot;", "\""),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&amp;", "&"),
        ];
        samples.push(
            plain
                .into_iter()
                .fold(text, |text, (escaped, plain)| text.replace(escaped, plain)),
        );
    }
    samples
}

fn test_code(text: &str) -> Option<&str> {
    let code = &text[text.find("TEST-0-")?..];
    let end = code.find(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c));
    Some(&code[..end.unwrap_or(code.len())])
}

#[tokio::test]
async fn every_entering_sample_does_what_its_code_says() {
    let campaign = TestCampaign::with(|campaign| campaign.limits.phone_daily = Some(1)).await;
    let pages = [
        get("/docs").await.text,
        get("/docs/endpoints/submissions").await.text,
    ];
    let mut outcomes = Vec::new();
    // Each language's sample has the same phone and code, so one is sent.
    let mut sent = HashSet::new();
    for sample in pages.iter().flat_map(|page| samples(page)) {
        let phone = sample.find(" 345 678").map(|end| &sample[end - 4..end + 8]);
        let (Some(code), Some(phone), true) =
            (test_code(&sample), phone, sample.contains("consent"))
        else {
            continue;
        };
        if !sent.insert((phone.to_owned(), code.to_owned())) {
            continue;
        }
        let reply = campaign.submit(phone, code).await;
        assert_eq!(reply.field("replayed"), false, "{sample}");
        outcomes.push(
            reply
                .field("message_key")
                .as_str()
                .expect("a key")
                .to_owned(),
        );
    }
    assert_eq!(
        outcomes,
        [
            "entered",
            "already_used",
            "entered",
            "entered",
            "entered",
            "entered",
            "entered",
            "instant_win",
            "already_used"
        ]
    );
}

#[tokio::test]
async fn what_a_page_tells_of_headers_its_commands_show() {
    let page = get("/docs").await.text;
    let entering: Vec<_> = samples(&page)
        .into_iter()
        .filter(|sample| sample.contains("Idempotency-Key: first"))
        .collect();
    assert!(page.contains("Idempotent-Replayed: true") && entering.len() == 1);
    assert!(
        entering
            .iter()
            .all(|command| command.starts_with("curl -i ")),
        "{entering:?}"
    );
    let keys = ["first-of-the-overview", "second-of-the-overview"];
    let readme = include_str!("../../README.md");
    assert!(
        keys.iter()
            .all(|key| page.contains(key) && !readme.contains(key)),
        "another body needs another key"
    );
}
