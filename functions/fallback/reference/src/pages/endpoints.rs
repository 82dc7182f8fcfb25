//! The pages of endpoints: their parameters, bodies, replies and errors.

use common::http::routes::{ROUTES, Route};
use serde_json::Value;

use super::document::{Block, Document, Field, Grid, Heading, Language, Sample};
use super::objects::{Side, fields, kind, of_page};
use super::samples::{call, examples, source_of_id};
use super::{Source, at, linked, members, text_of, texts};
use crate::ordered;

/// The page of all endpoints, with their common parameters.
pub(super) fn all(source: &Source<'_>) -> Document {
    let row = |(route, endpoint): (&Route, &Value)| {
        let summary = text_of(endpoint, "summary");
        vec![
            format!("[{summary}]({})", place_of(endpoint)),
            format!("`{} {}`", route.method, route.path),
        ]
    };
    Document {
        title: "Endpoints".to_owned(),
        lead: "Every call carries `Authorization: Bearer <API_KEY>` from your server, never from a browser."
            .to_owned(),
        blocks: vec![
            Block::Table(Grid {
                id: None,
                label: "Endpoints".to_owned(),
                head: vec!["Endpoint".to_owned(), "Call".to_owned()],
                rows: endpoints(source).map(row).collect(),
            }),
            Block::Paragraph("Import them into your tools: [OpenAPI 3.1](/openapi.json).".to_owned()),
            Block::section("common", "Common headers and parameters"),
            Block::Paragraph("Every endpoint accepts these.".to_owned()),
            common_parameters(source),
            Block::section("reply-headers", "Reply headers"),
            Block::Paragraph("Which of them a reply has depends on the reply.".to_owned()),
            Block::Fields(reply_headers(source)),
        ],
    }
}

pub(super) fn campaign(source: &Source<'_>) -> Document {
    page(source, "Campaign", "/docs/endpoints/campaign")
}

pub(super) fn codes(source: &Source<'_>) -> Document {
    page(source, "Codes", "/docs/endpoints/codes")
}

pub(super) fn submissions(source: &Source<'_>) -> Document {
    page(source, "Submissions", "/docs/endpoints/submissions")
}

pub(super) fn receipts(source: &Source<'_>) -> Document {
    page(source, "Receipts", "/docs/endpoints/receipts")
}

/// The endpoints of a tag, and their objects.
fn page(source: &Source<'_>, tag: &str, path: &str) -> Document {
    let tags = source
        .part("/tags")
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let described = tags
        .iter()
        .find(|described| text_of(described, "name") == tag)
        .unwrap_or(&Value::Null);
    let of_tag =
        |(_, endpoint): &(&Route, &Value)| texts(at(endpoint, &["tags"])).any(|name| name == tag);
    let mut blocks: Vec<Block> = endpoints(source)
        .filter(of_tag)
        .flat_map(|(route, endpoint)| one(source, route, endpoint))
        .collect();
    blocks.extend(of_page(source, path));
    Document {
        title: tag.to_owned(),
        lead: text_of(described, "description").to_owned(),
        blocks,
    }
}

/// The endpoints, in the order of the routes.
fn endpoints<'a>(source: &'a Source<'_>) -> impl Iterator<Item = (&'static Route, &'a Value)> {
    ROUTES.iter().map(|route| {
        (
            route,
            at(
                source.part("/paths"),
                &[route.path, &route.method.to_ascii_lowercase()],
            ),
        )
    })
}

/// The link to an endpoint's section.
pub(super) fn place_of(endpoint: &Value) -> String {
    let tag = texts(at(endpoint, &["tags"]))
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    format!("/docs/endpoints/{tag}#{}", text_of(endpoint, "operationId"))
}

fn one(source: &Source<'_>, route: &Route, endpoint: &Value) -> Vec<Block> {
    let id = text_of(endpoint, "operationId");
    let request = at(endpoint, &["requestBody", "content", "application/json"]);
    let mut left = vec![Block::Paragraph(format!(
        "**{}** `{}`",
        route.method, route.path
    ))];
    left.extend(Block::paragraphs(text_of(endpoint, "description")));
    let shared = shared_parameters(source);
    let own: Vec<Field> = parameters(endpoint)
        .filter(|parameter| !shared.contains(parameter))
        .map(|parameter| parameter_field(source.resolve(parameter), id))
        .collect();
    if !own.is_empty() {
        left.push(Block::heading(
            3,
            &format!("{id}-parameters"),
            "Path and headers",
        ));
        left.push(Block::Fields(own));
    }
    if let Some(name) = linked(at(request, &["schema"])) {
        left.push(Block::heading(3, &format!("{id}-body"), "Body"));
        left.extend(body(source, name, id));
    }
    let reply = at(endpoint, &["responses", "200"]);
    left.push(Block::heading(3, &format!("{id}-reply"), "Reply"));
    let schema = at(reply, &["content", "application/json", "schema"]);
    left.push(Block::Paragraph(format!(
        "Status 200 with a {}: {}",
        kind(schema),
        lower_first(text_of(reply, "description"))
    )));
    left.push(Block::heading(3, &format!("{id}-errors"), "Errors"));
    left.push(errors(endpoint));
    vec![
        Block::Heading(Heading {
            level: 2,
            id: id.to_owned(),
            text: text_of(endpoint, "summary").to_owned(),
            note: None,
        }),
        Block::Columns {
            left,
            right: right(source, route, request, reply),
        },
    ]
}

/// The right column: each request sample with its reply, then the replies without a request sample.
fn right(source: &Source<'_>, route: &Route, request: &Value, reply: &Value) -> Vec<Block> {
    let replies = at(reply, &["content", "application/json"]);
    let (of_request, of_reply) = (at(request, &["schema"]), at(replies, &["schema"]));
    let answer = |name: &str, summary: &str| {
        json_of(
            source,
            &format!("Reply: {}", lower_first(summary)),
            &shortened(at(replies, &["examples", name, "value"])),
            of_reply,
        )
    };
    let mut requests = examples(request);
    let mut blocks = Vec::new();
    let mut shown = Vec::new();
    if let Some(from) = source_of_id(route) {
        blocks.push(Block::Paragraph(from.to_owned()));
    }
    let first = requests.next();
    blocks.push(call(
        source,
        route,
        first.map(|(_, _, example)| at(example, &["value"])),
        of_request,
    ));
    let named = first.map(|(_, _, example)| text_of(example, "x-reply"));
    let reply_to_first =
        examples(replies).find(|(name, ..)| named.is_none_or(|named| named == *name));
    if let Some((name, summary, _)) = reply_to_first {
        blocks.push(answer(name, summary));
        shown.push(name);
    }
    for (_, summary, example) in requests {
        let sent = json_of(source, "Request", at(example, &["value"]), of_request);
        let name = text_of(example, "x-reply");
        let text = text_of(at(replies, &["examples", name]), "summary");
        blocks.push(Block::Details {
            summary: format!("Request: {}", lower_first(summary)),
            blocks: vec![sent, answer(name, text)],
        });
        shown.push(name);
    }
    for (name, summary, _) in examples(replies).filter(|(name, ..)| !shown.contains(name)) {
        blocks.push(Block::Details {
            summary: format!("Reply: {}", lower_first(summary)),
            blocks: vec![answer(name, summary)],
        });
    }
    blocks
}

/// JSON as a sample, its fields in the order of the reference.
pub(super) fn json_of(source: &Source<'_>, caption: &str, value: &Value, schema: &Value) -> Block {
    let text = ordered::value(source.description, value, schema);
    Block::Code(Sample {
        caption: caption.to_owned(),
        language: Language::Json,
        text,
    })
}

/// Keeps only a few of a campaign's many messages.
fn shortened(example: &Value) -> Value {
    let mut example = example.clone();
    if let Some(Value::Object(messages)) = example.get_mut("messages") {
        messages.retain(|key, _| key == "entered" || key == "invalid");
    }
    example
}

fn body(source: &Source<'_>, name: &str, id: &str) -> Vec<Block> {
    let schema = source.schema(name);
    if schema.get("properties").is_some() {
        return vec![Block::Fields(fields(schema, id, Side::Sent))];
    }
    let kinds = at(schema, &["oneOf"])
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let one = |kind: &Value| {
        let (name, schema) = (linked(kind).unwrap_or_default(), source.resolve(kind));
        [
            Block::Paragraph(format!(
                "**{}**",
                text_of(schema, "description").trim_end_matches('.')
            )),
            Block::Fields(fields(schema, &format!("{id}.{name}"), Side::Sent)),
        ]
    };
    kinds.iter().flat_map(one).collect()
}

/// The errors of an endpoint, by status.
fn errors(endpoint: &Value) -> Block {
    let code = |code: &str| format!("[`{code}`](/docs/errors#{code})");
    let row = |(status, reply): (&str, &Value)| {
        let codes: Vec<String> = texts(at(reply, &["x-error-codes"])).map(code).collect();
        vec![status.to_owned(), codes.join(", ")]
    };
    Block::Table(Grid {
        id: None,
        label: format!("Errors of {}", text_of(endpoint, "operationId")),
        head: vec!["Status".to_owned(), "Codes".to_owned()],
        rows: members(at(endpoint, &["responses"]))
            .filter(|(status, _)| *status != "200")
            .map(row)
            .collect(),
    })
}

fn parameters(endpoint: &Value) -> impl Iterator<Item = &Value> {
    at(endpoint, &["parameters"])
        .as_array()
        .into_iter()
        .flatten()
}

/// The parameters of every endpoint.
fn shared_parameters<'a>(source: &'a Source<'_>) -> Vec<&'a Value> {
    let everywhere = |parameter: &&Value| {
        endpoints(source).all(|(_, endpoint)| parameters(endpoint).any(|taken| taken == *parameter))
    };
    endpoints(source)
        .take(1)
        .flat_map(|(_, first)| parameters(first))
        .filter(everywhere)
        .collect()
}

pub(super) fn common_parameters(source: &Source<'_>) -> Block {
    let authorization = Field {
        id: "common.Authorization".to_owned(),
        name: "Authorization".to_owned(),
        kind: "header".to_owned(),
        note: "required",
        description:
            "`Bearer <API_KEY>`. The key selects the campaign and the environment, test or live."
                .to_owned(),
        fields: Vec::new(),
    };
    let others = shared_parameters(source);
    let others = others
        .iter()
        .map(|parameter| parameter_field(source.resolve(parameter), "common"));
    Block::Fields([authorization].into_iter().chain(others).collect())
}

fn parameter_field(parameter: &Value, prefix: &str) -> Field {
    let name = text_of(parameter, "name");
    let place = text_of(parameter, "in");
    Field {
        id: format!("{prefix}.{name}"),
        name: name.to_owned(),
        kind: if place == "query" {
            "query parameter".to_owned()
        } else {
            place.to_owned()
        },
        note: if parameter.get("required").is_some() {
            "required"
        } else {
            "optional"
        },
        description: text_of(parameter, "description").to_owned(),
        fields: Vec::new(),
    }
}

fn reply_headers(source: &Source<'_>) -> Vec<Field> {
    let names = members(source.part("/components/headers")).map(|(name, _)| name);
    let names: Vec<&str> = names
        .filter(|name| !name.ends_with("-When-Counted"))
        .collect();
    names
        .into_iter()
        .map(|name| header_field(source, name))
        .collect()
}

pub(super) fn headers(source: &Source<'_>, names: &[&str]) -> Vec<Block> {
    vec![Block::Fields(
        names
            .iter()
            .map(|name| header_field(source, name))
            .collect(),
    )]
}

fn header_field(source: &Source<'_>, name: &str) -> Field {
    let header = source.part(&format!("/components/headers/{name}"));
    Field {
        id: format!("reply.{name}"),
        name: name.to_owned(),
        kind: "header".to_owned(),
        note: "",
        description: text_of(header, "description").to_owned(),
        fields: Vec::new(),
    }
}

/// Lowers the first letter, to use the text inside a sentence.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .collect();
    // A name such as `JSON` stays unchanged.
    if chars.clone().next().is_some_and(char::is_uppercase) {
        text.to_owned()
    } else {
        format!("{first}{}", chars.as_str())
    }
}
