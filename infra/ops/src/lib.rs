//! The operator's command line, and what it does as a library.

pub mod campaign_file;
pub mod campaigns;
pub mod codes;
pub mod failure;
pub mod keys;
mod problem;
pub mod tables;
#[cfg_attr(not(test), expect(dead_code))]
mod words;
