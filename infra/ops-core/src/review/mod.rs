//! Reviewing, one submission after the other.
//!
//! - [`queue`] claims the next one, so that two reviewers never have the same; [`item`] is what a reviewer sees of it:
//!   [`photo`] copies its photo, [`related`] finds what may be the same;
//! - [`answer`] writes an answer, which the screen held for as long as it could be taken back; [`reopen`] undoes a decision;
//! - [`progress`] counts the reviewers' decisions.

pub mod answer;
pub mod item;
pub mod photo;
pub mod progress;
pub mod queue;
pub mod related;
pub mod reopen;

use crate::failure::Failure;
use crate::tables::Tables;

/// Who reviews.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewer {
    /// The name that is recorded with a decision.
    pub by: String,
    /// The ARN of the AWS identity.
    pub identity: String,
}

impl Reviewer {
    /// The operator as a reviewer.
    pub async fn from_audit(tables: &Tables) -> Result<Self, Failure> {
        let by = tables.audit.operator_name().await?;
        Ok(Self {
            by,
            identity: tables.audit.identity().await?.to_owned(),
        })
    }
}
