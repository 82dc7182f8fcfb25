//! The server, on this machine only, until stopped or idle.

use std::net::Ipv4Addr;

use axum::middleware;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::access::Access;
use crate::prelude::*;
use crate::{browser, failure, pages, safety};

const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// Requests are refused exactly from the limit on.
const IDLE_CHECK: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Stopped,
    Idle,
    /// A second browser used the link.
    LinkUsedTwice,
}

/// Bound to a port, not serving yet.
pub struct Server {
    listener: TcpListener,
    console: Console,
    link: String,
}

impl Server {
    /// Fails without the stack's variables or credentials.
    pub async fn bind(settings: &ConsoleSettings) -> Result<Self, Failure> {
        let taken = |error| {
            let message = format!(
                "port {} of 127.0.0.1 cannot be used: {error}; leave --port out to get a free one",
                settings.port
            );
            Failure::new("port_taken", message)
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port))
            .await
            .map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let (access, token) = Access::new(address.port(), settings.clock.now());
        let console = Console::new(settings, address.to_string(), access).await?;
        Ok(Self {
            listener,
            console,
            link: format!("http://{address}{}#{token}", safety::OPEN),
        })
    }

    pub fn link(&self) -> &str {
        &self.link
    }

    pub(crate) fn open_browser(&self) {
        if let Ok(page) = browser::open(&self.console.env, &self.link) {
            self.console.access.keep(page);
        }
    }

    /// Serves until `stopped`, [`crate::IDLE_LIMIT`] without use, or a second use of the link.
    pub async fn run(self, stopped: impl Future<Output = ()>) -> Ended {
        let Self {
            listener, console, ..
        } = self;
        let (stop, mut stopping) = watch::channel(false);
        let graceful = async move {
            // The sender was dropped.
            let _ = stopping.wait_for(|stop| *stop).await;
        };
        let router = router(console.clone());
        let serving = tokio::spawn(async move {
            let served = axum::serve(listener, router).with_graceful_shutdown(graceful);
            // Accepting recovers from errors, so this ends only on a stop.
            let _ = served.await;
        });
        let ended = tokio::select! {
            () = stopped => Ended::Stopped,
            () = idle(&console) => Ended::Idle,
            () = console.access.presented_again() => Ended::LinkUsedTwice,
        };
        console.access.close_link();
        // Without receivers it has already stopped.
        let _ = stop.send(true);
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, serving).await;
        console.freezes.give_up_all(&console).await;
        ended
    }
}

async fn idle(console: &Console) {
    while !console.access.is_idle(console.now()) {
        tokio::time::sleep(IDLE_CHECK).await;
    }
}

fn router(console: Console) -> Router {
    pages::routes()
        .merge(safety::routes())
        .merge(assets::routes())
        .fallback(failure::no_such_page)
        .method_not_allowed_fallback(failure::no_such_page)
        .layer(middleware::from_fn(pages::answer))
        .layer(middleware::from_fn_with_state(
            console.clone(),
            safety::check,
        ))
        .with_state(console)
}
