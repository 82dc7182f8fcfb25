//! The tax authority's client over HTTP: against the simulated portal, and against servers that are none.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod requests;
mod simulator;
