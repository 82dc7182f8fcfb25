//! Generates the API description in OpenAPI 3.1 from reply types, texts and examples.
//!
//! - `schemas` generates objects from types, `requests` has request objects, `schema` parts of
//!   hand-written ones;
//! - `endpoints` has endpoints and replies, `headers` and `parameters` the rest;
//! - `info` has the introduction, `examples` the examples;
//! - `replies` leaves out what would break generated clients later.

mod endpoints;
mod examples;
mod headers;
mod info;
mod parameters;
mod replies;
mod requests;
mod schema;
mod schemas;

use serde_json::{Value, json};

use crate::EXAMPLE_BASE_URL;

pub use self::replies::Replies;

/// [`EXAMPLE_BASE_URL`] stands for the deployment.
pub fn describe(replies: Replies) -> Value {
    let schemas = schemas::all(replies);
    let docs = format!("{EXAMPLE_BASE_URL}/docs");
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "info": info::info(&docs),
        "servers": [{
            "url": EXAMPLE_BASE_URL,
            "description": "The deployment that serves this description, production or staging.",
            "x-internal": false,
        }],
        "security": [{ "ApiKey": [] }],
        "tags": info::tags(),
        "paths": endpoints::paths(&docs),
        "components": {
            "schemas": schemas,
            "headers": headers::all(replies),
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
