//! The tax authority client against the simulated portal and misbehaving servers.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod requests;
mod simulator;
