//! The API's default route: the Error object for unknown paths and wrong methods, the description of the
//! API, and the reference pages that every `docs_url` leads to.

use common::error::{Error, ErrorCode};
use common::http::event::{HttpEvent, HttpReply};
use common::http::function::{BoxFuture, Frame, HttpFunction};
use common::http::reply::Reply;
use common::http::request::Request;
use common::http::routes;
use reference::Reference;

/// The methods of pages and descriptions. Whoever sends replies leaves the body of one to HEAD away.
const READING: [&str; 2] = ["GET", "HEAD"];

/// What to look for in a path that does not exist.
const NO_PATH: &str = "Check the path against the API reference: every path of the API begins with `/api/v1/`, is in \
                       lower case and has no slash at its end.";

/// The function behind the default route.
pub struct Fallback {
    frame: Frame,
    reference: Reference,
}

impl Fallback {
    /// It needs no table and no key: only what stands around every reply. Pages are rendered when they are
    /// first asked for.
    pub fn new(frame: Frame) -> Self {
        let reference = Reference::new(frame.docs_base());
        Self { frame, reference }
    }

    fn reply(&self, request: &Request) -> Result<Reply, Error> {
        let path = request.path.as_str();
        let methods = if self.reference.has(path) { READING.to_vec() } else { routes::methods_of(path) };
        match self.reference.file(path).filter(|_| READING.contains(&request.method.as_str())) {
            Some(file) => {
                let reply = Reply::text(file.content_type, file.body);
                Ok(match file.policy {
                    Some(policy) => with_policy(reply, policy),
                    None => reply,
                })
            }
            None if methods.is_empty() => {
                Err(Error::from(ErrorCode::NotFound).with_detail("There is no such path.").with_fix(NO_PATH))
            }
            None => Err(Error::method_not_allowed(methods)),
        }
    }
}

/// What keeps a page to itself, whatever stands in it.
fn with_policy(reply: Reply, policy: String) -> Reply {
    reply
        .with_header("content-security-policy", policy)
        .with_header("referrer-policy", "no-referrer".to_owned())
        .with_header("x-content-type-options", "nosniff".to_owned())
}

impl HttpFunction for Fallback {
    fn answer(&self, event: HttpEvent) -> BoxFuture<'_, HttpReply> {
        Box::pin(async move {
            let request = Request::from_event(event);
            let started = self.frame.now();
            self.frame.reply("fallback", &request.ids, started, None, self.reply(&request))
        })
    }
}
