//! Claims of submissions that an operator reviews, in the `rate_limits` table: two reviewers never have one at the same
//! time.
//!
//! A claim is a separate record, so that it changes neither the submission nor its revision, and settling continues as
//! usual. The claim of a reviewer who leaves expires.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;

use super::rate_limits::{EXPIRY, KEY, VARIABLE};
use super::record_version::{self, FIRST};
use super::table::Table;
use super::{StoreError, condition_held, number, read_number, text};
use crate::config::{ConfigError, Env};
use crate::domain::ids::SubmissionId;
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// How long a claim lasts unless it is renewed: longer than a look at a receipt, short enough for the next reviewer to wait.
pub const CLAIM_LIFETIME: Duration = Duration::from_mins(2);

/// The result of claiming a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewClaim {
    /// This reviewer has it.
    Claimed,
    /// Another reviewer has it until then.
    HeldUntil(Timestamp),
}

/// The claims of all scopes.
#[derive(Clone, Debug)]
pub struct ReviewClaims {
    table: Table,
}

impl ReviewClaims {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// Claims a submission, or renews the claim that the holder has. `holder` names one screen of one reviewer.
    ///
    /// A timeline of two reviewers: the first writes its claim; the second's condition fails and returns the claim; two
    /// minutes later, nobody has renewed it, and the second's next try replaces it.
    pub async fn claim(
        &self,
        scope: &Scope,
        id: SubmissionId,
        holder: &str,
        now: Timestamp,
    ) -> Result<ReviewClaim, StoreError> {
        const ACTION: &str = "claiming a submission for review";
        let until = now.after(CLAIM_LIFETIME);
        let sent = self
            .table
            .update_item(key(scope, id))
            .update_expression(format!(
                "SET holder = :holder, #until = :until, #expiry = :expiry, {}",
                record_version::SET
            ))
            .condition_expression(
                "attribute_not_exists(holder) OR holder = :holder OR #until <= :now",
            )
            .expression_attribute_names("#until", "held_until")
            .expression_attribute_names("#expiry", EXPIRY)
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_values(":holder", text(holder))
            .expression_attribute_values(":until", number(until.as_millis()))
            .expression_attribute_values(":now", number(now.as_millis()))
            .expression_attribute_values(":expiry", number(until.as_seconds()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let error = match sent {
            Ok(_) => return Ok(ReviewClaim::Claimed),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                let held = failed
                    .item()
                    .and_then(|item| read_number(item, "held_until"));
                Ok(ReviewClaim::HeldUntil(
                    held.map_or(until, Timestamp::from_millis),
                ))
            }
            Some(_) | None => Err(StoreError::new(ACTION, error)),
        }
    }

    /// Ends a claim, unless another reviewer has the submission by now.
    pub async fn release(
        &self,
        scope: &Scope,
        id: SubmissionId,
        holder: &str,
    ) -> Result<(), StoreError> {
        let sent = self
            .table
            .delete_item(key(scope, id))
            .condition_expression("holder = :holder")
            .expression_attribute_values(":holder", text(holder))
            .send()
            .await;
        condition_held(sent, "releasing a submission that was claimed for review").map(drop)
    }
}

fn key(scope: &Scope, id: SubmissionId) -> String {
    format!("review_claims#{}", scope.key(id))
}
