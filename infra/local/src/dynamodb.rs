//! The embedded DynamoDB.

use std::io;
use std::path::Path;
use std::time::Duration;

use dynoxide::Database;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often expired items are deleted. Nothing depends on it: every read checks expiry itself.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Serves a database on a listener until `stop` changes; it is in a file in `folder`, or in memory.
///
/// # Errors
/// If the file cannot be opened.
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
        // Any failure of the server shows in the requests that fail.
        let _ = dynoxide::server::serve_with_shutdown(listener, database, stopped(stop)).await;
        sweeping.abort();
    }))
}

async fn sweep(database: Database) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        ticks.tick().await;
        let database = database.clone();
        // The next sweep deletes items that this one could not.
        let _ = tokio::task::spawn_blocking(move || database.sweep_ttl()).await;
    }
}

pub(crate) async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the stack was dropped.
    let _ = stop.wait_for(|stop| *stop).await;
}
