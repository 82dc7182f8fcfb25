//! The page of errors: a section for each code, the target of every `docs_url`.

use common::error::ErrorCode;
use common::http::reply::{Reply, status};
use serde_json::Value;

use super::document::{Block, Document, Heading};
use super::endpoints::{json_of, place_of};
use super::error_advice::advice;
use super::objects::of_page;
use super::{Source, at, members, text_of, texts};
use crate::EXAMPLE_BASE_URL;

pub(super) fn page(source: &Source<'_>) -> Document {
    let mut codes = ErrorCode::ALL.to_vec();
    // Reserved ones last.
    codes.sort_by_key(|code| !is_returned(source, *code));
    let mut blocks: Vec<Block> = codes
        .into_iter()
        .flat_map(|code| section(source, code))
        .collect();
    blocks.extend(of_page(source, "/docs/errors"));
    Document {
        title: "Errors".to_owned(),
        lead: "An error means that your request is at fault, not the consumer; nothing is recorded then. Branch on `code`. \
               `message` and `fix` are for developers and may change. Replies without this shape come from \
               [API Gateway](/docs/gateway)."
            .to_owned(),
        blocks,
    }
}

fn is_returned(source: &Source<'_>, code: ErrorCode) -> bool {
    let endpoints = members(source.part("/paths")).flat_map(|(_, methods)| members(methods));
    let mut replies = endpoints.flat_map(|(_, endpoint)| members(at(endpoint, &["responses"])));
    replies.any(|(_, reply)| {
        texts(at(reply, &["x-error-codes"])).any(|listed| listed == code.as_str())
    })
}

fn section(source: &Source<'_>, code: ErrorCode) -> Vec<Block> {
    let name = code.as_str();
    let mut endpoints = Vec::new();
    let mut example = None;
    for (_, methods) in members(source.part("/paths")) {
        for (_, endpoint) in members(methods) {
            let reply = at(endpoint, &["responses", status(code).as_str()]);
            if texts(at(reply, &["x-error-codes"])).any(|listed| listed == name) {
                endpoints.push(format!(
                    "[{}]({})",
                    text_of(endpoint, "summary"),
                    place_of(endpoint)
                ));
                example = example.or_else(|| {
                    reply
                        .pointer("/content/application~1json/examples")?
                        .get(name)?
                        .get("value")
                        .cloned()
                });
            }
        }
    }
    let example = example.or_else(|| {
        // A reserved code, which no endpoint has an example of.
        let base_url = if source.base_url.is_empty() {
            EXAMPLE_BASE_URL
        } else {
            source.base_url
        };
        let request_id = source
            .part("/components/headers/X-Request-Id/schema/examples/0")
            .as_str()?;
        let reply = Reply::error(&code.into(), &format!("{base_url}/docs"), request_id);
        serde_json::from_str(&reply.body).ok()
    });
    let mut left: Vec<Block> = Block::paragraphs(advice(code)).collect();
    left.push(Block::Paragraph(match endpoints.len() {
        0 => "Reserved: no endpoint returns it yet.".to_owned(),
        8 => "Returned by every endpoint.".to_owned(),
        _ => format!("Returned by: {}.", endpoints.join(", ")),
    }));
    let right =
        example.map(|value: Value| json_of(source, "Example", &value, source.schema("ErrorBody")));
    vec![
        Block::Heading(Heading {
            level: 2,
            id: name.to_owned(),
            text: format!("`{name}`"),
            note: Some(status(code).as_str().to_owned()),
        }),
        Block::Columns {
            left,
            right: right.into_iter().collect(),
        },
    ]
}
