//! The API's default route: the Error object for unknown paths and wrong methods, and the reference
//! page of errors that every `docs_url` leads to.

mod errors_page;

use common::error::{Error, ErrorCode};
use common::http::event::{HttpEvent, HttpReply};
use common::http::function::{BoxFuture, Frame, HttpFunction};
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes;

/// Where the page of errors is served.
const ERRORS_PAGE: &str = "/docs/errors";

/// The function behind the default route.
pub struct Fallback {
    frame: Frame,
}

impl Fallback {
    /// It needs no table and no key: only what stands around every reply.
    pub fn new(frame: Frame) -> Self {
        Self { frame }
    }
}

impl HttpFunction for Fallback {
    fn answer(&self, event: HttpEvent) -> BoxFuture<'_, HttpReply> {
        Box::pin(async move {
            let request = Request::from_event(event);
            let started = self.frame.now();
            self.frame.reply("fallback", &request.request_id, started, None, reply(&request))
        })
    }
}

fn reply(request: &Request) -> Result<Reply, Error> {
    let methods = match request.path.as_str() {
        ERRORS_PAGE if request.method == "GET" => return Ok(Reply::html(errors_page::render())),
        ERRORS_PAGE => vec!["GET"],
        path => routes::methods_of(path),
    };
    if methods.is_empty() {
        Err(Error::from(ErrorCode::NotFound).with_detail("There is no such path."))
    } else {
        Err(Error::method_not_allowed(methods))
    }
}
