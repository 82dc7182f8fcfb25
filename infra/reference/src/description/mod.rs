//! The description of the API: OpenAPI 3.1, put together from the types that the service itself is made
//! of, and from what only people can say.
//!
//! `schemas` has the objects, `operations` the paths with every reply, `headers` and `parameters` what goes
//! beside bodies, `info` the text for people, `tables` what it lists, `examples` the examples, and `schema`
//! the blocks that schemas are built from.

pub(crate) mod examples;
mod headers;
mod info;
pub(crate) mod meanings;
pub(crate) mod operations;
mod parameters;
mod schema;
mod schemas;
pub(crate) mod tables;

use serde_json::{Value, json};

pub(crate) use self::schema::set;

/// Stands for a deployment that is not known.
pub(crate) const SOME_BASE_URL: &str = "https://api.example.com";

/// The description, for a deployment that serves the API at this base URL, without a slash at the end.
pub fn describe(base_url: &str) -> Value {
    let server = if base_url.is_empty() { "/" } else { base_url };
    let docs = docs_of(base_url);
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
        "info": info::info(&docs),
        "servers": [{
            "url": server,
            "description": "The deployment that serves this description, production or staging.",
            "x-internal": false,
        }],
        "security": [{ "ApiKey": [] }],
        "tags": info::tags(),
        "paths": operations::paths(&docs),
        "components": {
            "schemas": schemas::all(),
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

/// Where the reference pages of the API at this base URL are, without a slash at the end.
pub(crate) fn docs_of(base_url: &str) -> String {
    format!("{}/docs", if base_url.is_empty() { SOME_BASE_URL } else { base_url })
}
