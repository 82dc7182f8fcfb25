//! Makes the description of the API, in OpenAPI 3.1: from the types that the service answers with, and from texts and
//! examples for people. The reference serves the file that this writes, so that no function holds what makes it.
//!
//! - `schemas` makes the objects from their types, `requests` has those that the service has no types for;
//! - `operations` has the endpoints with every reply, `headers` and `parameters` what goes beside bodies;
//! - `info` has the text for people, `examples` the examples, `schema` the building blocks of hand-written schemas;
//! - `bruno` makes a collection of requests.

mod bruno;
mod examples;
mod headers;
mod info;
mod operations;
mod parameters;
mod requests;
mod schema;
mod schemas;

use reference::EXAMPLE_BASE_URL;
use reference::ordered::description_text;
use serde_json::{Value, json};

/// The description, for a deployment that is not known. The reference fills in where it is.
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
        "paths": operations::paths(&docs),
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

/// The files of the repository that are made from the description: path from this crate's folder, and text.
pub fn files() -> Vec<(String, String)> {
    let description = describe();
    let openapi = "../../functions/fallback/reference/openapi.json";
    let mut files = vec![(openapi.to_owned(), description_text(&description))];
    files.extend(bruno::files(&description));
    files
}
