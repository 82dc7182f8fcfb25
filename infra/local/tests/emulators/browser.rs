//! Requests from a page in a browser.

use axum::http::{Request, Response};

use crate::common::{BUCKET, Storage, send, storage};

const ORIGIN: &str = "https://campaign.example";

async fn preflight(storage: &Storage, method: &str) -> Response<String> {
    let request = Request::options(format!(
        "{}/{BUCKET}/photo?X-Amz-Signature=abc",
        storage.s3.endpoint()
    ))
    .header("origin", ORIGIN)
    .header("access-control-request-method", method)
    .header(
        "access-control-request-headers",
        "content-type,if-none-match",
    );
    send(request.body("").unwrap()).await
}

#[tokio::test]
async fn a_preflight_of_an_upload_is_allowed() {
    let storage = storage().await;
    let response = preflight(&storage, "PUT").await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert_eq!(
        response.headers()["access-control-allow-methods"],
        "PUT, GET, HEAD"
    );
    assert_eq!(
        response.headers()["access-control-allow-headers"],
        "content-type,if-none-match"
    );
    assert_eq!(response.headers()["access-control-max-age"], "3000");
}

#[tokio::test]
async fn a_preflight_of_a_deletion_is_refused() {
    let storage = storage().await;
    let response = preflight(&storage, "DELETE").await;
    assert_eq!(response.status(), 403);
    assert!(
        !response
            .headers()
            .contains_key("access-control-allow-origin")
    );
}

#[tokio::test]
async fn a_page_may_read_a_refusal_and_the_etag() {
    let storage = storage().await;
    let url = format!("{}/{BUCKET}/photo", storage.s3.endpoint());
    let request = Request::put(&url)
        .header("origin", ORIGIN)
        .body("photo")
        .unwrap();
    let response = send(request).await;
    assert_eq!(response.status(), 403);
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert_eq!(response.headers()["access-control-expose-headers"], "ETag");
}

#[tokio::test]
async fn other_callers_get_no_headers_for_pages() {
    let storage = storage().await;
    let url = format!("{}/{BUCKET}/photo", storage.s3.endpoint());
    let response = send(Request::put(&url).body("photo").unwrap()).await;
    assert!(
        !response
            .headers()
            .contains_key("access-control-allow-origin")
    );
}
