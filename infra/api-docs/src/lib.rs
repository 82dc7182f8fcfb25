//! The published contract of the API: one OpenAPI description, and the pages made from it. `cargo run -p api-pages`
//! writes both to `functions/api-docs/files`, and that function serves them.
//!
//! - [`description`] generates the description from the service's types;
//! - `ordered` writes JSON with its members in reading order;
//! - `pages` makes the pages from the description, from `tables` and from the Markdown in `prose/`.

pub mod description;
mod ordered;
mod pages;
mod tables;

use crate::description::{Replies, describe};

/// The base URL in the files; the function puts its deployment's own in its place.
pub const EXAMPLE_BASE_URL: &str = "https://api.example.com";

/// The folder of the files, relative to this crate's folder.
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
