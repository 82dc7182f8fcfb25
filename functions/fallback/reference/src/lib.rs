//! The published contract of the API: one description in OpenAPI, and pages made from it.
//!
//! - [`openapi`] is the description: `openapi.json`, which `infra/description` makes from the types of the service;
//! - [`openapi_3_0()`] turns it into the form that older generators read;
//! - [`ordered`] writes it with its members in the order in which people read them;
//! - `pages` makes the reference pages out of it and [`tables`];
//! - [`Reference`] has all that a deployment serves, each file rendered when it is first asked for.

mod openapi_3_0;
pub mod ordered;
mod pages;
pub mod tables;

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use common::domain::hex::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use openapi_3_0::openapi_3_0;
pub use pages::{at, text_of};

/// Stands for a deployment that is not known.
pub const EXAMPLE_BASE_URL: &str = "https://api.example.com";
/// The description for such a deployment.
const OPENAPI: &str = include_str!("../openapi.json");

/// The description, for a deployment that serves the API at this base URL, without a slash at the end; empty when it is
/// not known.
pub fn openapi(base_url: &str) -> Value {
    if base_url.is_empty() {
        return serde_json::from_str(OPENAPI).unwrap_or_default();
    }
    let text = OPENAPI.replace(EXAMPLE_BASE_URL, base_url);
    let mut description: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(server) = description.pointer_mut("/servers/0/url") {
        *server = base_url.into();
    }
    description
}

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
enum ExistingState {
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
const FILES: [(&str, ExistingState); 8] = [
    ("/openapi.json", ExistingState::Openapi),
    ("/openapi-3.0.json", ExistingState::Openapi3_0),
    ("/docs/style.css", ExistingState::Style),
    ("/docs/script.js", ExistingState::Script),
    ("/docs/search.json", ExistingState::SearchIndex),
    ("/llms.txt", ExistingState::LlmsTxt),
    ("/robots.txt", ExistingState::RobotsTxt),
    ("/favicon.ico", ExistingState::Favicon),
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

    fn render(&self, known: ExistingState) -> File {
        let source = self.source();
        match known {
            ExistingState::Openapi => File::new(JSON, ordered::description_text(source.description)),
            ExistingState::Openapi3_0 => {
                File::new(JSON, ordered::description_text(&openapi_3_0(source.description)))
            }
            ExistingState::Page(page) => File::page(page.html(&source)),
            ExistingState::Markdown(page) => File::new(MARKDOWN, page.markdown(&source)),
            ExistingState::Style => File::new("text/css; charset=utf-8", pages::STYLE.to_owned()),
            ExistingState::Script => File::new("text/javascript; charset=utf-8", pages::SCRIPT.to_owned()),
            ExistingState::SearchIndex => File::new(JSON, pages::search_index(&source)),
            ExistingState::LlmsTxt => File::new(TEXT, pages::llms_txt(&source)),
            ExistingState::RobotsTxt => File::new(TEXT, ROBOTS.to_owned()),
            ExistingState::Favicon => {
                File::new("image/svg+xml", include_str!("pages/favicon.svg").to_owned())
            }
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
fn known(path: &str) -> Option<ExistingState> {
    if let Some((_, known)) = FILES.iter().find(|(file, _)| *file == path) {
        return Some(*known);
    }
    let page = |path: &str| pages::all().find(|page| page.path == path);
    if let Some(page) = path.strip_suffix(".md").and_then(page) {
        return Some(ExistingState::Markdown(page));
    }
    page(path.strip_suffix('/').unwrap_or(path)).map(ExistingState::Page)
}

/// Tells texts apart.
fn digest(text: &str) -> String {
    hex(Sha256::digest(text.as_bytes()).get(..8).unwrap_or_default())
}
