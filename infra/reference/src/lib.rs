//! The published contract of the API: one description in OpenAPI, and pages made from it.
//!
//! - [`openapi`] is the description, put together from the types that the service itself is made of;
//! - [`description_text`] writes it with its members in the order in which people read them;
//! - [`older`] turns it into the form that older generators read;
//! - [`bruno`] makes a collection of requests out of it;
//! - `pages` makes the reference pages out of it;
//! - [`Reference`] has all that a deployment serves, each file rendered when it is first asked for.

pub mod bruno;
mod description;
pub mod older;
mod ordered;
mod pages;

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use common::domain::hex::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use description::describe as openapi;
pub use ordered::description as description_text;

/// All that is served beside the API itself.
pub struct Reference {
    docs_base: String,
    description: OnceLock<Value>,
    rendered: Mutex<HashMap<String, File>>,
}

/// One file of it.
#[derive(Clone, Debug)]
pub struct File {
    /// Its media type.
    pub content_type: &'static str,
    /// Its text.
    pub body: String,
    /// The Content-Security-Policy of a page.
    pub policy: Option<&'static str>,
    /// Its ETag: another one when the text is another.
    pub etag: String,
}

/// Where a file is, and what it is.
#[derive(Clone, Copy)]
enum Known {
    Openapi,
    Openapi3_0,
    Page(&'static pages::Page),
    Markdown(&'static pages::Page),
    Style,
    Script,
    SearchIndex,
    LlmsTxt,
    RobotsTxt,
    Favicon,
}

/// Files that are no page.
const FILES: [(&str, Known); 8] = [
    ("/openapi.json", Known::Openapi),
    ("/openapi-3.0.json", Known::Openapi3_0),
    ("/docs/style.css", Known::Style),
    ("/docs/script.js", Known::Script),
    ("/docs/search.json", Known::SearchIndex),
    ("/llms.txt", Known::LlmsTxt),
    ("/robots.txt", Known::RobotsTxt),
    ("/favicon.ico", Known::Favicon),
];

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const ROBOTS: &str = "User-agent: *\nDisallow: /api/\n";

impl Reference {
    /// The reference of a deployment whose pages are at this URL, without a slash at the end. The API is
    /// served where the pages are, without their `/docs`.
    pub fn new(docs_base: &str) -> Self {
        let docs_base = docs_base.to_owned();
        Self { docs_base, description: OnceLock::new(), rendered: Mutex::default() }
    }

    /// Whether there is such a file.
    pub fn has(&self, path: &str) -> bool {
        known(path).is_some()
    }

    /// The file at this path.
    pub fn file(&self, path: &str) -> Option<File> {
        let known = known(path)?;
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        Some(rendered.entry(path.to_owned()).or_insert_with(|| self.render(known)).clone())
    }

    /// The page for a path under `/docs` that has none.
    pub fn missing_page(&self, path: &str) -> Option<File> {
        path.starts_with("/docs/").then(|| File::page(pages::not_found()))
    }

    fn source(&self) -> pages::Source<'_> {
        let base_url = self.docs_base.strip_suffix("/docs").unwrap_or_default();
        pages::Source { description: self.description.get_or_init(|| openapi(base_url)), base_url }
    }

    fn render(&self, known: Known) -> File {
        let source = self.source();
        match known {
            Known::Openapi => File::new(JSON, description_text(source.description)),
            Known::Openapi3_0 => File::new(JSON, description_text(&older::openapi_3_0(source.description))),
            Known::Page(page) => File::page(page.html(&source)),
            Known::Markdown(page) => File::new(MARKDOWN, page.markdown(&source)),
            Known::Style => File::new("text/css; charset=utf-8", pages::STYLE.to_owned()),
            Known::Script => File::new("text/javascript; charset=utf-8", pages::SCRIPT.to_owned()),
            Known::SearchIndex => File::new(JSON, pages::search_index(&source)),
            Known::LlmsTxt => File::new(TEXT, pages::llms_txt(&source)),
            Known::RobotsTxt => File::new(TEXT, ROBOTS.to_owned()),
            Known::Favicon => File::new("image/svg+xml", include_str!("pages/favicon.svg").to_owned()),
        }
    }
}

impl File {
    fn new(content_type: &'static str, body: String) -> Self {
        let etag = format!("\"{}\"", digest(&body));
        Self { content_type, body, policy: None, etag }
    }

    fn page(body: String) -> Self {
        Self { policy: Some(pages::POLICY), ..Self::new(HTML, body) }
    }
}

/// A file by its path. A page is found with a slash at the end too, and as Markdown with `.md`.
fn known(path: &str) -> Option<Known> {
    if let Some((_, known)) = FILES.iter().find(|(file, _)| *file == path) {
        return Some(*known);
    }
    let page = |path: &str| pages::all().find(|page| page.path == path);
    if let Some(page) = path.strip_suffix(".md").and_then(page) {
        return Some(Known::Markdown(page));
    }
    page(path.strip_suffix('/').unwrap_or(path)).map(Known::Page)
}

/// Tells texts apart.
fn digest(text: &str) -> String {
    hex(Sha256::digest(text.as_bytes()).get(..8).unwrap_or_default())
}
