//! Fuzzing of everything that parses outside data.
//!
//! A target takes any bytes, hands them to a parser, and panics when something does not hold that has to hold
//! for every input. [`targets`] has all of them; [`corpus`] their samples. They are run in two ways: bounded and
//! always the same by `cargo test`, and for as long as one likes by libFuzzer. README.md says how.

pub mod corpus;
pub mod targets;
