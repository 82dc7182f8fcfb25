//! Runs what serves tests on threads of its own: a test's own runtime ends with the test, and stands still
//! while the test waits.

use tokio::sync::oneshot;

/// Something that serves until this is dropped. It ends then, its thread and its sockets with it: files that
/// may be open at once are few on many machines.
pub(crate) struct Serving {
    _end: oneshot::Sender<()>,
}

/// Runs something on a thread and a runtime of its own.
pub(crate) fn on_a_thread(serving: impl Future<Output = ()> + Send + 'static) -> Serving {
    let (end, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(async {
            tokio::select! {
                () = serving => {}
                // Nothing is ever sent: an error means that nobody needs it any more.
                _ = ended => {}
            }
        });
    });
    Serving { _end: end }
}
