//! Reviewing, one submission after the other.
//!
//! - [`queue`] claims the next one, so that two reviewers never have the same; [`item`] is what a reviewer sees of it:
//!   [`photo`] copies its photo, [`related`] finds what may be the same;
//! - [`answer`] writes an answer, which the screen held for as long as it could be taken back;
//! - [`progress`] counts the reviewers' decisions.

pub mod answer;
pub mod item;
pub mod photo;
pub mod progress;
pub mod queue;
pub mod related;
