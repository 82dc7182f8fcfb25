//! The reference pages, made out of the description: what it says is what they say.
//!
//! `layout` is what all pages share, `text` turns words into markup, `sample` shows JSON and commands; the
//! other modules are a page each.

mod errors;
mod layout;
mod lists;
mod objects;
mod operations;
mod overview;
mod sample;
mod text;

use maud::Markup;
use serde_json::Value;

use crate::File;

/// A page: its path, its name in the navigation, and what makes it.
struct Page {
    path: &'static str,
    name: &'static str,
    render: fn(&Source<'_>) -> Markup,
}

/// What pages are made from.
struct Source<'a> {
    description: &'a Value,
    /// Where the API is served, without a slash at the end.
    base_url: &'a str,
}

const PAGES: [Page; 7] = [
    Page { path: "/docs", name: "Overview", render: overview::render },
    Page { path: "/docs/operations", name: "Operations", render: operations::render },
    Page { path: "/docs/objects", name: "Objects", render: objects::render },
    Page { path: "/docs/errors", name: "Errors", render: errors::render },
    Page { path: "/docs/sentinels", name: "Test mode", render: lists::sentinels },
    Page { path: "/docs/limits", name: "Limits", render: lists::limits },
    Page { path: "/docs/changes", name: "Changes", render: lists::changes },
];

/// Where the pages are.
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.path)
}

/// The page at a path.
pub(crate) fn render(path: &str, description: &Value, base_url: &str) -> File {
    let [overview, ..] = &PAGES;
    let page = PAGES.iter().find(|page| page.path == path).unwrap_or(overview);
    let content = (page.render)(&Source { description, base_url });
    File {
        content_type: "text/html; charset=utf-8",
        body: layout::around(page, content).into_string(),
        policy: Some(layout::policy()),
    }
}

impl Source<'_> {
    /// A part of the description, by JSON Pointer.
    fn part(&self, pointer: &str) -> &Value {
        self.description.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// A schema, by name.
    fn schema(&self, name: &str) -> &Value {
        self.part(&format!("/components/schemas/{name}"))
    }

    /// What a link leads to, or the value itself when it is none.
    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match text_of(value, "$ref").strip_prefix('#') {
            Some(pointer) => self.part(pointer),
            None => value,
        }
    }
}

/// A part of a part; null when there is none.
fn at<'v>(value: &'v Value, names: &[&str]) -> &'v Value {
    names.iter().try_fold(value, |value, name| value.get(name)).unwrap_or(&Value::Null)
}

/// A text of an object; empty when there is none.
fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The members of an object.
fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// The texts of a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The name of a schema that a link leads to.
fn linked(value: &Value) -> Option<&str> {
    text_of(value, "$ref").rsplit_once('/').map(|(_, name)| name)
}
