//! Generates the API description in OpenAPI 3.1, from the service's reply types and from texts and examples. The
//! reference serves the generated file, so no function contains the generator.
//!
//! - `schemas` generates objects from types; `requests` has the request objects, which the service has no types for;
//! - `endpoints` has the endpoints with all replies; `headers` and `parameters` describe everything beside bodies;
//! - `info` has the introduction, `examples` the examples, `schema` the building blocks of hand-written schemas;
//! - `bruno` makes a collection of requests.

mod bruno;
mod endpoints;
mod examples;
mod headers;
mod info;
mod parameters;
mod requests;
mod schema;
mod schemas;

use reference::EXAMPLE_BASE_URL;
use reference::ordered::description_text;
use serde_json::{Value, json};

/// The description with a placeholder base URL, which the reference replaces.
pub fn describe() -> Value {
    let schemas = schemas::all();
    let docs = format!("{EXAMPLE_BASE_URL}/docs");
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "info": info::info(&docs, schemas.get("MessageKey")),
        "servers": [{
            "url": "/",
            "description": "The deployment that serves this description, production or staging.",
            "x-internal": false,
        }],
        "security": [{ "ApiKey": [] }],
        "tags": info::tags(),
        "paths": endpoints::paths(&docs),
        "components": {
            "schemas": schemas,
            "headers": headers::all(),
            "parameters": parameters::all(),
            "securitySchemes": {
                "ApiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "API key of one campaign in one environment: `svc_test_…` or `svc_live_…`. Send \
                                    it from your server only, never from a browser.",
                },
            },
        },
    })
}

/// The repository files generated from the description: path relative to this crate's folder, and text.
pub fn files() -> Vec<(String, String)> {
    let description = describe();
    let openapi = "../../functions/fallback/reference/openapi.json";
    let mut files = vec![(openapi.to_owned(), description_text(&description))];
    files.extend(bruno::files(&description));
    files
}
