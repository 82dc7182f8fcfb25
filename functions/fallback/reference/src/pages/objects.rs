//! Objects: their fields and types, and the page that documents each.

use serde_json::Value;

use super::document::{Block, Field, Grid};
use super::{Source, at, linked, text_of, texts};

/// The objects on each page.
const PLACES: [(&str, &[&str]); 6] = [
    (
        "/docs/endpoints/campaign",
        &[
            "Campaign",
            "CampaignStatus",
            "CampaignReceipt",
            "PhotoType",
            "ProductRange",
            "Product",
            "Branch",
        ],
    ),
    ("/docs/endpoints/codes", &["Precheck", "PrecheckResult"]),
    (
        "/docs/endpoints/submissions",
        &[
            "Submission",
            "ReceiptRecord",
            "Upstream",
            "SubmissionList",
            "SubmissionListEntry",
            "Claimed",
            "ClaimedItem",
        ],
    ),
    (
        "/docs/endpoints/receipts",
        &["Receipt", "ReceiptType", "ReceiptState", "UploadTarget"],
    ),
    (
        "/docs/outcomes",
        &["SubmissionState", "ReviewStatus", "DisplayStatus"],
    ),
    (
        "/docs/errors",
        &["ErrorBody", "Error", "FieldProblem", "ErrorCode"],
    ),
];

/// The objects of a page, each under a heading.
pub(super) fn of_page(source: &Source<'_>, path: &str) -> Vec<Block> {
    let names = PLACES
        .iter()
        .find(|(page, _)| *page == path)
        .map(|(_, names)| *names)
        .unwrap_or_default();
    names.iter().flat_map(|name| object(source, name)).collect()
}

/// The link to an object's section.
pub(super) fn place_of(name: &str) -> String {
    if name == "MessageKey" {
        return "/docs/outcomes#message-keys".to_owned();
    }
    let page = PLACES
        .iter()
        .find(|(_, names)| names.contains(&name))
        .map(|(page, _)| *page);
    format!("{}#{name}", page.unwrap_or("/docs/endpoints"))
}

fn object(source: &Source<'_>, name: &str) -> Vec<Block> {
    let schema = source.schema(name);
    let title = match schema.get("properties") {
        Some(_) => format!("The {name} object"),
        None => name.to_owned(),
    };
    let mut blocks = vec![
        Block::section(name, &title),
        Block::Paragraph(text_of(schema, "description").to_owned()),
    ];
    if schema.get("properties").is_some() {
        blocks.push(Block::Fields(fields(schema, name, Side::Answered)));
    } else if let Some(meanings) = schema.get("x-enumDescriptions") {
        let row = |value: &str| vec![format!("`{value}`"), text_of(meanings, value).to_owned()];
        blocks.push(Block::Table(Grid {
            id: Some(name.to_owned()),
            label: format!("Values of {name}"),
            head: vec!["Value".to_owned(), "Meaning".to_owned()],
            rows: values(schema).map(row).collect(),
        }));
    } else {
        let values: Vec<String> = values(schema).map(|value| format!("`{value}`")).collect();
        blocks.push(Block::Paragraph(values.join(", ")));
    }
    blocks
}

/// The values of an enum: all that a request may have, or those that a reply has so far.
fn values(schema: &Value) -> impl Iterator<Item = &str> {
    texts(at(schema, &["enum"])).chain(texts(at(schema, &["x-known-values"])))
}

/// The writer of an object: caller or service. Replies do not mark fields as required, since they always have them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sent,
    Answered,
}

/// The fields of an object; their ids begin with the object's name.
pub(super) fn fields(schema: &Value, object: &str, side: Side) -> Vec<Field> {
    let required: Vec<&str> = texts(at(schema, &["required"])).collect();
    let field = |name: &str| {
        let field = at(schema, &["properties", name]);
        let id = format!("{object}.{name}");
        Field {
            name: name.to_owned(),
            kind: kind(field),
            note: match (required.contains(&name), side) {
                (true, Side::Sent) => "required",
                (true, Side::Answered) => "",
                (false, _) => "optional",
            },
            description: text_of(field, "description").to_owned(),
            fields: if field.get("properties").is_some() {
                fields(field, &id, side)
            } else {
                Vec::new()
            },
            id,
        }
    };
    texts(at(schema, &["x-order"])).map(field).collect()
}

/// The type of a value, in words.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(name) = linked(schema) {
        return format!("[{name}]({})", place_of(name));
    }
    if let Some(choices) = ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|word| schema.get(word)?.as_array())
    {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    let known: Vec<String> = values(schema).map(|value| format!("`{value}`")).collect();
    if !known.is_empty() {
        return known.join(", ");
    }
    let types: Vec<&str> = texts(at(schema, &["type"]))
        .chain([text_of(schema, "type")])
        .filter(|kind| !kind.is_empty())
        .collect();
    let mut words = types.join(" or ").replace("array", "list");
    if let Some(items) = schema.get("items") {
        words = format!(
            "{words} of {}, at most {}",
            kind(items),
            at(schema, &["maxItems"])
        );
    }
    // Limits that no real value reaches are left out.
    let is_telling = |most: &&Value| most.as_u64().is_some_and(|most| most < u64::from(u32::MAX));
    if let (Some(least), Some(most)) = (
        schema.get("minimum"),
        schema.get("maximum").filter(is_telling),
    ) {
        words = format!("{words}, {least} to {most}");
    }
    match schema.get("format").and_then(Value::as_str) {
        Some("int64") | None => match (schema.get("minLength"), schema.get("maxLength")) {
            (Some(least), Some(most)) => format!("{words}, {} characters", lengths(least, most)),
            _ => words,
        },
        Some(format) => words.replace("string", &format!("string ({format})")),
    }
}

fn lengths(least: &Value, most: &Value) -> String {
    match (least.as_u64(), most.as_u64()) {
        (Some(0), Some(most)) => format!("up to {most}"),
        (Some(least), Some(most)) if least == most => most.to_string(),
        _ => format!("{least} to {most}"),
    }
}
