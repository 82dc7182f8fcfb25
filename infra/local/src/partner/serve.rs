use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;

use super::cases::{
    ACCEPTED, Behavior, FAILURES, JSON, NOT_A_CODE, Reply, UNAVAILABLE, USED_BEFORE, WON, behavior,
    normalize,
};
use super::{PartnerOptions, Redemptions};
use crate::simulator::{SimulatorState, respond, spaces};

/// 10 MB.
const HUGE_PARTS: usize = 160;

/// The client must not follow.
const AWAY: &str = "http://169.254.169.254/";
const DRIP_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Deserialize)]
struct Question {
    reference: String,
    code: String,
    phone: String,
}

pub(super) async fn answer(
    State(state): State<Arc<SimulatorState<PartnerOptions, Redemptions>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Some((name, value)) = &state.options.secret
        && headers.get(name.as_str()).map(HeaderValue::as_bytes) != Some(value.as_bytes())
    {
        return status(401, 401, "Who are you?");
    }
    let question = serde_json::from_slice(&body).ok();
    let question = question
        .filter(|question: &Question| !question.phone.is_empty() && !question.reference.is_empty());
    let Some(Question {
        reference, code, ..
    }) = question
    else {
        return status(400, 400, "Bad request");
    };
    let nth = state.count(&reference);
    state.memory().codes.push(code.clone());
    let code = normalize(&code);
    let accept = |prize| match state.memory().redeem(&code, &reference) {
        true => accepted(prize),
        false => fixed(USED_BEFORE),
    };
    match behavior(&code) {
        Behavior::Accept => accept(None),
        Behavior::Slow => {
            let answer = accept(None);
            if nth == 1 {
                tokio::time::sleep(state.options.slow_for).await;
            }
            answer
        }
        Behavior::Down | Behavior::DownThenInvalid | Behavior::DownThenWin if nth <= FAILURES => {
            fixed(UNAVAILABLE)
        }
        Behavior::Down => accept(None),
        Behavior::Win | Behavior::DownThenWin => accept(Some("A mug")),
        Behavior::DownThenInvalid => fixed(NOT_A_CODE),
        Behavior::Flip if nth > 1 => fixed(USED_BEFORE),
        Behavior::Flip => accept(None),
        Behavior::Gone => {
            let answer = accept(None);
            if nth == 1 { broken() } else { answer }
        }
        Behavior::Fixed(reply) => fixed(reply),
    }
}

fn accepted(prize: Option<&str>) -> Response {
    let (status, text) = prize.map_or((ACCEPTED, "Accepted"), |_| (WON, "You win"));
    let body = json!({ "status": status, "text": text, "entries": 2, "prize": prize });
    respond(StatusCode::OK, JSON, body.to_string())
}

fn status(http: u16, status: i64, text: &str) -> Response {
    let body = json!({ "status": status, "text": text, "entries": null, "prize": null });
    respond(status_code(http), JSON, body.to_string())
}

fn fixed(reply: Reply) -> Response {
    match reply {
        Reply::Status(http, code, text) => status(http, code, text),
        Reply::Text(http, content_type, body) => respond(status_code(http), content_type, body),
        Reply::Huge => respond(StatusCode::OK, JSON, spaces(HUGE_PARTS)),
        Reply::Move => (StatusCode::FOUND, [(LOCATION, AWAY)]).into_response(),
        Reply::Drip => {
            // JSON may begin with spaces.
            let parts = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(b" ")));
            let parts = parts.then(async |part| {
                tokio::time::sleep(DRIP_INTERVAL).await;
                part
            });
            respond(StatusCode::OK, JSON, Body::from_stream(parts))
        }
    }
}

/// Promises more bytes than it sends.
fn broken() -> Response {
    let parts = [Ok(Bytes::from_static(b"{")), Err(io::Error::other("gone"))];
    let body = Body::from_stream(stream::iter(parts));
    ([(CONTENT_LENGTH, "100")], body).into_response()
}

fn status_code(http: u16) -> StatusCode {
    StatusCode::from_u16(http).unwrap_or_default()
}
