//! The published contract of the API: one description in OpenAPI, and pages made from it.
//!
//! - [`openapi`] is the description, put together from the types that the service itself is made of;
//! - [`older`] turns it into the form that older generators read;
//! - `pages` makes the reference pages out of it;
//! - [`Reference`] has all that a deployment serves, each file rendered when it is first asked for.

mod description;
pub mod older;
mod pages;

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::Value;

pub use description::describe as openapi;

/// The description in OpenAPI 3.1.
const OPENAPI: &str = "/openapi.json";
/// The description in OpenAPI 3.0.
const OPENAPI_3_0: &str = "/openapi-3.0.json";

/// All that is served beside the API itself.
pub struct Reference {
    docs_base: String,
    description: OnceLock<Value>,
    rendered: Mutex<HashMap<&'static str, File>>,
}

/// One file of it.
#[derive(Clone, Debug)]
pub struct File {
    /// Its media type.
    pub content_type: &'static str,
    /// Its text.
    pub body: String,
    /// The Content-Security-Policy of a page.
    pub policy: Option<String>,
}

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
        let path = known(path)?;
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        Some(rendered.entry(path).or_insert_with(|| self.render(path)).clone())
    }

    fn render(&self, path: &str) -> File {
        let base_url = self.docs_base.strip_suffix("/docs").unwrap_or_default();
        let description = self.description.get_or_init(|| openapi(base_url));
        match path {
            OPENAPI => json(description),
            OPENAPI_3_0 => json(&older::openapi_3_0(description)),
            page => pages::render(page, description, base_url),
        }
    }
}

/// The path as a name that lives on. A page is found with a slash at the end too.
fn known(path: &str) -> Option<&'static str> {
    let is_page = |known: &&str| path.strip_suffix('/').unwrap_or(path) == *known;
    [OPENAPI, OPENAPI_3_0].into_iter().find(|known| *known == path).or_else(|| pages::paths().find(is_page))
}

fn json(description: &Value) -> File {
    File { content_type: "application/json", body: description.to_string(), policy: None }
}
