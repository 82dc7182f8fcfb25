//! CORS: pages of any origin may read the replies.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use s3s::service::S3Service;

const ANY_ORIGIN: (axum::http::HeaderName, HeaderValue) =
    (ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
const METHODS: [&str; 3] = ["PUT", "GET", "HEAD"];

pub(super) async fn serve(State(service): State<S3Service>, request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return preflight(request.headers());
    }
    let is_from_page = request.headers().contains_key(ORIGIN);
    let Ok(response) = service.call(request.map(s3s::Body::http_body_unsync)).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let response = response.map(Body::new);
    if is_from_page {
        return (
            [(ACCESS_CONTROL_EXPOSE_HEADERS, "ETag")],
            [ANY_ORIGIN],
            response,
        )
            .into_response();
    }
    response
}

fn preflight(asked: &HeaderMap) -> Response {
    let method = asked.get(ACCESS_CONTROL_REQUEST_METHOD);
    let is_allowed = METHODS
        .iter()
        .any(|allowed| method.is_some_and(|method| method == allowed));
    if !asked.contains_key(ORIGIN) || !is_allowed {
        return StatusCode::FORBIDDEN.into_response();
    }
    let names = asked.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS.join(", ")),
        (ACCESS_CONTROL_MAX_AGE, "3000".to_owned()),
    ];
    let names = names.map(|names| [(ACCESS_CONTROL_ALLOW_HEADERS, names)]);
    ([ANY_ORIGIN], names, headers).into_response()
}
