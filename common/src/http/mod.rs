//! HTTP: reading API Gateway's events, and every reply in the contract's shape.

pub mod body;
pub mod event;
pub mod function;
pub mod language;
pub mod receipt;
pub mod reply;
pub mod request;
pub mod routes;
pub mod submission;
