//! The API description in OpenAPI 3.1, from reply types, texts and examples.
//!
//! `description.yaml` has texts and examples; `schemas` makes objects from types, `requests` those
//! without types; `endpoints` adds parameters, headers and errors; `replies` leaves out what would
//! break generated clients later.

mod endpoints;
mod replies;
mod requests;
mod schemas;

use std::collections::BTreeMap;

use common::domain::message::{Language, MessageKey, TextKey};
use common::domain::receipt::photo::{MAX_BYTES, PhotoType};
use common::http::schema::{RequestId, Slug, Uuid};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::endpoints::{Endpoint, Refusal, Webhook};
pub use self::replies::Replies;
use self::replies::{members, open};
use crate::EXAMPLE_BASE_URL;

const SOURCE: &str = include_str!("../../description.yaml");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Source {
    info: Value,
    tags: Value,
    security_schemes: Value,
    parameters: Map<String, Value>,
    headers: Map<String, Value>,
    schemas: Map<String, Value>,
    refusals: Vec<Refusal>,
    paths: BTreeMap<String, BTreeMap<String, Endpoint>>,
    webhooks: BTreeMap<String, BTreeMap<String, Webhook>>,
}

/// Parameters with this prefix are of calls that the service makes.
const OF_WEBHOOKS: &str = "Webhook";

/// [`EXAMPLE_BASE_URL`] stands for the deployment.
pub fn describe(replies: Replies) -> Value {
    let Source {
        info,
        tags,
        security_schemes,
        mut parameters,
        mut headers,
        schemas,
        refusals,
        paths,
        webhooks,
    } = source();
    for described in parameters.values_mut().chain(headers.values_mut()) {
        add_type(&mut described["schema"]);
    }
    let id = headers
        .get("X-Request-Id")
        .and_then(|header| header.pointer("/schema/examples/0").cloned())
        .unwrap_or_default();
    if replies == Replies::Open {
        headers.values_mut().for_each(open);
        let sent = parameters.iter_mut();
        sent.filter(|(name, _)| name.starts_with(OF_WEBHOOKS))
            .for_each(|(_, parameter)| open(parameter));
    }
    let of_method = |(method, endpoint): (String, Endpoint)| {
        let endpoint = endpoint.into_value(&method, &refusals, id.as_str().unwrap_or_default());
        (method, endpoint)
    };
    let of_path = |(path, methods): (String, BTreeMap<_, _>)| {
        let methods: Map<_, _> = methods.into_iter().map(of_method).collect();
        (path, Value::Object(methods))
    };
    let of_webhook = |(name, methods): (String, BTreeMap<String, Webhook>)| {
        let methods = methods.into_iter();
        let methods: Map<_, _> = methods
            .map(|(method, call)| (method, call.into_value()))
            .collect();
        (name, Value::Object(methods))
    };
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "info": info,
        "servers": [{
            "url": EXAMPLE_BASE_URL,
            "description": "The deployment that serves this description, production or staging.",
            "x-internal": false,
        }],
        "security": [{ "ApiKey": [] }],
        "tags": tags,
        "paths": paths.into_iter().map(of_path).collect::<Map<_, _>>(),
        "webhooks": webhooks.into_iter().map(of_webhook).collect::<Map<_, _>>(),
        "components": {
            "schemas": schemas::all(replies, schemas),
            "headers": headers,
            "parameters": parameters,
            "securitySchemes": security_schemes,
        },
    })
}

#[expect(clippy::expect_used, reason = "a mistake in the file stops the build")]
fn source() -> Source {
    let mut source: Value = serde_saphyr::from_str(SOURCE).expect("description.yaml is YAML");
    fill(&mut source);
    serde_json::from_value(source).expect("description.yaml has the form of `Source`")
}

fn fill(value: &mut Value) {
    let placeholder = |text: &str| filling(text.strip_prefix("{{")?.strip_suffix("}}")?);
    match value.as_str().and_then(placeholder) {
        Some(filling) => *value = filling,
        None => members(value, &mut fill),
    }
}

fn filling(name: &str) -> Option<Value> {
    let text = |key: TextKey| (key.as_str(), key.text(Language::En));
    Some(match name {
        "max_bytes" => json!(MAX_BYTES),
        "photo_types" => json!(PhotoType::ALL),
        "messages" => TextKey::all().map(text).collect(),
        key => json!(key.parse::<MessageKey>().ok()?.text(Language::En)),
    })
}

fn add_type(schema: &mut Value) {
    let of_type = match schema["type"].as_str() {
        Some("RequestId") => schemas::of::<RequestId>(),
        Some("Slug") => schemas::of::<Slug>(),
        Some("Uuid") => schemas::of::<Uuid>(),
        Some(_) | None => return,
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.extend(of_type);
    }
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}
