//! A section for each error, the target of its `docs_url`.

use common::error::ErrorCode;
use common::http::reply::{Reply, status};

use super::endpoints::{json_of, place_of};
use super::error_advice::advice;
use super::markdown::{columns, heading};
use super::objects::of_page;
use super::{Source, at, members, text_of, texts};
use crate::EXAMPLE_BASE_URL;

pub(super) fn page(source: &Source<'_>) -> String {
    let sections = ErrorCode::ALL.iter().map(|code| section(source, *code));
    let mut sections: Vec<(bool, String)> = sections.collect();
    sections.sort_by_key(|(is_reserved, _)| *is_reserved);
    let sections: String = sections.into_iter().map(|(_, section)| section).collect();
    format!(
        "# Errors\n\nAn error means that your request is at fault, not the consumer; nothing is recorded then. Branch on \
         `code`. `message` and `fix` are for developers and may change. Replies without this shape come from \
         [API Gateway](/docs/gateway).\n\n{sections}{}",
        of_page(source, "/docs/errors")
    )
}

/// True if no endpoint returns it yet.
fn section(source: &Source<'_>, code: ErrorCode) -> (bool, String) {
    let name = code.as_str();
    let mut endpoints = Vec::new();
    let mut example = None;
    for (_, methods) in members(source.part("/paths")) {
        for (_, endpoint) in members(methods) {
            let reply = at(endpoint, &["responses", status(code).as_str()]);
            if texts(at(reply, &["x-error-codes"])).any(|listed| listed == name) {
                let summary = text_of(endpoint, "summary");
                endpoints.push(format!("[{summary}]({})", place_of(endpoint)));
                let examples = at(reply, &["content", "application/json", "examples"]);
                example = example.or_else(|| examples.get(name)?.get("value").cloned());
            }
        }
    }
    let example = example.or_else(|| {
        let request_id = source.part("/components/headers/X-Request-Id/schema/examples/0");
        let docs = format!("{EXAMPLE_BASE_URL}/docs");
        let reply = Reply::error(&code.into(), &docs, request_id.as_str()?);
        serde_json::from_str(&reply.body).ok()
    });
    let returned_by = match endpoints.len() {
        0 => "Reserved: no endpoint returns it yet.".to_owned(),
        8 => "Returned by every endpoint.".to_owned(),
        _ => format!("Returned by: {}.", endpoints.join(", ")),
    };
    let left = format!("{}\n\n{returned_by}\n\n", advice(code));
    let right = example.map(|value| json_of(source, "Example", &value, source.schema("ErrorBody")));
    let title = format!("`{name}` ({})", status(code).as_str());
    let section = heading(2, name, &title) + &columns(&left, &right.unwrap_or_default());
    (endpoints.is_empty(), section)
}
