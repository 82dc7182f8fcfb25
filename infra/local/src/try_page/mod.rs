//! The try page: the consumer's side of a campaign, as a brand would build it, with the server behind it.
//!
//! Only a local stack has it. The page's files are in `infra/local/try/` and meant to be read; `proxy` is the part that
//! runs on a brand's own server, so that the key never reaches a browser; `guide` lists what to try.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Response, StatusCode};
use axum::routing::any;
use common::error::{Error, ErrorCode};
use common::runtime::http_handler::Responder;
use lambda_http::aws_lambda_events::apigw::{
    ApiGatewayV2httpRequest as Event, ApiGatewayV2httpResponse as Reply,
};

use crate::demo::Demo;
use crate::gateway::{self, Gateway};

mod guide;
mod proxy;
mod sample_receipt;

pub const PATH: &str = "/try";

/// The page's files: path, media type and text.
const FILES: [(&str, &str, &str); 10] = [
    ("/try", HTML, include_str!("../../try/index.html")),
    ("/try/style.css", "text/css; charset=utf-8", include_str!("../../try/style.css")),
    ("/try/icon.svg", SVG, include_str!("../../try/icon.svg")),
    ("/try/page.js", SCRIPT, include_str!("../../try/page.js")),
    ("/try/entry.js", SCRIPT, include_str!("../../try/entry.js")),
    ("/try/api.js", SCRIPT, include_str!("../../try/api.js")),
    ("/try/photo.js", SCRIPT, include_str!("../../try/photo.js")),
    ("/try/result.js", SCRIPT, include_str!("../../try/result.js")),
    ("/try/unreachable.js", SCRIPT, include_str!("../../try/unreachable.js")),
    ("/try/words.js", SCRIPT, include_str!("../../try/words.js")),
];
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
/// The path of the guide, as JSON.
const GUIDE: &str = "/try/campaigns";
/// The picture of a receipt; `?code=` is the code printed on it.
const SAMPLE_RECEIPT: &str = "/try/receipt.svg";

/// The page and the services behind it.
pub(crate) struct TryPage {
    pub(crate) gateway: Arc<Gateway>,
    /// Renders and logs the page's own replies.
    pub(crate) responder: Responder,
    /// The campaigns to try, set once they are loaded.
    pub(crate) demos: Arc<OnceLock<Vec<Demo>>>,
    /// False in staging.
    pub(crate) takes_live_keys: bool,
    /// The origin to which browsers upload photos: scheme, host and port.
    pub(crate) storage: String,
}

impl TryPage {
    /// Routes for the page's own paths only.
    pub(crate) fn router(self) -> Router {
        Router::new().route(PATH, any(serve)).route("/try/{*path}", any(serve)).with_state(Arc::new(self))
    }

    async fn answer(&self, event: Event) -> Reply {
        let path = event.raw_path.as_deref().unwrap_or_default();
        if let Some(call) = path.strip_prefix(proxy::PREFIX) {
            let call = call.to_owned();
            return self.forward(&call, event).await;
        }
        self.file(&event).unwrap_or_else(|error| self.refuse(&event, error))
    }

    fn file(&self, event: &Event) -> Result<Reply, Error> {
        let path = event.raw_path.as_deref().unwrap_or_default();
        let query = event.raw_query_string.as_deref().unwrap_or_default();
        let (content_type, body) = match path {
            GUIDE => ("application/json", guide::as_json(self.demos(), self.takes_live_keys)),
            SAMPLE_RECEIPT => (SVG, sample_receipt::draw(query)?),
            _ => {
                let file = FILES.iter().find(|(served, ..)| *served == path);
                let (_, content_type, text) = file
                    .ok_or_else(|| Error::from(ErrorCode::NotFound).with_detail("There is no such path."))?;
                (*content_type, (*text).to_owned())
            }
        };
        if event.request_context.http.method != Method::GET {
            return Err(Error::method_not_allowed(vec!["GET"]));
        }
        let policy = HeaderValue::try_from(self.content_security_policy()).map_err(Error::internal)?;
        let headers = [
            (CONTENT_TYPE, HeaderValue::from_static(content_type)),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (CONTENT_SECURITY_POLICY, policy),
            (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        let mut reply = Reply::default();
        reply.status_code = StatusCode::OK.as_u16().into();
        reply.headers.extend(headers);
        reply.body = Some(body.into());
        Ok(reply)
    }

    /// The page loads only its own files, and talks only to its own server and to storage.
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
    gateway::into_http(page.answer(gateway::event(caller.ip(), request).await).await)
}
