//! The simulated partner's replies over HTTP.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::PartnerState;
use super::cases::{self, ACCEPTED, Behaviour, DOWN_FIRST, INVALID, USED, WON, Win};

/// Of 62,500 bytes each: 10 MB in all.
const HUGE_PARTS: usize = 160;
const HUGE_PART: Bytes = Bytes::from_static(&[b' '; 62_500]);
/// The target of a redirect that the client must not follow.
const AWAY: &str = "http://169.254.169.254/";

#[derive(Deserialize)]
struct Question {
    reference: String,
    code: String,
    phone: String,
}

pub(super) async fn answer(
    Shared(state): Shared<Arc<PartnerState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    if let Some((name, value)) = &state.options.secret
        && headers.get(name.as_str()).map(HeaderValue::as_bytes) != Some(value.as_bytes())
    {
        return json_with(StatusCode::UNAUTHORIZED, &status_text(401, "Who are you?"));
    }
    let Ok(Question {
        reference,
        code,
        phone,
    }) = serde_json::from_slice(&body)
    else {
        return json_with(StatusCode::BAD_REQUEST, &status_text(400, "Bad request"));
    };
    if phone.is_empty() || reference.is_empty() {
        return json_with(StatusCode::BAD_REQUEST, &status_text(400, "Bad request"));
    }
    let nth = state.count(&reference, &code);
    let code = cases::normal(&code);
    let redeem = |win| ok(&redeem(&state, &code, &reference, win));
    match cases::of(&code) {
        Behaviour::Accept(win) => redeem(win),
        Behaviour::Refuse(status, text) => ok(&status_text(status, text)),
        Behaviour::RefuseWith(http, status, text) => json_with(
            StatusCode::from_u16(http).unwrap_or_default(),
            &status_text(status, text),
        ),
        Behaviour::AcceptWith(http) => json_with(
            StatusCode::from_u16(http).unwrap_or_default(),
            &status_text(ACCEPTED, "Accepted"),
        ),
        Behaviour::Slow => {
            let answer = redeem(Win::No);
            if nth == 1 {
                tokio::time::sleep(state.options.slow_for).await;
            }
            answer
        }
        Behaviour::Down | Behaviour::DownThenRefuses if nth <= DOWN_FIRST => unavailable(),
        Behaviour::DownThenRefuses => ok(&status_text(INVALID, "Invalid code")),
        Behaviour::Down => redeem(Win::No),
        Behaviour::Flip if nth == 1 => redeem(Win::No),
        Behaviour::Flip => ok(&used()),
        Behaviour::Gone => {
            let answer = redeem(Win::No);
            if nth == 1 { broken() } else { answer }
        }
        Behaviour::Dead => unavailable(),
        Behaviour::Html => html(
            StatusCode::OK,
            "<!doctype html><title>Login</title><h1>Please log in</h1>",
        ),
        Behaviour::Huge => huge(),
        Behaviour::TextEntries => {
            ok(&json!({ "status": ACCEPTED, "text": "Accepted", "entries": "2", "prize": null }))
        }
        Behaviour::NewStatus => ok(&status_text(77, "A new kind of answer")),
        Behaviour::TwoDocuments => {
            let one = status_text(ACCEPTED, "Accepted");
            let two = status_text(USED, "Code already used");
            respond(StatusCode::OK, "application/json", format!("{one}\n{two}"))
        }
        Behaviour::Move => {
            let mut response = respond(StatusCode::FOUND, "text/plain", Body::empty());
            response
                .headers_mut()
                .insert(LOCATION, HeaderValue::from_static(AWAY));
            response
        }
        Behaviour::Drip => drip(state.options.drip_every),
    }
}

fn redeem(state: &PartnerState, code: &str, reference: &str, win: Win) -> Value {
    if !state.redeem(code, reference) {
        return used();
    }
    match win {
        Win::No => json!({ "status": ACCEPTED, "text": "Accepted", "entries": 2, "prize": null }),
        Win::Prize => json!({ "status": WON, "text": "You win", "entries": 2, "prize": "A mug" }),
    }
}

fn used() -> Value {
    status_text(USED, "Code already used")
}

fn status_text(status: i64, text: &str) -> Value {
    json!({ "status": status, "text": text, "entries": null, "prize": null })
}

fn ok(answer: &Value) -> Response<Body> {
    json_with(StatusCode::OK, answer)
}

fn json_with(status: StatusCode, answer: &Value) -> Response<Body> {
    respond(status, "application/json", answer.to_string())
}

fn unavailable() -> Response<Body> {
    html(
        StatusCode::SERVICE_UNAVAILABLE,
        "<h1>Service unavailable</h1>",
    )
}

fn html(status: StatusCode, page: &'static str) -> Response<Body> {
    respond(status, "text/html; charset=utf-8", page)
}

/// Promises more bytes than it sends, then closes the connection.
fn broken() -> Response<Body> {
    let parts = [Ok(Bytes::from_static(b"{")), Err(io::Error::other("gone"))];
    let mut response = respond(
        StatusCode::OK,
        "application/json",
        Body::from_stream(futures_util::stream::iter(parts)),
    );
    response
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from_static("100"));
    response
}

fn huge() -> Response<Body> {
    let parts = (0..HUGE_PARTS).map(|_| Ok::<_, Infallible>(HUGE_PART));
    respond(
        StatusCode::OK,
        "application/json",
        Body::from_stream(futures_util::stream::iter(parts)),
    )
}

/// Endless spaces, which JSON may begin with.
fn drip(every: Duration) -> Response<Body> {
    let parts = futures_util::stream::unfold((), move |()| async move {
        tokio::time::sleep(every).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
    });
    respond(StatusCode::OK, "application/json", Body::from_stream(parts))
}

fn respond(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Body>,
) -> Response<Body> {
    let header: (HeaderName, HeaderValue) = (CONTENT_TYPE, HeaderValue::from_static(content_type));
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().extend([header]);
    response
}
