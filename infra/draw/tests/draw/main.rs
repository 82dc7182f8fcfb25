//! A draw's files as others read them.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod certificate;
mod forgeries;
mod instant;
mod sample;
mod sample_plan;
mod tampering;
