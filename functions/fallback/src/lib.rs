//! The API's default route: errors for unknown paths and wrong methods, the API description, and the reference pages
//! that every `docs_url` points to.

use common::app::auth::Caller;
use common::error::{Error, ErrorCode};
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes;
use common::runtime::http_handler::{BoxFuture, HttpHandler, Responder};
use http::{Response, StatusCode};
use lambda_http::Body;
use reference::{File, Reference};

/// The server in front (API Gateway or the local gateway) drops the body of a HEAD reply.
const READING: [&str; 2] = ["GET", "HEAD"];
/// How long a browser may show a page without revalidating it. API replies are never stored.
const CACHE_CONTROL: &str = "public, max-age=300";

/// Fix for an unknown path.
const NO_PATH: &str = "Check the path against the API reference: every path of the API begins with `/api/v1/`, is in \
                       lower case and has no slash at its end.";

pub struct Fallback {
    responder: Responder,
    reference: Reference,
}

impl Fallback {
    /// Needs no table and no key. Pages are rendered on first use.
    pub fn new(responder: Responder) -> Self {
        let reference = Reference::new(responder.docs_base());
        Self {
            responder,
            reference,
        }
    }

    fn reply(&self, request: &Request) -> Result<Reply, Error> {
        let path = request.path();
        let is_read = READING.contains(&request.method().as_str());
        let methods = if self.reference.has(path) {
            READING.to_vec()
        } else {
            routes::methods_of(path)
        };
        if let Some(file) = self.reference.file(path).filter(|_| is_read) {
            return Ok(read(request, file));
        }
        if !methods.is_empty() {
            return Err(Error::method_not_allowed(methods));
        }
        match self.reference.missing_page(path).filter(|_| is_read) {
            Some(file) => Ok(Reply {
                status: StatusCode::NOT_FOUND,
                ..text(file)
            }),
            None => Err(Error::from(ErrorCode::NotFound)
                .with_detail("There is no such path.")
                .with_fix(NO_PATH)),
        }
    }
}

/// Replies with the file, or with 304 if the reader's ETag matches.
fn read(request: &Request, file: File) -> Reply {
    let known = request.header("if-none-match").unwrap_or_default();
    let is_known = known
        .split(',')
        .any(|etag| etag.trim().trim_start_matches("W/") == file.etag);
    let etag = file.etag.clone();
    let mut reply = text(file)
        .with_header("etag", etag)
        .with_header("cache-control", CACHE_CONTROL.to_owned());
    if is_known {
        reply.status = StatusCode::NOT_MODIFIED;
        reply.body.clear();
    }
    reply
}

/// The file with headers that keep a page from loading or leaking anything, whatever its text says.
fn text(file: File) -> Reply {
    let reply = Reply::text(file.content_type, file.body)
        .with_header("x-content-type-options", "nosniff".to_owned());
    match file.policy {
        Some(policy) => reply
            .with_header("content-security-policy", policy.to_owned())
            .with_header("referrer-policy", "no-referrer".to_owned()),
        None => reply,
    }
}

impl HttpHandler for Fallback {
    fn name(&self) -> &'static str {
        "fallback"
    }

    fn responder(&self) -> &Responder {
        &self.responder
    }

    fn answer(&self, request: lambda_http::Request) -> BoxFuture<'_, Response<Body>> {
        Box::pin(async move {
            let started = self.responder.now();
            let request = Request::new(request);
            let reply = self.reply(&request);
            self.responder.reply(
                self.name(),
                &request.ids,
                started,
                &Caller::default(),
                reply,
            )
        })
    }
}
