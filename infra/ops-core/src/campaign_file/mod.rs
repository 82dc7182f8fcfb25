//! Reads campaign files: YAML with the API's own field names.
//!
//! `tree` parses the text into nodes that know their lines; `fields` reads nodes and notes every problem; `campaign`,
//! `receipt` and `partner` know the fields and their rules.

mod campaign;
mod fields;
pub(crate) mod leaves;
mod page;
mod partner;
#[cfg(test)]
mod partner_tests;
mod receipt;
#[cfg(test)]
mod receipt_tests;
mod schema;
mod spec;
#[cfg(test)]
mod tests;
mod tree;
pub(crate) mod write;

use common::domain::campaign::Campaign;

pub use self::page::{page, template};
pub use self::schema::schema;
pub use crate::problem::Problem;
use crate::problem::Problems;

/// Maximum size of a file in bytes: many times what a campaign with every message needs.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Maximum entries for one submission; more would be a typing error.
pub const MAX_ENTRIES: u32 = 10_000;

/// The content of a campaign file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignFile {
    /// The campaign, with defaults for omitted fields.
    pub campaign: Campaign,
    /// Whether the file sets `paused`; if not, applying it keeps the stored value.
    pub says_paused: bool,
}

/// Reads a campaign file's text; problems name the file `name`.
///
/// # Errors
/// All problems, by line.
pub fn read(name: &str, text: &str) -> Result<CampaignFile, Vec<Problem>> {
    let problems = Problems::from_file(name);
    let file = if text.len() > MAX_BYTES {
        problems.add_line(
            1,
            format!("the file is larger than {MAX_BYTES} bytes; is it a campaign file?"),
        );
        None
    } else {
        match tree::parse(text) {
            Ok(Some(root)) => campaign::read(&root, &problems),
            Ok(None) => {
                problems.add_line(
                    1,
                    "the file is empty; write at least slug, name, brand, timezone and code",
                );
                None
            }
            Err(tree::NotATree { line, message }) => {
                problems.add_line(line, message);
                None
            }
        }
    };
    match file {
        Some(file) if problems.count() == 0 => Ok(file),
        Some(_) | None => Err(problems.into_sorted()),
    }
}

/// Reads a campaign file's bytes.
///
/// # Errors
/// All problems, by line.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<CampaignFile, Vec<Problem>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(name, text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            let problems = Problems::from_file(name);
            problems.add_line(
                line,
                "the line holds bytes that are not UTF-8; save the file as UTF-8",
            );
            Err(problems.into_sorted())
        }
    }
}
