//! What every emulator shares: a listener on a loopback port that serves until it is stopped or dropped.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use chrono::{DateTime, Utc};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Tells the time of day, for what is stored with an object or a message.
pub type WallClock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// How long requests under way may take once the stack stops: a caller that went silent in the middle
/// of an upload would hold it up for ever.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// A listener that does not serve yet; its endpoint is known already.
pub(crate) struct Loopback {
    listener: TcpListener,
    pub(crate) endpoint: String,
    pub(crate) stopping: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
}

/// A listener that serves. Dropping it stops it too, without waiting for the requests under way.
pub(crate) struct Served {
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Loopback {
    /// Listens on a port; 0 picks a free one.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let (stop, stopping) = watch::channel(false);
        Ok(Self { listener, endpoint, stopping, stop })
    }

    pub(crate) fn serve(self, router: Router) -> Served {
        let Self { listener, stopping, stop, .. } = self;
        let serving = tokio::spawn(async move {
            // It ends when told to; accepting never fails for good.
            let _ = axum::serve(listener, router).with_graceful_shutdown(stopped(stopping)).await;
        });
        Served { stop, serving }
    }
}

impl Served {
    /// Lets the requests under way finish, then returns.
    pub(crate) async fn stop(self) {
        // Without receivers it has stopped already.
        let _ = self.stop.send(true);
        let _ = tokio::time::timeout(LAST_REQUESTS, self.serving).await;
    }
}

/// Waits until the listener is told to stop, or is dropped.
pub(crate) async fn stopped(mut stopping: watch::Receiver<bool>) {
    // An error means that the one who could tell is gone.
    let _ = stopping.wait_for(|stop| *stop).await;
}
