//! Fuzzing of every parser of outside data.
//!
//! A target passes bytes to a parser and panics when a property fails. [`targets`] lists them,
//! [`corpus`] reads their samples. `cargo test` runs a fixed number of inputs, libFuzzer as many as
//! you like: see README.md.

pub mod corpus;
pub mod targets;
