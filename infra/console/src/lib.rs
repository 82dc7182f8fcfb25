//! The operator's console: pages that `ops console` serves on the operator's machine, with the
//! operator's credentials. None of it is deployed.
//!
//! - [`serve`] runs it for the command; [`Server`] is the server itself, for tests;
//! - `safety` checks every request; `access` has token and cookie; `browser` opens the link;
//! - `pages` has a module for each page; `state`, `layout`, `form`, `download`, `once` and `plot` have
//!   what they share;
//! - `assets` has the style and the scripts.
//!
//! Every write goes through functions of `ops_core`, on tables that refuse a write without a row in
//! the audit log.

mod access;
mod assets;
mod browser;
mod download;
mod failure;
mod form;
mod layout;
mod once;
mod pages;
mod plot;
mod prelude;
mod safety;
mod server;
mod state;

use std::io::Write;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ops_core::ConsoleSettings;
use ops_core::failure::Failure;
use tokio::signal::unix::{SignalKind, signal};

pub use self::access::IDLE_LIMIT;
pub use self::server::{Ended, Server};

/// Prints a link and serves the console until Ctrl-C, SIGTERM, a closed terminal, or [`IDLE_LIMIT`]
/// without use. Fails if the link was used twice.
pub fn serve<'a>(
    settings: ConsoleSettings,
    out: &'a mut (dyn Write + Send),
) -> BoxFuture<'a, Result<String, Failure>> {
    async move {
        let server = Server::bind(&settings).await?;
        // Before the link is printed: a signal then ends the console in order.
        let stopped = futures_util::future::select_all(
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(received),
        );
        let link = server.link();
        // If the output is closed, the opened browser still works.
        let _ = writeln!(out, "The console is open at {link} (Ctrl-C ends it)").and_then(|()| out.flush());
        if settings.opens_browser {
            server.open_browser();
        }
        match server.run(stopped.map(drop)).await {
            Ended::Stopped => Ok("The console ended.".to_owned()),
            Ended::Idle => {
                let minutes = IDLE_LIMIT.as_secs() / 60;
                Ok(format!("The console ended, because it was not used for {minutes} minutes."))
            }
            Ended::LinkUsedTwice => {
                let message = "the console ended, because its link was used twice: another program or person may have had it, and \
                               your rights, until now. If you did not open it twice yourself, look at `ops audit list` for what \
                               you did not do; run `ops console` again";
                Err(Failure::new("link_used_twice", message))
            }
        }
    }
    .boxed()
}

/// Listens from this call on.
fn received(kind: SignalKind) -> BoxFuture<'static, ()> {
    match signal(kind) {
        Ok(mut signals) => async move { signals.recv().await.unwrap_or_default() }.boxed(),
        // Without a handler, the signal ends the program.
        Err(_) => std::future::pending().boxed(),
    }
}
