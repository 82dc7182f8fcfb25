//! The console over HTTP.

mod campaigns;
mod codes;
mod demo;
mod draws;
mod freezes;
mod keys;
mod link;
pub(crate) mod overview;
mod pages;
mod prizes;
pub(crate) mod review;
mod safety;
mod submissions;
mod webhooks;

use common::clock::Clock;
use common::config::Env;
use console::{Ended, Server};
use ops_core::ConsoleSettings;
use service_tests::http::{Reply, RequestBuilder, request_to_storage};
use service_tests::operator_roles::access_key_of;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::reviewing::with_photo_reader;
use crate::support::Stack;

/// The text of a page between two others.
fn between<'a>(page: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = page.split_once(before).expect("it is there");
    rest.split(after).next().expect("it ends")
}

/// A hidden field's value.
pub(crate) fn hidden<'a>(page: &'a str, name: &str) -> &'a str {
    between(page, &format!("name=\"{name}\" value=\""), "\"")
}

/// A console of a stack's operator.
pub(crate) struct Served {
    /// `127.0.0.1:PORT`.
    pub(crate) authority: String,
    pub(crate) token: String,
    pub(crate) clock: Clock,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Ended>,
}

impl Served {
    pub(crate) async fn start(stack: &Stack) -> Self {
        // A test program cannot copy photos in its own child.
        Self::start_with(stack, with_photo_reader(stack)).await
    }

    /// Uses the credentials in these variables.
    pub(crate) async fn start_with(stack: &Stack, env: Env) -> Self {
        let clock = stack.clock.clone();
        let order = ConsoleSettings {
            env,
            clock: clock.clone(),
            port: 0,
            opens_browser: false,
        };
        let server = Server::bind(&order).await.expect("a free port");
        let (page, token) = server.link().split_once('#').expect("a fragment");
        let authority = page
            .strip_prefix("http://")
            .and_then(|page| page.strip_suffix("/open"))
            .expect("a link");
        let (authority, token) = (authority.to_owned(), token.to_owned());
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(server.run(async {
            // Dropped with the test.
            let _ = stopped.await;
        }));
        Self {
            authority,
            token,
            clock,
            stop,
            running,
        }
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> RequestBuilder {
        request_to_storage(method, format!("http://{}{path}", self.authority))
    }

    /// A request of the console's own page.
    pub(crate) fn ask_from_page(&self, method: &str, path: &str) -> RequestBuilder {
        self.ask(method, path)
            .header("sec-fetch-site", "same-origin")
    }

    /// Trades the token for the cookie.
    pub(crate) async fn sign_in(&self) -> SignedIn {
        let reply = self
            .ask_from_page("POST", "/session")
            .raw(self.token.clone())
            .await;
        assert_eq!(reply.status, 204, "{}", reply.text);
        let set = reply.headers["set-cookie"].to_str().expect("text");
        SignedIn {
            _console: None,
            authority: self.authority.clone(),
            cookie: set.split(';').next().expect("a cookie").to_owned(),
        }
    }

    pub(crate) async fn stop(self) -> Ended {
        let Self { stop, running, .. } = self;
        stop.send(()).expect("it runs");
        running.await.expect("it ends")
    }

    pub(crate) async fn ended(self) -> Ended {
        self.running.await.expect("it ends")
    }
}

pub(crate) struct SignedIn {
    _console: Option<Served>,
    pub(crate) authority: String,
    pub(crate) cookie: String,
}

impl SignedIn {
    /// The browser of the only operator of a console.
    pub(crate) async fn to(stack: &Stack) -> Self {
        Self::opened(Served::start(stack).await).await
    }

    /// The browser of an operator who has this role on a guarded stack.
    pub(crate) async fn with_role(stack: &Stack, role: &str) -> Self {
        let env = stack.env_with(&[("AWS_ACCESS_KEY_ID", &access_key_of(role))]);
        Self::opened(Served::start_with(stack, env).await).await
    }

    /// The browser of an operator with this AWS identity and name.
    pub(crate) async fn named(stack: &Stack, name: &str) -> Self {
        let env = stack.env_with(&[("AWS_ACCESS_KEY_ID", name), ("OPS_BY", name)]);
        Self::opened(Served::start_with(stack, env).await).await
    }

    async fn opened(console: Served) -> Self {
        let operator = console.sign_in().await;
        Self {
            _console: Some(console),
            ..operator
        }
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> RequestBuilder {
        request_to_storage(method, format!("http://{}{path}", self.authority))
            .header("sec-fetch-site", "same-origin")
            .header("cookie", &self.cookie)
    }

    pub(crate) async fn status(&self, method: &str, path: &str) -> u16 {
        self.ask(method, path).await.status.as_u16()
    }

    /// A page that must exist.
    pub(crate) async fn page(&self, path: &str) -> String {
        let reply = self.ask("GET", path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text);
        reply.text
    }

    /// Sends a form, and expects this status.
    pub(crate) async fn post_for(&self, status: u16, path: &str, fields: &str) -> Reply {
        let reply = self.post(path, fields).await;
        assert_eq!(reply.status, status, "{fields}: {}", reply.text);
        reply
    }

    /// Sends a form, and returns the page it leads to.
    pub(crate) async fn followed(&self, path: &str, fields: &str) -> String {
        let reply = self.post_for(303, path, fields).await;
        let location = reply.headers["location"].to_str().expect("text");
        self.page(location).await
    }

    pub(crate) async fn post(&self, path: &str, fields: &str) -> Reply {
        let form = "application/x-www-form-urlencoded";
        self.ask("POST", path)
            .header("content-type", form)
            .raw(fields.to_owned())
            .await
    }
}
