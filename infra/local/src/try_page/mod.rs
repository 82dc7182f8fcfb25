//! The consumer's side, as a brand would build it. Files in `infra/local/try/` are meant to be
//! read.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Response, StatusCode};
use axum::routing::any;
use common::config::Env;
use common::domain::Environment;
use common::error::{Error, ErrorCode};
use common::http::language;
use common::runtime::http_handler::Responder;
use common::telemetry;
use flate2::Compression;
use flate2::write::GzEncoder;
use lambda_http::aws_lambda_events::apigw::{
    ApiGatewayV2httpRequest as Event, ApiGatewayV2httpResponse as Reply,
};

pub(crate) use self::events::Receivers;
use crate::demo::Demo;
use crate::gateway::{self, Gateway};
use crate::s3::etag;

mod events;
mod guide;
mod proxy;
mod sample_receipt;

pub const PATH: &str = "/try";

macro_rules! files {
    ($($name:literal)*) => {
        [
            $(($name, include_str!(concat!("../../try/", $name))),)*
            ("photo.js", include_str!("../../../clients/typescript/photo.mjs")),
        ]
    };
}

const FILES: [(&str, &str); 13] = files![
    "index.html" "style.css" "icon.svg" "page.js" "entry.js" "api.js" "kept.js" "lookup.js" "problems.js"
    "result.js" "unreachable.js" "words.js"
];
const PAGE: &str = "index.html";
const HTML: &str = "text/html; charset=utf-8";
/// `?code=` is the code printed on the receipt.
const SAMPLE_RECEIPT: &str = "receipt.png";
const LOADED: &str = r#"id="loaded">"#;

/// Pages ask for files by version, so browsers keep them.
const KEPT: &str = "public, max-age=31536000, immutable";
const ASKED_ANEW: &str = "no-cache";
const MIN_COMPRESSED_BYTES: usize = 512;

static VERSION: LazyLock<String> = LazyLock::new(|| {
    etag(FILES.map(|(_, text)| text).concat().as_bytes())
        .chars()
        .take(12)
        .collect()
});

pub(crate) struct TryPage {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) responder: Responder,
    pub(crate) demos: Arc<OnceLock<Vec<Demo>>>,
    pub(crate) takes_live_keys: bool,
    pub(crate) storage: String,
    pub(crate) env: Env,
    pub(crate) base_url: String,
    pub(crate) receivers: Receivers,
}

impl TryPage {
    pub(crate) fn router(self) -> Router {
        Router::new()
            .route(PATH, any(serve))
            .route("/try/{*path}", any(serve))
            .with_state(Arc::new(self))
    }

    async fn answer(&self, event: Event) -> Reply {
        let path = event.raw_path.as_deref().unwrap_or_default();
        let takes_gzip = takes_gzip(&event);
        let reply = if let Some(call) = path.strip_prefix(proxy::PREFIX) {
            let call = call.to_owned();
            self.forward(&call, event).await
        } else {
            let answered = if let Some(place) = path.strip_prefix(events::RECEIVER) {
                self.receive(place, &event)
            } else if let Some(place) = path.strip_prefix(events::SWITCH) {
                self.switch(place, &event).await
            } else {
                self.file(&event).await
            };
            answered.unwrap_or_else(|error| self.refuse(&event, error))
        };
        if takes_gzip { compressed(reply) } else { reply }
    }

    async fn file(&self, event: &Event) -> Result<Reply, Error> {
        let path = event.raw_path.as_deref().unwrap_or_default();
        let name = path
            .strip_prefix(PATH)
            .unwrap_or_default()
            .trim_start_matches('/');
        let in_version = name
            .strip_prefix(VERSION.as_str())
            .and_then(|name| name.strip_prefix('/'));
        let (content_type, body, cache_control) = match in_version.unwrap_or(name) {
            SAMPLE_RECEIPT => {
                let query = event.raw_query_string.as_deref().unwrap_or_default();
                ("image/png", sample_receipt::draw(query)?, ASKED_ANEW)
            }
            "" => (HTML, self.page(event).await?.into_bytes(), ASKED_ANEW),
            name => {
                let mut files = FILES.iter();
                let file = files.find(|(served, _)| *served == name && name != PAGE);
                let (_, text) = file.ok_or_else(|| {
                    Error::from(ErrorCode::NotFound).with_detail("There is no such path.")
                })?;
                let cache_control = in_version.map_or(ASKED_ANEW, |_| KEPT);
                (media_type(name), text.as_bytes().to_vec(), cache_control)
            }
        };
        // The server drops the body of a HEAD reply.
        if ![Method::GET, Method::HEAD].contains(&event.request_context.http.method) {
            return Err(Error::method_not_allowed(vec!["GET", "HEAD"]));
        }
        let policy =
            HeaderValue::try_from(self.content_security_policy()).map_err(Error::internal)?;
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static(content_type)),
            (CACHE_CONTROL, HeaderValue::from_static(cache_control)),
            (CONTENT_SECURITY_POLICY, policy),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (VARY, HeaderValue::from_static("accept-encoding")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        let mut reply = Reply::default();
        reply.status_code = StatusCode::OK.as_u16().into();
        reply.headers.extend(headers);
        reply.body = Some(body.into());
        Ok(reply)
    }

    async fn page(&self, event: &Event) -> Result<String, Error> {
        let query = event.raw_query_string.as_deref().unwrap_or_default();
        let asked: BTreeMap<_, _> = form_urlencoded::parse(query.as_bytes()).collect();
        let asked = |name| asked.get(name).map(AsRef::as_ref);
        let accepted = event
            .headers
            .get(ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok());
        let language = language::wanted(asked("language"), accepted);
        let demos = self.demos();
        let demo = demos
            .iter()
            .find(|demo| asked("campaign") == Some(demo.slug().as_str()));
        let environment = match asked("key") {
            Some("live") if self.takes_live_keys => Environment::Live,
            Some(_) | None => Environment::Test,
        };
        let first = match demo.or_else(|| demos.first()) {
            Some(demo) => {
                let campaign = self.campaign(demo, environment, language, event).await;
                Some(guide::First {
                    slug: demo.slug(),
                    environment,
                    campaign,
                })
            }
            None => None,
        };
        let guide = guide::Guide::new(demos, self.takes_live_keys, language, first);
        // No text of a campaign may end the element.
        let loaded = serde_json::to_string(&guide)
            .map_err(Error::internal)?
            .replace('<', "\\u003c");
        let [(_, page), ..] = FILES;
        let page = page.replace("\"/try/", &format!("\"{PATH}/{}/", VERSION.as_str()));
        Ok(page.replace(LOADED, &format!("{LOADED}{loaded}")))
    }

    /// Only its own files, server and storage.
    fn content_security_policy(&self) -> String {
        format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
             connect-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            self.storage
        )
    }

    fn demos(&self) -> &[Demo] {
        self.demos.get().map(Vec::as_slice).unwrap_or_default()
    }
}

async fn serve(
    State(page): State<Arc<TryPage>>,
    ConnectInfo(caller): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response<Body> {
    let event = gateway::event(caller.ip(), request).await;
    gateway::into_http(telemetry::for_target(gateway::target(&event), page.answer(event)).await)
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        Some(_) | None => "text/javascript; charset=utf-8",
    }
}

fn takes_gzip(event: &Event) -> bool {
    let accepted = event
        .headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    accepted.split(',').any(|coding| coding.trim() == "gzip")
}

fn compressed(mut reply: Reply) -> Reply {
    let Some(text) = reply
        .body
        .as_deref()
        .filter(|text| text.len() >= MIN_COMPRESSED_BYTES)
    else {
        return reply;
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to a vector does not fail.
    if let Ok(bytes) = encoder.write_all(text).and_then(|()| encoder.finish()) {
        reply
            .headers
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        reply.body = Some(bytes.into());
    }
    reply
}
