//! Servers for tests on separate threads: a test's own runtime ends with the test, and stops while the test blocks.

use tokio::sync::oneshot;

/// Stops the server on drop. Its thread and sockets end with it, because many systems allow few open files.
pub(crate) struct Serving {
    _end: oneshot::Sender<()>,
}

/// Runs a future on a new thread with its own runtime.
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
                // Nothing is ever sent: this is the sender being dropped.
                _ = ended => {}
            }
        });
    });
    Serving { _end: end }
}
