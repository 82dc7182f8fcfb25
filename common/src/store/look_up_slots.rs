//! Slots of look-ups at the tax authority, in the `rate_limits` table: one pace for all environments, and the scope
//! that had the last turn.
//!
//! A slot is taken by a conditional write over the one before, so two environments never take the same. If an
//! environment dies after taking a slot, that slot stays unused, and the next one is free an interval later.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;

use super::rate_limits::{EXPIRY, KEY, VARIABLE};
use super::record_version::{self, FIRST};
use super::table::Table;
use super::{Item, StoreError, condition_held, number, read_number, read_text, required, text};
use crate::config::{ConfigError, Env};
use crate::domain::scope::Scope;
use crate::domain::timestamp::Timestamp;

/// The key of the only record.
const LOOK_UPS: &str = "look_ups#tax_authority";
/// The attribute with the number of slots taken.
const NUMBER: &str = "slot";
/// The attribute with the time of the last slot, by the clock of the environment that took it.
const TAKEN_AT: &str = "taken_at";
/// The attribute with the scope of the last turn, as a key prefix.
const SCOPE: &str = "scope";
/// The expiry of the record: an older one decides nothing.
const RETENTION: Duration = Duration::from_hours(24);

/// The last slot taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The slot's number, from 1; 0 before the first one.
    pub number: u64,
    /// The time of taking, by the clock of the environment that took it.
    pub taken_at: Timestamp,
    /// The scope of the last turn; `None` if this build cannot read it.
    pub scope: Option<Scope>,
}

/// The result of taking a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// This environment has the slot.
    Taken(Slot),
    /// Another environment was first; this is the last slot now.
    Missed(Option<Slot>),
}

/// The slots of look-ups.
#[derive(Clone, Debug)]
pub struct LookUpSlots {
    table: Table,
}

impl LookUpSlots {
    /// Reads the table's name from the environment.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            table: Table::from_env(env, client, VARIABLE, KEY)?,
        })
    }

    /// The last slot taken; `None` after a day without look-ups.
    pub async fn last(&self) -> Result<Option<Slot>, StoreError> {
        self.table
            .get(LOOK_UPS, READING)
            .await?
            .as_ref()
            .map(read)
            .transpose()
    }

    /// Takes the slot after `last`, for a receipt of this scope.
    ///
    /// A timeline of two environments: both have seen slot 7; the first writes slot 8 on the condition that 7 is the
    /// last; the second's condition fails and returns slot 8.
    pub async fn take(
        &self,
        last: Option<&Slot>,
        scope: &Scope,
        now: Timestamp,
    ) -> Result<Take, StoreError> {
        let slot = Slot {
            number: last.map_or(1, |last| last.number.saturating_add(1)),
            taken_at: now,
            scope: Some(scope.clone()),
        };
        let update = self
            .table
            .update_item(LOOK_UPS)
            .update_expression(format!(
                "SET #slot = :next, #taken_at = :now, #scope = :scope, #expiry = :expiry, {}",
                record_version::SET
            ))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_names("#slot", NUMBER)
            .expression_attribute_names("#taken_at", TAKEN_AT)
            .expression_attribute_names("#scope", SCOPE)
            .expression_attribute_names("#expiry", EXPIRY)
            .expression_attribute_values(":next", number(slot.number))
            .expression_attribute_values(":now", number(now.as_millis()))
            .expression_attribute_values(":scope", text(scope.key("")))
            .expression_attribute_values(":expiry", number(now.after(RETENTION).as_seconds()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let error = match if_still_last(update, last).send().await {
            Ok(_) => return Ok(Take::Taken(slot)),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                Ok(Take::Missed(failed.item.as_ref().map(read).transpose()?))
            }
            Some(_) | None => Err(StoreError::new("taking a slot of the tax authority", error)),
        }
    }

    /// Records that a scope used its turn without taking a slot, unless a slot was taken since `last`.
    ///
    /// A timeline of two environments: both have seen slot 7; the first takes slot 8 for its scope; the second's
    /// condition fails, and the turn stays with the scope of slot 8.
    pub async fn pass_turn(
        &self,
        last: Option<&Slot>,
        scope: &Scope,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let update = self
            .table
            .update_item(LOOK_UPS)
            .update_expression(format!(
                "SET #scope = :scope, #expiry = :expiry, #slot = if_not_exists(#slot, :zero), #taken_at = if_not_exists(#taken_at, :zero), {}",
                record_version::SET
            ))
            .expression_attribute_values(record_version::VALUE, FIRST.attribute())
            .expression_attribute_names("#slot", NUMBER)
            .expression_attribute_names("#taken_at", TAKEN_AT)
            .expression_attribute_names("#scope", SCOPE)
            .expression_attribute_names("#expiry", EXPIRY)
            .expression_attribute_values(":zero", number(0))
            .expression_attribute_values(":scope", text(scope.key("")))
            .expression_attribute_values(":expiry", number(now.after(RETENTION).as_seconds()));
        let sent = if_still_last(update, last).send().await;
        condition_held(sent, "recording a turn at the tax authority").map(drop)
    }
}

/// Adds the condition that no slot was taken since `last`.
fn if_still_last(update: UpdateItemFluentBuilder, last: Option<&Slot>) -> UpdateItemFluentBuilder {
    match last {
        Some(last) => update
            .condition_expression("#slot = :last")
            .expression_attribute_values(":last", number(last.number)),
        None => update.condition_expression("attribute_not_exists(#slot)"),
    }
}

const READING: &str = "reading the last slot of the tax authority";

fn read(item: &Item) -> Result<Slot, StoreError> {
    let scope = read_text(item, SCOPE)
        .and_then(Scope::split_key)
        .map(|(scope, _)| scope);
    Ok(Slot {
        number: required(read_number(item, NUMBER), READING)?,
        taken_at: Timestamp::from_millis(required(read_number(item, TAKEN_AT), READING)?),
        scope,
    })
}
