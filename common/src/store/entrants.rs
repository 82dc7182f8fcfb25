//! The `entrants` table: one phone in one scope. Counts, entries earned, wrong codes, the blocklist.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, KeysAndAttributes, ReturnValuesOnConditionCheckFailure, Update,
};

use super::{Item, StoreError, number, read_number, text, transaction};
use crate::config::{ConfigError, Env};
use crate::domain::campaign::PhoneLimits;
use crate::domain::entrant::{Entrant, WrongCodes};
use crate::domain::moment::Moment;
use crate::domain::phone::Phone;
use crate::domain::scope::Scope;
use crate::domain::submission::Submission;

/// The partition key: scope and phone.
pub const KEY: &str = "entrant";
/// The environment variable that names the table.
pub const VARIABLE: &str = "ENTRANTS_TABLE";

/// A phone may enter while it is neither blocked nor throttled and has room in both limits.
///
/// A timeline of two submissions with room for one: both see room; the first to be written takes it;
/// the second's condition fails and brings back the counts as they are now.
const MAY_ENTER: &str = "attribute_not_exists(blocked) \
    AND (attribute_not_exists(throttled_until) OR throttled_until <= :now) \
    AND (attribute_not_exists(#day) OR #day < :daily_limit) \
    AND (attribute_not_exists(submissions) OR submissions < :total_limit)";

/// A change of a phone's log of wrong codes, on the condition that it is still as it was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guess<'a> {
    /// The phone as it was seen.
    pub(crate) seen: &'a Entrant,
    /// Its log as it is to be.
    pub(crate) after: &'a WrongCodes,
}

/// The table.
#[derive(Clone, Debug)]
pub struct Entrants {
    client: Client,
    table: String,
}

impl Entrants {
    /// The table that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self { client: client.clone(), table: env.required(VARIABLE)? })
    }

    /// The table's name, for finding its items in a batch.
    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    /// The piece of a transaction that counts one more submission, if the phone may enter. With `guess`, its
    /// code is also logged as a wrong one.
    pub(crate) fn count(
        &self,
        submission: &Submission,
        limits: PhoneLimits,
        guess: Option<Guess<'_>>,
        now: Moment,
    ) -> Result<Update, StoreError> {
        let Submission { scope, phone, day, standing, .. } = submission;
        let limit = |limit: Option<u32>| number(limit.unwrap_or(u32::MAX));
        let update = self
            .update(scope, phone)
            .expression_attribute_names("#day", day_attribute(day))
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":entries", number(standing.entries()))
            .expression_attribute_values(":now", number(now.as_millis()))
            .expression_attribute_values(":daily_limit", limit(limits.phone_daily))
            .expression_attribute_values(":total_limit", limit(limits.phone_total));
        with_guess(update, guess, "ADD submissions :one, #day :one, entries :entries", Some(MAY_ENTER))
            .build()
            .map_err(StoreError::during("counting a submission"))
    }

    /// The piece of a transaction that adds the entries of a submission just accepted.
    pub(crate) fn earn(
        &self,
        scope: &Scope,
        phone: &Phone,
        entries: u32,
        guess: Option<Guess<'_>>,
    ) -> Result<Update, StoreError> {
        let update = self.update(scope, phone).expression_attribute_values(":entries", number(entries));
        with_guess(update, guess, "ADD entries :entries", None)
            .build()
            .map_err(StoreError::during("adding entries"))
    }

    /// The piece of a transaction that gives the place of a submission just rejected back.
    pub(crate) fn give_back(
        &self,
        scope: &Scope,
        phone: &Phone,
        day: &str,
        guess: Option<Guess<'_>>,
    ) -> Result<Update, StoreError> {
        let update = self
            .update(scope, phone)
            .expression_attribute_names("#day", day_attribute(day))
            .expression_attribute_values(":minus_one", number(-1));
        with_guess(update, guess, "ADD submissions :minus_one, #day :minus_one", None)
            .build()
            .map_err(StoreError::during("giving a place back"))
    }

    /// The piece of a transaction that changes the log of wrong codes alone.
    pub(crate) fn record_guess(
        &self,
        scope: &Scope,
        phone: &Phone,
        guess: Guess<'_>,
    ) -> Result<Update, StoreError> {
        with_guess(self.update(scope, phone), Some(guess), "", None)
            .build()
            .map_err(StoreError::during("recording a wrong code"))
    }

    fn update(&self, scope: &Scope, phone: &Phone) -> UpdateBuilder {
        Update::builder()
            .table_name(&self.table)
            .key(KEY, text(item_key(scope, phone)))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// The piece of a batch that reads an entrant.
    pub(crate) fn look(&self, scope: &Scope, phone: &Phone) -> Result<KeysAndAttributes, StoreError> {
        KeysAndAttributes::builder()
            .keys(HashMap::from([(KEY.to_owned(), text(item_key(scope, phone)))]))
            .consistent_read(true)
            .build()
            .map_err(StoreError::during("reading an entrant"))
    }

    /// A phone's standing as of a day; a phone never seen has the default one.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn get(&self, scope: &Scope, phone: &Phone, day: &str) -> Result<Entrant, StoreError> {
        let reply = self
            .client
            .get_item()
            .table_name(&self.table)
            .key(KEY, text(item_key(scope, phone)))
            .consistent_read(true)
            .send()
            .await
            .map_err(StoreError::during("reading an entrant"))?;
        Ok(reply.item.as_ref().map(|item| read(item, day)).unwrap_or_default())
    }

    /// Puts a phone on the blocklist, or takes it off.
    ///
    /// # Errors
    /// When the table does not answer.
    pub async fn set_blocked(
        &self,
        scope: &Scope,
        phone: &Phone,
        blocked: bool,
        now: Moment,
    ) -> Result<(), StoreError> {
        const ACTION: &str = "changing the blocklist";
        let update = self.update(scope, phone);
        let update = if blocked {
            update
                .update_expression("SET blocked = :since")
                .expression_attribute_values(":since", number(now.as_millis()))
        } else {
            update.update_expression("REMOVE blocked")
        };
        let update = update.build().map_err(StoreError::during(ACTION))?;
        transaction::write_one(&self.client, transaction::update(update), ACTION).await.map(drop)
    }
}

/// Reads an entrant as of a day.
pub(crate) fn read(item: &Item, day: &str) -> Entrant {
    let count =
        |name: &str| read_number::<i64>(item, name).and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
    let moments =
        item.get("wrong_codes").and_then(|value| value.as_l().ok()).map(Vec::as_slice).unwrap_or_default();
    Entrant {
        blocked: item.contains_key("blocked"),
        total: count("submissions"),
        today: count(&day_attribute(day)),
        entries: read_number(item, "entries").unwrap_or(0),
        wrong_codes: moments
            .iter()
            .filter_map(|value| value.as_n().ok()?.parse().ok())
            .map(Moment::from_millis)
            .collect(),
        throttled_until: read_number(item, "throttled_until").map(Moment::from_millis),
    }
}

/// A write that does something, on a condition, and changes the log of wrong codes as well where there is a guess.
fn with_guess(
    update: UpdateBuilder,
    guess: Option<Guess<'_>>,
    besides: &str,
    condition: Option<&str>,
) -> UpdateBuilder {
    let (update, changes, as_seen) = match guess {
        Some(guess) => log_guess(update, guess),
        None => (update, String::new(), None),
    };
    let conditions: Vec<_> = condition.into_iter().chain(as_seen).collect();
    update
        .update_expression(changes + besides)
        .set_condition_expression((!conditions.is_empty()).then(|| conditions.join(" AND ")))
}

/// The values of a change of the log of wrong codes, what it says in an update expression, and its condition.
fn log_guess(mut update: UpdateBuilder, guess: Guess<'_>) -> (UpdateBuilder, String, Option<&'static str>) {
    let Guess { seen, after } = guess;
    let log = |log: &[Moment]| AttributeValue::L(log.iter().map(|at| number(at.as_millis())).collect());
    let (mut set, mut remove) = (Vec::new(), Vec::new());
    if after.log.is_empty() {
        // A phone without wrong codes has no log: see the condition.
        remove.push("wrong_codes");
    } else {
        set.push("wrong_codes = :wrong_codes");
        update = update.expression_attribute_values(":wrong_codes", log(&after.log));
    }
    match after.throttled_until {
        Some(until) => {
            set.push("throttled_until = :until");
            update = update.expression_attribute_values(":until", number(until.as_millis()));
        }
        None => remove.push("throttled_until"),
    }
    let clause = |word: &str, parts: &[&str]| match parts {
        [] => String::new(),
        parts => format!("{word} {} ", parts.join(", ")),
    };
    let changes = clause("SET", &set) + &clause("REMOVE", &remove);
    if seen.wrong_codes.is_empty() {
        return (update, changes, Some("attribute_not_exists(wrong_codes)"));
    }
    let update = update.expression_attribute_values(":seen", log(&seen.wrong_codes));
    (update, changes, Some("wrong_codes = :seen"))
}

/// Each day the phone took part has a count of its own, so that counting never needs to know which
/// day was counted last; there are no more of them than the campaign has days.
fn day_attribute(day: &str) -> String {
    format!("day:{day}")
}

fn item_key(scope: &Scope, phone: &Phone) -> String {
    scope.key(phone.expose_e164())
}
