//! The operator's console: pages that `ops console` serves on the operator's own machine, with the operator's own
//! credentials. None of it is deployed.
//!
//! - [`serve`] runs it for the command; [`Server`] is the server itself, for tests;
//! - `safety` checks every request, and `access` has the token and the cookie; `browser` opens the link;
//! - `pages` has a module for each page, with a `routes` function; what they share is in `state`, `layout`, `form` and `plot`;
//! - `assets` are the style and the scripts.
//!
//! Every write goes through the functions of `ops_core` that the command line calls, on tables that refuse a write without a
//! row in the audit log.

mod access;
mod assets;
mod browser;
mod failure;
mod form;
mod layout;
mod pages;
mod plot;
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

/// Serves the console until Ctrl-C, SIGTERM or a closed terminal, or until it was not used for [`IDLE_LIMIT`]. Prints the link to it.
/// Fails if the link was used twice.
pub fn serve<'a>(
    settings: ConsoleSettings,
    out: &'a mut (dyn Write + Send),
) -> BoxFuture<'a, Result<String, Failure>> {
    async move {
        let server = Server::bind(&settings).await?;
        // Before the link is printed: from then on, a signal ends the console in order.
        let stopped = futures_util::future::select_all(
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(received),
        );
        let link = server.link();
        // If the output is closed, the operator can still use the browser that opens.
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

/// Ready once a signal is received. It is heard from this call on.
fn received(kind: SignalKind) -> BoxFuture<'static, ()> {
    match signal(kind) {
        Ok(mut signals) => async move { signals.recv().await.unwrap_or_default() }.boxed(),
        // Without a handler, the signal ends the program at once.
        Err(_) => std::future::pending().boxed(),
    }
}
