//! The reference pages.

use maud::html;
use serde_json::Value;

use crate::File;

pub(crate) fn paths() -> [&'static str; 1] {
    ["/docs/errors"]
}

pub(crate) fn render(_page: &str, description: &Value, _base_url: &str) -> File {
    let codes = description["components"]["schemas"]["ErrorCode"]["enum"].as_array().cloned().unwrap_or_default();
    let body = html! { @for code in &codes { p id=(code.as_str().unwrap_or_default()) { } } };
    File { content_type: "text/html; charset=utf-8", body: body.into_string(), policy: None }
}
