//! The published contract of the API, which `cargo run -p api-pages` writes to
//! `functions/api-docs/files`.
//!
//! [`description`] is OpenAPI from the service's types; `ordered` writes JSON in reading order;
//! `pages` makes pages from it, `tables`, and `prose/`.

pub mod description;
mod ordered;
mod pages;
mod tables;

use crate::description::{Replies, describe};

/// The function replaces it with its deployment's.
pub const EXAMPLE_BASE_URL: &str = "https://api.example.com";

/// Relative to this crate.
pub const FOLDER: &str = "../../functions/api-docs/files";

pub fn files() -> Vec<(String, String)> {
    let description = describe(Replies::Open);
    let mut files = pages::files(&description);
    files.push((
        "openapi.json".to_owned(),
        ordered::description_text(&description),
    ));
    files
}
