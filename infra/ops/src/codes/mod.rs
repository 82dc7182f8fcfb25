//! Codes: minting, importing, voiding, rotating the minting key, and the batches they come in.

pub mod book;
pub mod import;
pub mod lines;
pub mod mint;
pub mod new_file;
pub mod rotate;
pub mod void;

/// Calls to the table at once when a file is imported or voided.
const AT_ONCE: usize = 32;

/// Lines of a file that are worked on together.
const PART: usize = 10_000;
