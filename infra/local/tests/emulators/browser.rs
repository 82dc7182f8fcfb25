//! Requests from a page in a browser.

use axum::http::{Request, Response};

use crate::common::{send, storage};

const ORIGIN: &str = "https://campaign.example";

/// Headers for pages, with values.
fn for_pages(reply: &Response<String>) -> Vec<(&str, &str)> {
    let headers = reply.headers().iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix("access-control-")?;
        Some((name, value.to_str().unwrap()))
    });
    let mut headers: Vec<_> = headers.collect();
    headers.sort_unstable();
    headers
}

async fn preflight(method: &str) -> Response<String> {
    let storage = storage().await;
    let url = storage.url("photo?X-Amz-Signature=abc");
    let names = "content-type,if-none-match";
    let request = Request::options(url)
        .header("origin", ORIGIN)
        .header("access-control-request-method", method)
        .header("access-control-request-headers", names);
    send(request.body("").unwrap()).await
}

#[tokio::test]
async fn preflight_of_an_upload_is_allowed() {
    let reply = preflight("PUT").await;
    assert_eq!(reply.status(), 200);
    let expected = [
        ("allow-headers", "content-type,if-none-match"),
        ("allow-methods", "PUT, GET, HEAD"),
        ("allow-origin", "*"),
        ("max-age", "3000"),
    ];
    assert_eq!(for_pages(&reply), expected);
}

#[tokio::test]
async fn preflight_of_a_deletion_is_refused() {
    let reply = preflight("DELETE").await;
    assert_eq!((reply.status().as_u16(), for_pages(&reply)), (403, vec![]));
}

#[tokio::test]
async fn pages_alone_may_read_a_refusal_and_the_etag() {
    let storage = storage().await;
    let put = || Request::put(storage.url("photo"));
    let to_page = send(put().header("origin", ORIGIN).body("photo").unwrap()).await;
    assert_eq!(to_page.status(), 403);
    let expected = [("allow-origin", "*"), ("expose-headers", "ETag")];
    assert_eq!(for_pages(&to_page), expected);
    assert_eq!(for_pages(&send(put().body("photo").unwrap()).await), []);
}
