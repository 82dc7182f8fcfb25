//! The emulators over HTTP: through AWS's own SDK, and with plain requests as browsers send them.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod browser;
mod common;
mod folder;
mod objects;
mod presigned;
mod queue_requests;
mod queues;
