use serde_json::Value;

use super::markdown::{field, fields, heading, table};
use super::{Source, at, linked, text_of, texts};

const PLACES: [(&str, &str); 7] = [
    (
        "/docs/endpoints/campaign",
        "Campaign CampaignStatus CampaignReceipt PhotoType ProductRange Product Branch",
    ),
    ("/docs/endpoints/codes", "Precheck PrecheckResult"),
    (
        "/docs/endpoints/submissions",
        "Submission ReceiptRecord Upstream SubmissionList SubmissionListEntry Channel Claimed ClaimedItem",
    ),
    (
        "/docs/endpoints/receipts",
        "Receipt ReceiptType ReceiptState UploadTarget",
    ),
    (
        "/docs/outcomes",
        "SubmissionState ReviewStatus DisplayStatus",
    ),
    ("/docs/errors", "ErrorBody Error FieldProblem ErrorCode"),
    ("/docs/webhooks", "WebhookEvent EventType"),
];

pub(super) fn of_page(source: &Source<'_>, path: &str) -> String {
    let names = PLACES.iter().find(|(page, _)| *page == path);
    let names = names.into_iter().flat_map(|(_, names)| names.split(' '));
    names.map(|name| object(source, name)).collect()
}

pub(super) fn place_of(name: &str) -> String {
    if name == "MessageKey" {
        return "/docs/outcomes#message-keys".to_owned();
    }
    let mut places = PLACES.iter();
    let page = places.find(|(_, names)| names.split(' ').any(|other| other == name));
    format!(
        "{}#{name}",
        page.map_or("/docs/endpoints", |(page, _)| page)
    )
}

fn object(source: &Source<'_>, name: &str) -> String {
    let schema = source.schema(name);
    let description = text_of(schema, "description");
    let code = |value: &str| format!("`{value}`");
    if schema.get("properties").is_some() {
        let title = heading(2, name, &format!("The {name} object"));
        let fields = fields(name, &field_lines(schema, Side::Answered));
        return format!("{title}{description}\n\n{fields}");
    }
    let values_of = match schema.get("x-enumDescriptions") {
        Some(meanings) => {
            let row = |value| vec![code(value), text_of(meanings, value).to_owned()];
            let rows = table(&["Value", "Meaning"], values(schema).map(row));
            format!(":::table {name} Values of {name}\n{rows}")
        }
        None => values(schema).map(code).collect::<Vec<_>>().join(", ") + "\n\n",
    };
    format!("{}{description}\n\n{values_of}", heading(2, name, name))
}

fn values(schema: &Value) -> impl Iterator<Item = &str> {
    texts(at(schema, &["enum"])).chain(texts(at(schema, &["x-known-values"])))
}

/// Replies always have their fields, so none is marked as required.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sent,
    Answered,
}

pub(super) fn field_lines(schema: &Value, side: Side) -> String {
    let required: Vec<&str> = texts(at(schema, &["required"])).collect();
    let line = |name: &str| {
        let schema = at(schema, &["properties", name]);
        let note = match (required.contains(&name), side) {
            (true, Side::Sent) => "required",
            (true, Side::Answered) => "",
            (false, _) => "optional",
        };
        let inside = field_lines(schema, side);
        field(
            name,
            &kind(schema),
            note,
            text_of(schema, "description"),
            &inside,
        )
    };
    texts(at(schema, &["x-order"])).map(line).collect()
}

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
    // Without limits that no real value reaches.
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
