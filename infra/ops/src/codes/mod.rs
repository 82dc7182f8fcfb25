//! Codes: minting, importing, voiding, and the batches they come in.

pub mod book;
pub mod mint;
