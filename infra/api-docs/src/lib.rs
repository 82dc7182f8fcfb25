//! The published contract of the API: an OpenAPI description, and the pages made from it. `cargo
//! run -p api-pages` writes both to `functions/api-docs/files`, and that function serves them.
//!
//! - [`description`] generates the description from the service's types;
//! - `ordered` writes JSON in reading order;
//! - `pages` makes the pages from the description, `tables`, and the Markdown in `prose/`.

pub mod description;
mod ordered;
mod pages;
mod tables;

use crate::description::{Replies, describe};

/// Base URL in the files; the function replaces it with its deployment's.
pub const EXAMPLE_BASE_URL: &str = "https://api.example.com";

/// The files' folder, relative to this crate.
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
