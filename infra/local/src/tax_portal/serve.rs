//! The portal's replies over HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State as Shared};
use axum::http::header::{CONTENT_TYPE, HOST, LOCATION, REFERER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Response, StatusCode};
use bytes::Bytes;
use tokio::time::Instant;

use super::cases::{self, Behaviour, Case, FIRST, Paper, SWAPPED_FIRST, TIME};
use super::receipt::Receipt;
use super::{PortalState, pages};

/// Of 62,500 bytes each: 100 MB in all.
const HUGE_PARTS: usize = 1_600;
const HUGE_PART: Bytes = Bytes::from_static(&[b' '; 62_500]);

pub(super) async fn answer(
    Shared(state): Shared<Arc<PortalState>>,
    ConnectInfo(caller): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response<Body> {
    let (request, _) = request.into_parts();
    match request.uri.path() {
        "/" | "/Home/Index" => html(pages::notice("Enter the code of your receipt")),
        "/Home/Missing" => html(pages::notice("There is no such receipt")),
        "/Home/Warning" => html(pages::notice("Too many requests")),
        "/Verify/Verified" => {
            let site = Site::from_headers(&request.headers);
            lookup(&state, &site, caller, &request).await
        }
        path if split_link(path.trim_matches('/')).is_some() => html(pages::time_prompt()),
        _ => respond(StatusCode::NOT_FOUND, pages::notice("Not found")),
    }
}

/// The base URL that the caller used, always with http; redirects are absolute.
struct Site(String);

impl Site {
    fn from_headers(headers: &HeaderMap) -> Self {
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or("localhost");
        Self(format!("http://{host}"))
    }

    fn redirect(&self, path: &str) -> Response<Body> {
        redirect(&format!("{}{path}", self.0))
    }
}

async fn lookup(
    state: &PortalState,
    site: &Site,
    caller: SocketAddr,
    request: &Parts,
) -> Response<Body> {
    let link = request
        .headers
        .get(REFERER)
        .and_then(|page| page.to_str().ok());
    let link = link.and_then(|page| page.strip_prefix(&site.0)?.strip_prefix('/'));
    let Some((code, _)) = link.and_then(split_link) else {
        return site.redirect("/Home/Index");
    };
    if state.is_too_quick(caller.ip(), Instant::now()) {
        return site.redirect("/Home/Warning");
    }
    let nth = state.count(code);
    let shop = |(case, index)| Some((case, state.options.shops.get(index)?));
    let Some((case, shop)) = cases::of(code).and_then(shop) else {
        return site.redirect("/Home/Missing");
    };
    let secret = request
        .uri
        .query()
        .and_then(|query| query.strip_prefix("Secret="));
    let is_right_time = secret.is_some_and(|secret| secret.replace("%3A", ":") == TIME);
    let today = (state.options.today)();
    let receipt = |paper| Receipt::new(code, shop, paper, today);
    let found = |paper| match is_right_time {
        true => html(page(paper, &receipt(paper))),
        false => wrong_time(site, case, link),
    };
    let another = || {
        let code = format!("OTHR{}", code.get(4..).unwrap_or_default());
        html(pages::receipt(&Receipt {
            code,
            ..receipt(Paper::Wanted)
        }))
    };
    match case.behaviour {
        Behaviour::Found(paper) => found(paper),
        Behaviour::Late if nth <= FIRST => site.redirect("/Home/Missing"),
        Behaviour::Busy if nth <= FIRST => site.redirect("/Home/Warning"),
        Behaviour::Down if nth <= FIRST => unavailable(),
        Behaviour::Swapped if nth <= SWAPPED_FIRST => another(),
        Behaviour::Late | Behaviour::Busy | Behaviour::Down | Behaviour::Swapped => {
            found(Paper::Wanted)
        }
        Behaviour::Missing => site.redirect("/Home/Missing"),
        Behaviour::Dead => unavailable(),
        Behaviour::Hanging => {
            tokio::time::sleep(state.options.hang_for).await;
            unavailable()
        }
        Behaviour::AlwaysSwapped => another(),
        Behaviour::OtherLayout => html(pages::other_layout(&receipt(Paper::Wanted))),
        Behaviour::Empty => html(String::new()),
        Behaviour::Huge => huge(),
        Behaviour::Loop => site.redirect(&request.uri.to_string()),
        Behaviour::Away => redirect("http://elsewhere.invalid/Verify/Verified"),
        Behaviour::Refused => site.redirect("/Home/Index"),
    }
}

fn page(paper: Paper, receipt: &Receipt) -> String {
    if paper == Paper::OlderPage {
        pages::older_receipt(receipt)
    } else {
        pages::receipt(receipt)
    }
}

/// The portal asks for the time again, in place or on the page that the receipt's QR code points to.
fn wrong_time(site: &Site, case: &Case, link: Option<&str>) -> Response<Body> {
    if case.prefix == "TIME" {
        return html(pages::time_prompt());
    }
    site.redirect(&format!("/{}", link.unwrap_or_default()))
}

/// Splits `<CODE>_<HHMMSS>`.
fn split_link(link: &str) -> Option<(&str, &str)> {
    let (code, time) = link.split_once('_')?;
    let is_code = code.len() >= 6
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let is_time = time.len() == 6 && time.bytes().all(|byte| byte.is_ascii_digit());
    (is_code && is_time).then_some((code, time))
}

fn html(page: String) -> Response<Body> {
    respond(StatusCode::OK, page)
}

fn unavailable() -> Response<Body> {
    respond(
        StatusCode::SERVICE_UNAVAILABLE,
        pages::notice("Service unavailable"),
    )
}

fn respond(status: StatusCode, page: impl Into<Body>) -> Response<Body> {
    with_header(
        status,
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        page.into(),
    )
}

fn redirect(location: &str) -> Response<Body> {
    with_header(StatusCode::FOUND, (LOCATION, location), Body::empty())
}

fn with_header(
    status: StatusCode,
    (name, value): (HeaderName, &str),
    body: Body,
) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
    response
}

fn huge() -> Response<Body> {
    let parts = (0..HUGE_PARTS).map(|_| Ok::<_, Infallible>(HUGE_PART));
    respond(
        StatusCode::OK,
        Body::from_stream(futures_util::stream::iter(parts)),
    )
}
