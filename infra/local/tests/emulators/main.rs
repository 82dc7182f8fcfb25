//! The emulators over HTTP: by AWS's SDK, and by plain requests like a browser's.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod common;
mod folder;
mod objects;
mod presigned;
mod queues;
