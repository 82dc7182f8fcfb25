use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{HOST, LOCATION, REFERER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::cases::{self, Behavior, FIRST, Paper, SWAPPED_FIRST, TIME};
use super::receipt::Receipt;
use super::{PortalState, pages};
use crate::simulator::{Case, respond, spaces};

/// 100 MB.
const HUGE_PARTS: usize = 1_600;

/// Longer than any client waits.
const HANG_TIME: Duration = Duration::from_secs(120);

pub(super) async fn answer(State(state): State<Arc<PortalState>>, request: Request) -> Response {
    let (request, _) = request.into_parts();
    match request.uri.path() {
        "/" | "/Home/Index" => html(pages::notice("Enter the code of your receipt")),
        "/Home/Missing" => html(pages::notice("There is no such receipt")),
        "/Home/Warning" => html(pages::notice("Too many requests")),
        "/Verify/Verified" => {
            let site = Site::from_headers(&request.headers);
            lookup(&state, &site, &request).await
        }
        path if split_link(path.trim_matches('/')).is_some() => html(pages::time_prompt()),
        _ => page_with(StatusCode::NOT_FOUND, pages::notice("Not found")),
    }
}

/// The caller's base URL, with http; redirects are absolute.
struct Site(String);

impl Site {
    fn from_headers(headers: &HeaderMap) -> Self {
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .unwrap_or("localhost");
        Self(format!("http://{host}"))
    }

    fn redirect(&self, path: &str) -> Response {
        redirect(&format!("{}{path}", self.0))
    }
}

async fn lookup(state: &PortalState, site: &Site, request: &Parts) -> Response {
    let link = request
        .headers
        .get(REFERER)
        .and_then(|page| page.to_str().ok());
    let link = link.and_then(|page| page.strip_prefix(&site.0)?.strip_prefix('/'));
    let Some((code, _)) = link.and_then(split_link) else {
        return site.redirect("/Home/Index");
    };
    if state.is_too_quick(Instant::now()) {
        return site.redirect("/Home/Warning");
    }
    let nth = state.count(code);
    let shop = |(case, index)| Some((case, state.options.shops.get(index)?));
    let Some((case, shop)) = cases::case_and_shop(code).and_then(shop) else {
        return site.redirect("/Home/Missing");
    };
    let secret = request
        .uri
        .query()
        .and_then(|query| query.strip_prefix("Secret="));
    let purchased_at = cases::purchased_at(code);
    let time = purchased_at.map_or_else(|| TIME.to_owned(), |at| at.format("%H:%M:%S").to_string());
    let is_right_time = secret.is_some_and(|secret| secret.replace("%3A", ":") == time);
    let today = purchased_at.map_or_else(&state.options.today, |at| at.date());
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
    match case.behavior {
        Behavior::Found(paper) => found(paper),
        Behavior::Late if nth <= FIRST => site.redirect("/Home/Missing"),
        Behavior::Busy if nth <= FIRST => site.redirect("/Home/Warning"),
        Behavior::Down if nth <= FIRST => unavailable(),
        Behavior::Swapped if nth <= SWAPPED_FIRST => another(),
        Behavior::Late | Behavior::Busy | Behavior::Down | Behavior::Swapped => {
            found(Paper::Wanted)
        }
        Behavior::Missing => site.redirect("/Home/Missing"),
        Behavior::Dead => unavailable(),
        Behavior::Hanging => {
            tokio::time::sleep(HANG_TIME).await;
            unavailable()
        }
        Behavior::AlwaysSwapped => another(),
        Behavior::OtherLayout => html(pages::other_layout(&receipt(Paper::Wanted))),
        Behavior::Empty => html(String::new()),
        Behavior::Huge => page_with(StatusCode::OK, spaces(HUGE_PARTS)),
        Behavior::Loop => site.redirect(&request.uri.to_string()),
        Behavior::Away => redirect("http://elsewhere.invalid/Verify/Verified"),
        Behavior::Refused => site.redirect("/Home/Index"),
    }
}

fn page(paper: Paper, receipt: &Receipt) -> String {
    if paper == Paper::OlderPage {
        pages::older_receipt(receipt)
    } else {
        pages::receipt(receipt)
    }
}

/// Asks again, in place or on the QR code's page.
fn wrong_time(site: &Site, case: &Case<Behavior>, link: Option<&str>) -> Response {
    if case.prefix == "TIME" {
        return html(pages::time_prompt());
    }
    site.redirect(&format!("/{}", link.unwrap_or_default()))
}

fn split_link(link: &str) -> Option<(&str, &str)> {
    let (code, time) = link.split_once('_')?;
    let is_code = code.len() >= 6
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let is_time = time.len() == 6 && time.bytes().all(|byte| byte.is_ascii_digit());
    (is_code && is_time).then_some((code, time))
}

fn html(page: String) -> Response {
    page_with(StatusCode::OK, page)
}

fn unavailable() -> Response {
    let page = pages::notice("Service unavailable");
    page_with(StatusCode::SERVICE_UNAVAILABLE, page)
}

fn page_with(status: StatusCode, page: impl Into<Body>) -> Response {
    respond(status, "text/html; charset=utf-8", page)
}

fn redirect(location: &str) -> Response {
    (StatusCode::FOUND, [(LOCATION, location)]).into_response()
}
