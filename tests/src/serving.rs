//! Servers on separate threads: a test's runtime ends with the test, and stops while it blocks.

use tokio::sync::oneshot;

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
