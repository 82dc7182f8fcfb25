//! Shared by all emulators: a listener on a loopback port that serves until it is stopped or dropped.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use chrono::{DateTime, Utc};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The time of day stored with objects and messages.
pub type WallClock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// How long requests in flight may take after a stop: a caller that goes silent during an upload would block it
/// forever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A listener that is bound but not serving, so its endpoint is known.
pub(crate) struct Loopback {
    listener: TcpListener,
    pub(crate) endpoint: String,
    pub(crate) stopping: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
}

/// A serving listener. Dropping it also stops it, without waiting for requests in flight.
pub(crate) struct Served {
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Loopback {
    /// Port 0 picks a free one.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let (stop, stopping) = watch::channel(false);
        Ok(Self {
            listener,
            endpoint,
            stopping,
            stop,
        })
    }

    pub(crate) fn serve(self, router: Router) -> Served {
        let Self {
            listener,
            stopping,
            stop,
            ..
        } = self;
        let serving = tokio::spawn(async move {
            // Accepting connections recovers from errors, so this ends only on a stop.
            let _ = axum::serve(listener, router)
                .with_graceful_shutdown(stopped(stopping))
                .await;
        });
        Served { stop, serving }
    }
}

impl Served {
    /// Waits for requests in flight, then returns.
    pub(crate) async fn stop(self) {
        // Without receivers it has already stopped.
        let _ = self.stop.send(true);
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, self.serving).await;
    }
}

/// Waits until the listener is stopped or dropped.
pub(crate) async fn stopped(mut stopping: watch::Receiver<bool>) {
    // An error means that the sender was dropped.
    let _ = stopping.wait_for(|stop| *stop).await;
}
