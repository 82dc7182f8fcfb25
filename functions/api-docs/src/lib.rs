//! The reference of `infra/api-docs`, and errors for unknown paths and methods.

mod files;

use common::app::auth::Caller;
use common::error::{Error, ErrorCode};
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes;
use common::runtime::http_handler::{BoxFuture, HttpHandler, Responder};
use http::{Response, StatusCode};
use lambda_http::Body;
use sha2::{Digest, Sha256};

use crate::files::{File, HTML, find};

/// The server in front drops the body of a HEAD reply.
const READING: [&str; 2] = ["GET", "HEAD"];
/// Time without revalidation. API replies are never stored.
const CACHE_CONTROL: &str = "public, max-age=300";
const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const EXAMPLE_BASE_URL: &str = "https://api.example.com";

const NO_PATH: &str = "Check the path against the API reference: every path of the API begins with `/api/v1/`, is in \
                       lower case and has no slash at its end.";

pub struct ApiDocs {
    responder: Responder,
}

impl ApiDocs {
    pub fn new(responder: Responder) -> Self {
        Self { responder }
    }

    fn reply(&self, request: &Request) -> Result<Reply, Error> {
        let path = request.path();
        let is_read = READING.contains(&request.method().as_str());
        let file = find(path);
        if let Some(file) = file.filter(|_| is_read) {
            return Ok(self.read(request, file));
        }
        let methods = match file {
            Some(_) => READING.to_vec(),
            None => routes::methods_of(path),
        };
        if !methods.is_empty() {
            return Err(Error::method_not_allowed(methods));
        }
        if is_read && path.starts_with("/docs/") {
            return Ok(Reply {
                status: StatusCode::NOT_FOUND,
                ..self.text(files::MISSING_PAGE)
            });
        }
        Err(Error::from(ErrorCode::NotFound)
            .with_detail("There is no such path.")
            .with_fix(NO_PATH))
    }

    fn read(&self, request: &Request, file: File) -> Reply {
        let reply = self.text(file);
        let digest = Sha256::digest(reply.body.as_bytes());
        let etag = format!("\"{}\"", hex::encode(digest.get(..8).unwrap_or_default()));
        let known = request.header("if-none-match").unwrap_or_default();
        let is_known = known
            .split(',')
            .any(|known| known.trim().trim_start_matches("W/") == etag);
        let mut reply = reply
            .with_header("etag", etag)
            .with_header("cache-control", CACHE_CONTROL.to_owned());
        if is_known {
            reply.status = StatusCode::NOT_MODIFIED;
            reply.body.clear();
        }
        reply
    }

    /// With headers that keep a page from loading or leaking anything.
    fn text(&self, File { content_type, text }: File) -> Reply {
        let base_url = self.responder.docs_base().strip_suffix("/docs");
        let text = text.replace(EXAMPLE_BASE_URL, base_url.unwrap_or(EXAMPLE_BASE_URL));
        let reply = Reply::text(content_type, text)
            .with_header("x-content-type-options", "nosniff".to_owned());
        if content_type != HTML {
            return reply;
        }
        reply
            .with_header("content-security-policy", POLICY.to_owned())
            .with_header("referrer-policy", "no-referrer".to_owned())
    }
}

impl HttpHandler for ApiDocs {
    fn name(&self) -> &'static str {
        "api-docs"
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
