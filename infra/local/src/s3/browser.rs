//! CORS: answers preflight requests, and lets a page of any origin read the replies.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use s3s::service::S3Service;

/// Methods that a page may use.
const METHODS: [Method; 3] = [Method::PUT, Method::GET, Method::HEAD];
const METHOD_NAMES: HeaderValue = HeaderValue::from_static("PUT, GET, HEAD");
/// How long a browser caches a preflight reply.
const MAX_AGE_SECONDS: HeaderValue = HeaderValue::from_static("3000");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// Answers preflight requests; passes all others to S3.
pub(super) async fn serve(State(service): State<S3Service>, request: Request) -> Response<Body> {
    if request.method() == Method::OPTIONS {
        return preflight(request.headers());
    }
    let from_a_page = request.headers().contains_key(ORIGIN);
    let mut response = match service.call(request.map(s3s::Body::http_body_unsync)).await {
        Ok(response) => response.map(Body::new),
        Err(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
    };
    if from_a_page {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("ETag"),
        );
    }
    response
}

fn preflight(asked: &HeaderMap) -> Response<Body> {
    let method = asked.get(ACCESS_CONTROL_REQUEST_METHOD);
    let allowed = METHODS
        .iter()
        .any(|allowed| method.is_some_and(|method| method == allowed.as_str()));
    if !asked.contains_key(ORIGIN) || !allowed {
        return empty(StatusCode::FORBIDDEN);
    }
    let mut response = empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHOD_NAMES);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE_SECONDS);
    headers.insert(VARY, HeaderValue::from_name(ACCESS_CONTROL_REQUEST_HEADERS));
    if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    response
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
