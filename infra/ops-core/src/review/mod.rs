//! Reviewing, one submission after the other.
//!
//! - [`queue`] claims the next one, so that two reviewers never have the same; [`item`] is their
//!   view of it: [`photo`] copies its photo, [`related`] finds likely duplicates;
//! - [`lookup`] asks the tax authority about a typed receipt;
//! - [`answer`] writes an answer; [`progress`] counts the decisions;
//! - [`waiting`] lists what waits, and rejects many.

pub mod answer;
pub mod item;
pub mod lookup;
pub mod photo;
pub mod progress;
pub mod queue;
pub mod related;
pub mod waiting;
