//! The published contract of the API: one OpenAPI description, and the pages made from it.
//!
//! - [`openapi`] is the description, `openapi.json`, which `infra/description` generates from the service's types;
//! - [`ordered`] writes JSON with its members in reading order;
//! - `pages` makes the reference pages from it and from [`tables`];
//! - [`Reference`] has all files that a deployment serves, each rendered on first use.

pub mod ordered;
mod pages;
pub mod tables;

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Placeholder for the base URL of a deployment.
pub const EXAMPLE_BASE_URL: &str = "https://api.example.com";
/// The description, with [`EXAMPLE_BASE_URL`] for the deployment.
const OPENAPI: &str = include_str!("../openapi.json");

/// The description for a deployment that serves the API at this base URL, without a trailing slash. If the URL is
/// empty, the placeholder stays.
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

/// All files that are served beside the API.
pub struct Reference {
    docs_base: String,
    description: OnceLock<Value>,
    rendered: Mutex<HashMap<String, File>>,
}

#[derive(Clone, Debug)]
pub struct File {
    pub content_type: &'static str,
    pub body: String,
    /// The Content-Security-Policy; pages only.
    pub policy: Option<&'static str>,
    /// Depends on the text alone.
    pub etag: String,
}

/// The kind of a file and where its content comes from.
#[derive(Clone, Copy)]
enum FileKind {
    Openapi,
    Page(&'static pages::Page),
    Markdown(&'static pages::Page),
    Style,
    Script,
    SearchIndex,
    LlmsTxt,
    RobotsTxt,
    Favicon,
}

/// Files other than pages.
const FILES: [(&str, FileKind); 7] = [
    ("/openapi.json", FileKind::Openapi),
    ("/docs/style.css", FileKind::Style),
    ("/docs/script.js", FileKind::Script),
    ("/docs/search.json", FileKind::SearchIndex),
    ("/llms.txt", FileKind::LlmsTxt),
    ("/robots.txt", FileKind::RobotsTxt),
    ("/favicon.ico", FileKind::Favicon),
];

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const ROBOTS: &str = "User-agent: *\nDisallow: /api/\n";

impl Reference {
    /// `docs_base` is the URL of the pages, without a trailing slash; the API is at the same URL without its `/docs`.
    pub fn new(docs_base: &str) -> Self {
        let docs_base = docs_base.to_owned();
        Self {
            docs_base,
            description: OnceLock::new(),
            rendered: Mutex::default(),
        }
    }

    pub fn has(&self, path: &str) -> bool {
        known(path).is_some()
    }

    pub fn file(&self, path: &str) -> Option<File> {
        let known = known(path)?;
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        Some(
            rendered
                .entry(path.to_owned())
                .or_insert_with(|| self.render(known))
                .clone(),
        )
    }

    /// The "not found" page, for paths under `/docs`.
    pub fn missing_page(&self, path: &str) -> Option<File> {
        path.starts_with("/docs/")
            .then(|| File::page(pages::not_found()))
    }

    fn source(&self) -> pages::Source<'_> {
        let base_url = self.docs_base.strip_suffix("/docs").unwrap_or_default();
        pages::Source {
            description: self.description.get_or_init(|| openapi(base_url)),
            base_url,
        }
    }

    fn render(&self, known: FileKind) -> File {
        let source = self.source();
        match known {
            FileKind::Openapi => File::new(JSON, ordered::description_text(source.description)),
            FileKind::Page(page) => File::page(page.html(&source)),
            FileKind::Markdown(page) => File::new(MARKDOWN, page.markdown(&source)),
            FileKind::Style => File::new("text/css; charset=utf-8", pages::STYLE.to_owned()),
            FileKind::Script => {
                File::new("text/javascript; charset=utf-8", pages::SCRIPT.to_owned())
            }
            FileKind::SearchIndex => File::new(JSON, pages::search_index(&source)),
            FileKind::LlmsTxt => File::new(TEXT, pages::llms_txt(&source)),
            FileKind::RobotsTxt => File::new(TEXT, ROBOTS.to_owned()),
            FileKind::Favicon => File::new(
                "image/svg+xml",
                include_str!("pages/favicon.svg").to_owned(),
            ),
        }
    }
}

impl File {
    fn new(content_type: &'static str, body: String) -> Self {
        let etag = format!("\"{}\"", digest(&body));
        Self {
            content_type,
            body,
            policy: None,
            etag,
        }
    }

    fn page(body: String) -> Self {
        Self {
            policy: Some(pages::POLICY),
            ..Self::new(HTML, body)
        }
    }
}

/// The kind of file at a path. A page is also found with a trailing slash, and as Markdown with `.md`.
fn known(path: &str) -> Option<FileKind> {
    if let Some((_, known)) = FILES.iter().find(|(file, _)| *file == path) {
        return Some(*known);
    }
    let page = |path: &str| pages::all().find(|page| page.path == path);
    if let Some(page) = path.strip_suffix(".md").and_then(page) {
        return Some(FileKind::Markdown(page));
    }
    page(path.strip_suffix('/').unwrap_or(path)).map(FileKind::Page)
}

/// A short digest, for ETags and for the URLs of style and script.
fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()).get(..8).unwrap_or_default())
}
