//! Mints, imports and voids codes, in batches; rotates the minting key.

pub mod book;
pub mod check;
pub mod find;
pub mod import;
pub mod lines;
pub mod mint;
pub mod new_file;
pub mod rotate;
pub mod usage;
pub mod void;

/// Concurrent calls to the table while a file is imported or voided.
const AT_ONCE: usize = 32;

/// Lines of a file that are processed together.
const PART: usize = 10_000;
