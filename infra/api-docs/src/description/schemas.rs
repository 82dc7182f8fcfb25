use common::http::campaign::CampaignObject;
use common::http::code_check::PrecheckObject;
use common::http::lookup::LookupObject;
use common::http::receipt::ReceiptObject;
use common::http::reply::ErrorBody;
use common::http::submission::SubmissionObject;
use common::http::webhook::EventObject;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::replies::{Replies, open_schemas};
use super::requests::{
    CodeCheckRequest, LookupRequest, PhotoReceiptRequest, SubmissionRequest, TypedReceiptRequest,
};

/// Allows line breaks of campaigns' texts.
const WORDS: &str = "^[^\\u0000-\\u0009\\u000B-\\u001F\\u007F-\\u009F]*$";

type Contract = fn(SchemaSettings) -> SchemaSettings;

/// With those `written` by hand.
pub(crate) fn all(detail: Replies, written: Map<String, Value>) -> Map<String, Value> {
    let mut schemas = requests();
    schemas.extend(written);
    let mut answered = replies();
    if detail == Replies::Open {
        open_schemas(&mut answered, &schemas);
    }
    schemas.extend(answered);
    // Their values' names need no explanation.
    for name in ["ErrorCode", "PhotoType"] {
        schemas
            .get_mut(name)
            .and_then(Value::as_object_mut)
            .map(|schema| schema.remove("x-enumDescriptions"));
    }
    schemas
}

pub(crate) fn of<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = T::json_schema(&mut SchemaGenerator::default());
    schema.remove("description");
    std::mem::take(schema.ensure_object())
}

fn replies() -> Map<String, Value> {
    let settings = settings(SchemaSettings::for_serialize);
    let mut generator = settings
        .with_transform(RecursiveTransform(printable))
        .into_generator();
    generator.subschema_for::<CampaignObject<'_>>();
    generator.subschema_for::<PrecheckObject<'_>>();
    generator.subschema_for::<SubmissionObject<'_>>();
    generator.subschema_for::<LookupObject<'_>>();
    generator.subschema_for::<ReceiptObject>();
    generator.subschema_for::<ErrorBody<'_>>();
    generator.subschema_for::<EventObject>();
    generator.take_definitions(true)
}

fn requests() -> Map<String, Value> {
    let definitions = |contract: Contract| {
        let mut generator = settings(contract).into_generator();
        generator.subschema_for::<CodeCheckRequest>();
        generator.subschema_for::<SubmissionRequest>();
        generator.subschema_for::<LookupRequest>();
        generator.subschema_for::<PhotoReceiptRequest>();
        generator.subschema_for::<TypedReceiptRequest>();
        generator.take_definitions(true)
    };
    let mut requests = definitions(SchemaSettings::for_deserialize);
    // The serialize form has all fields in order.
    for (name, in_order) in definitions(SchemaSettings::for_serialize) {
        if let (Some(schema), Some(order)) = (requests.get_mut(&name), in_order.get("x-order")) {
            schema["x-order"] = order.clone();
        }
    }
    requests
}

fn settings(contract: Contract) -> SchemaSettings {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    contract(settings).with_transform(RecursiveTransform(complete))
}

fn complete(schema: &mut Schema) {
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        let in_one_line = text.replace('\n', " ");
        schema.insert("description".to_owned(), json!(in_one_line));
    }
    values(schema);
    choices(schema);
    if has_type(schema, "integer") {
        match schema.get("format").and_then(Value::as_str) {
            Some("uint32") => default(schema, "maximum", u32::MAX),
            Some("int64") => {
                default(schema, "minimum", i64::MIN);
                default(schema, "maximum", i64::MAX);
            }
            _ => {}
        }
        // OpenAPI has no other integer formats.
        schema.insert("format".to_owned(), json!("int64"));
    }
    if is_free_text(schema) {
        default(schema, "minLength", 0);
    }
    // JSON objects have no order; checks follow this one.
    if let (Some(_), Some(required)) = (schema.get("properties"), schema.get("required")) {
        let order = required.clone();
        default(schema, "x-order", order);
    }
}

fn printable(schema: &mut Schema) {
    if is_free_text(schema) {
        default(schema, "pattern", WORDS);
    }
}

fn is_free_text(schema: &Schema) -> bool {
    has_type(schema, "string")
        && ["const", "enum", "format"]
            .iter()
            .all(|word| schema.get(*word).is_none())
}

fn has_type(schema: &Schema, name: &str) -> bool {
    let types = schema.get("type").unwrap_or(&Value::Null);
    types == name
        || types
            .as_array()
            .is_some_and(|types| types.iter().any(|kind| kind == name))
}

fn default(schema: &mut Schema, word: &str, value: impl Into<Value>) {
    schema.ensure_object().entry(word).or_insert(value.into());
}

fn values(schema: &mut Schema) {
    let choices = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let meanings: Vec<(Value, Value)> = choices
        .filter_map(|choice| {
            Some((
                choice.get("const")?.clone(),
                choice.get("description")?.clone(),
            ))
        })
        .collect();
    if meanings.is_empty() {
        return;
    }
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert(
        "enum".to_owned(),
        meanings.iter().map(|(value, _)| value.clone()).collect(),
    );
    let by_name = |(value, meaning): (Value, Value)| Some((value.as_str()?.to_owned(), meaning));
    schema.insert(
        "x-enumDescriptions".to_owned(),
        Value::Object(meanings.into_iter().filter_map(by_name).collect()),
    );
}

fn choices(schema: &mut Schema) {
    let Some(Value::Array(outer)) = schema.get_mut("anyOf") else {
        return;
    };
    let Some(Value::Array(inner)) = outer.first_mut().and_then(|first| first.get_mut("anyOf"))
    else {
        return;
    };
    let mut inner = std::mem::take(inner);
    inner
        .iter_mut()
        .filter_map(Value::as_object_mut)
        .for_each(|choice| drop(choice.remove("description")));
    outer.splice(..1, inner);
}
