//! Reviewing, one submission after the other. [`queue`] claims the next one, so that two reviewers
//! never have the same.

pub mod answer;
pub mod item;
pub mod lookup;
pub mod photo;
pub mod progress;
pub mod queue;
pub mod related;
pub mod waiting;
