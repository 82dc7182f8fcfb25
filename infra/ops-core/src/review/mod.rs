//! Reviewing, one submission after the other.
//!
//! - [`queue`] claims the next one, so that two reviewers never have the same; [`item`] is their
//!   view of it: [`photo`] copies its photo, [`related`] finds likely duplicates;
//! - [`answer`] writes an answer; [`progress`] counts the decisions.

pub mod answer;
pub mod item;
pub mod photo;
pub mod progress;
pub mod queue;
pub mod related;
