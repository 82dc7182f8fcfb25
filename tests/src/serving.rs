//! Servers on separate threads: a test's runtime ends with the test, and stops while it blocks.

use std::net::Ipv4Addr;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A listener on a free port, and its URL.
pub async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    (listener, url)
}

/// Serves until the test ends; returns the URL.
pub async fn serve(router: Router) -> String {
    let (listener, url) = listen().await;
    tokio::spawn(axum::serve(listener, router).into_future());
    url
}

/// Stops on drop, with its thread and sockets: many systems allow few open files.
pub(crate) struct Serving {
    _end: oneshot::Sender<()>,
}

pub(crate) fn on_a_thread(serving: impl Future<Output = ()> + Send + 'static) -> Serving {
    let (end, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            tokio::select! {
                () = serving => {}
                // Nothing is sent: the sender was dropped.
                _ = ended => {}
            }
        });
    });
    Serving { _end: end }
}
