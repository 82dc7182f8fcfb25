//! HTTP: parsing requests, and rendering replies in the contract's shape.

pub mod body;
pub mod campaign;
pub mod code_check;
pub mod fields;
pub mod language;
pub mod lookup;
mod rate_limit_headers;
pub mod receipt;
pub mod reply;
pub mod request;
pub mod routes;
pub mod schema;
pub mod submission;
pub mod webhook;
