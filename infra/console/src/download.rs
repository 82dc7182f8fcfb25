//! Files that a browser saves.

use axum::body::Body;
use axum::http::header::CONTENT_DISPOSITION;

use crate::prelude::*;

pub(crate) const CSV: &str = "text/csv; charset=utf-8";
pub(crate) const ZIP: &str = "application/zip";

/// Scopes, draws and batches, which names of files are made of, need no quoting.
pub(crate) fn download(name: &str, content_type: &str, content: impl Into<Body>) -> Response {
    let named = format!("attachment; filename=\"{name}\"");
    let headers = [(CONTENT_TYPE, content_type), (CONTENT_DISPOSITION, &named)];
    (headers, content.into()).into_response()
}
