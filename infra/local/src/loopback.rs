use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A request that goes silent would block a stop forever.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Bound, not yet serving.
pub(crate) struct Loopback {
    listener: TcpListener,
    /// Has no trailing slash.
    pub(crate) url: String,
    pub(crate) stopping: watch::Receiver<bool>,
    stop: watch::Sender<bool>,
}

/// Dropping stops it at once.
#[derive(Debug)]
pub struct Server {
    /// Has no trailing slash.
    pub url: String,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Loopback {
    /// Port 0 picks a free one.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (stop, stopping) = watch::channel(false);
        Ok(Self {
            listener,
            url,
            stopping,
            stop,
        })
    }

    pub(crate) fn serve(self, router: Router) -> Server {
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        self.serve_with(|listener, stopping| async move {
            // Ends only on a stop: accepting connections recovers from errors.
            let _ = axum::serve(listener, service)
                .with_graceful_shutdown(stopped(stopping))
                .await;
        })
    }

    pub(crate) fn serve_with<F: Future<Output = ()> + Send + 'static>(
        self,
        serve: impl FnOnce(TcpListener, watch::Receiver<bool>) -> F,
    ) -> Server {
        Server {
            url: self.url,
            stop: self.stop,
            serving: tokio::spawn(serve(self.listener, self.stopping)),
        }
    }
}

impl Server {
    pub async fn stop(self) {
        // No receivers: already stopped.
        let _ = self.stop.send(true);
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, self.serving).await;
    }
}

pub(crate) async fn stopped(mut stopping: watch::Receiver<bool>) {
    // An error means the sender was dropped.
    let _ = stopping.wait_for(|stop| *stop).await;
}
