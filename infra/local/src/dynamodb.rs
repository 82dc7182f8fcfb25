//! The embedded DynamoDB.

use std::io;
use std::path::Path;
use std::time::Duration;

use dynoxide::Database;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often expired items are deleted. Nothing relies on it: every read checks expiry itself.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Serves a database on a listener until `stop` changes: in a file of `folder`, or in memory.
///
/// # Errors
/// When the file cannot be opened.
pub fn serve(
    listener: TcpListener,
    folder: Option<&Path>,
    stop: watch::Receiver<bool>,
) -> io::Result<JoinHandle<()>> {
    let database = match folder {
        Some(folder) => Database::new(&folder.join("dynamodb.sqlite").to_string_lossy()),
        None => Database::memory(),
    };
    let database = database.map_err(|error| io::Error::other(error.to_string()))?;
    Ok(tokio::spawn(async move {
        let sweeping = tokio::spawn(sweep(database.clone()));
        // It ends when told to; what else could end it shows in the requests that fail.
        let _ = dynoxide::server::serve_with_shutdown(listener, database, stopped(stop)).await;
        sweeping.abort();
    }))
}

async fn sweep(database: Database) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        let database = database.clone();
        // An item that could not be deleted now is deleted by the next sweep.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

/// Waits until the stack is told to stop.
pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the stack is gone already.
    let _ = stop.wait_for(|stop| *stop).await;
}
