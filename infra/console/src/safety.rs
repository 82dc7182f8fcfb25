//! Checks of every request, because other pages and programs on the machine can reach the port.

use axum::extract::State;
use axum::http::Method;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::middleware::Next;

use crate::access::Trade;
use crate::form;
use crate::prelude::*;

/// Trades the token in its fragment for the cookie. Has nothing else, so anyone may read it.
pub(crate) const OPEN: &str = "/open";
const SESSION: &str = "/session";
const OPEN_TO_ALL: [&str; 5] = [
    OPEN,
    SESSION,
    assets::OPEN_SCRIPT,
    assets::STYLE,
    assets::ICON,
];

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const HEADERS: [(HeaderName, &str); 7] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    (X_FRAME_OPTIONS, "DENY"),
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route(OPEN, get(open))
        .route(SESSION, post(trade))
}

/// Adds security headers to every reply.
pub(crate) async fn check(
    State(console): State<Console>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match admitted(&console, &request) {
        Ok(()) => next.run(request).await,
        Err((status, title, message)) => refusal(status, title, message),
    };
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

type Refused = (StatusCode, &'static str, &'static str);

const OTHER_HOST: Refused = (
    StatusCode::FORBIDDEN,
    "Another address",
    "Open the console by the link that ops console printed.",
);
const OTHER_SITE: Refused = (
    StatusCode::FORBIDDEN,
    "Another site",
    "This came from a page that is not the console. Open the console by the link that ops console printed.",
);
const NOT_OPENED: Refused = (
    StatusCode::UNAUTHORIZED,
    "Not open here",
    "Open the console by the link that ops console printed. A link is good once: if it was used, end the console with Ctrl-C \
     and run ops console again.",
);
/// For a form.
const NOT_SENT: Refused = (
    NOT_OPENED.0,
    NOT_OPENED.1,
    "Nothing was changed. If the console has ended, run it again with the same --port. Open its link in another tab; then reload \
     this page, so that your browser sends again what you typed.",
);
const USED_TWICE: &str = "This link was used before, so another person may have it, and the console has ended. Run ops console again.";

fn admitted(console: &Console, request: &Request) -> Result<(), Refused> {
    if !is_own_host(&console.authority, request) {
        return Err(OTHER_HOST);
    }
    if request.method() != Method::GET && !is_own_page(&console.authority, request) {
        return Err(OTHER_SITE);
    }
    let (access, now) = (&console.access, console.now());
    let not_opened = if request.method() == Method::GET {
        NOT_OPENED
    } else {
        NOT_SENT
    };
    if access.is_idle(now) {
        return Err(not_opened);
    }
    if OPEN_TO_ALL.contains(&request.uri().path()) {
        return Ok(());
    }
    // To a browser, another port is the same site, and its requests have the cookie.
    if !is_from_own_page_or_user(request) || !is_signed_in(console, request) {
        return Err(not_opened);
    }
    access.used(now);
    Ok(())
}

fn is_signed_in(console: &Console, request: &Request) -> bool {
    header(request, &COOKIE).is_some_and(|cookies| console.access.admits(cookies))
}

/// `None` if there are several values.
fn header<'a>(request: &'a Request, name: &HeaderName) -> Option<&'a str> {
    let mut values = request.headers().get_all(name).iter();
    let only = values.next().filter(|_| values.next().is_none())?;
    only.to_str().ok()
}

/// Prevents DNS rebinding: another site's name that resolves to 127.0.0.1 is not this host.
fn is_own_host(authority: &str, request: &Request) -> bool {
    let in_line = request
        .uri()
        .authority()
        .is_none_or(|named| named.as_str() == authority);
    in_line && header(request, &HOST) == Some(authority)
}

fn is_own_page(authority: &str, request: &Request) -> bool {
    if request.headers().contains_key(FETCH_SITE) {
        return is_from_own_page_or_user(request);
    }
    header(request, &ORIGIN).and_then(|origin| origin.strip_prefix("http://")) == Some(authority)
}

/// Browsers without `Sec-Fetch-Site` pass; then only the other checks decide.
fn is_from_own_page_or_user(request: &Request) -> bool {
    !request.headers().contains_key(FETCH_SITE)
        || matches!(header(request, &FETCH_SITE), Some("same-origin" | "none"))
}

async fn open() -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(html! { "Operator's console" }, [assets::OPEN_SCRIPT]))
            body.alone {
                main {
                    h1 { "Operator's console" }
                    p #state role="status" { "Opening. This needs JavaScript." }
                }
            }
        }
    };
    Html(page.into_string())
}

/// A browser with the cookie may open the link again.
async fn trade(State(console): State<Console>, request: Request) -> Response {
    let is_open = is_signed_in(&console, &request);
    let has_query = request.uri().query().is_some();
    // In the body, so that no log of addresses has it.
    let token = match form::text(request.into_body()).await {
        Ok(token) if !has_query => token,
        Ok(_) => return not_opened(),
        Err(too_long) => return too_long,
    };
    if is_open {
        return StatusCode::NO_CONTENT.into_response();
    }
    match console.access.trade(&token) {
        Trade::Cookie(cookie) => {
            console.access.used(console.now());
            (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
        }
        Trade::PresentedAgain => (StatusCode::UNAUTHORIZED, USED_TWICE).into_response(),
        Trade::Wrong => not_opened(),
    }
}

fn not_opened() -> Response {
    let (status, _, message) = NOT_OPENED;
    (status, message).into_response()
}
