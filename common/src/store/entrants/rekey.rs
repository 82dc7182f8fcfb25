//! Moving the counts of an entrant to another id.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};

use super::blocklist::BLOCKED;
use super::erasure::ERASED_AS;
use super::{DAY, Entrants, KEY, clause};
use crate::domain::entrant_id::EntrantId;
use crate::domain::scope::Scope;
use crate::store::record_version::FIRST;
use crate::store::transaction::{self, TransactionResult};
use crate::store::{Item, StoreError, read_text, required};

/// Every change of a record sets one of these.
const ADDED_BY_CHANGES: [&str; 7] = [
    "submissions",
    "entries",
    "open_receipts",
    "wrong_codes",
    "throttled_until",
    BLOCKED,
    ERASED_AS,
];
/// Days that one transaction moves: an expression has at most 4 KB, and each day takes some 15 bytes of it.
const MAX_DAYS: usize = 100;

impl Entrants {
    /// Moves counts of days to an id until the rest fits into one transaction. False if the record has changed since it was
    /// read; `item` is the record after the moves.
    pub(super) async fn move_days(
        &self,
        item: &mut Item,
        scope: &Scope,
        id: &EntrantId,
    ) -> Result<bool, StoreError> {
        let days: Vec<String> = item
            .keys()
            .filter(|name| name.starts_with(DAY))
            .cloned()
            .collect();
        for days in days.get(MAX_DAYS..).unwrap_or_default().chunks(MAX_DAYS) {
            let moved: Item = item.extract_if(|name, _| days.contains(name)).collect();
            let own = self.remove_unchanged(item, &moved)?;
            let items = vec![
                own,
                transaction::update(self.merge(scope, id, &FIRST.mark(moved))?),
            ];
            let written = transaction::write(self.table.client(), items).await?;
            if !matches!(written, TransactionResult::Committed) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes attributes from a record if they are still as they were read.
    fn remove_unchanged(
        &self,
        item: &Item,
        removed: &Item,
    ) -> Result<TransactWriteItem, StoreError> {
        const ACTION: &str = "removing counts of an entrant";
        let (condition, names, values) = is_same(removed);
        let removed: Vec<&str> = names.keys().map(String::as_str).collect();
        let update = self
            .table
            .update(required(read_text(item, KEY), ACTION)?)
            .update_expression(clause("REMOVE", &removed))
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .build();
        update
            .map(transaction::update)
            .map_err(StoreError::during(ACTION))
    }

    /// Deletes a record if it is still as it was read.
    pub(super) fn delete_unchanged(&self, item: &Item) -> Result<TransactWriteItem, StoreError> {
        const ACTION: &str = "deleting an entrant";
        let (condition, names, values) = unchanged(item);
        let delete = self.table.delete(required(read_text(item, KEY), ACTION)?);
        let delete = delete
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .build();
        delete
            .map(transaction::delete)
            .map_err(StoreError::during(ACTION))
    }

    /// Replaces a record by one with these attributes if it is still as it was read.
    pub(super) fn replace_unchanged(
        &self,
        item: &Item,
        mut attributes: Item,
    ) -> Result<TransactWriteItem, StoreError> {
        const ACTION: &str = "replacing an entrant";
        let (condition, names, values) = unchanged(item);
        let key = required(item.get(KEY), ACTION)?.clone();
        attributes.insert(KEY.to_owned(), key);
        let put = self.table.put(FIRST.mark(attributes));
        let put = put
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .build();
        put.map(transaction::put)
            .map_err(StoreError::during(ACTION))
    }

    /// Adds the counts of a record to those of an id, and copies the attributes that the id lacks.
    pub(super) fn merge(
        &self,
        scope: &Scope,
        id: &EntrantId,
        item: &Item,
    ) -> Result<Update, StoreError> {
        let (mut add, mut set) = (Vec::new(), Vec::new());
        let mut update = self.update(scope, id);
        for (index, (name, value)) in item.iter().enumerate() {
            match name.as_str() {
                KEY => continue,
                "submissions" | "entries" | "open_receipts" => {
                    add.push(format!("#{index} :{index}"))
                }
                day if day.starts_with(DAY) => add.push(format!("#{index} :{index}")),
                // Both logs of wrong codes count.
                "wrong_codes" => {
                    set.push(format!(
                        "#{index} = list_append(:{index}, if_not_exists(#{index}, :none))"
                    ));
                    update =
                        update.expression_attribute_values(":none", AttributeValue::L(Vec::new()));
                }
                _ => set.push(format!("#{index} = if_not_exists(#{index}, :{index})")),
            }
            update = update
                .expression_attribute_names(format!("#{index}"), name)
                .expression_attribute_values(format!(":{index}"), value.clone());
        }
        let (set, add): (Vec<&str>, Vec<&str>) = (
            set.iter().map(String::as_str).collect(),
            add.iter().map(String::as_str).collect(),
        );
        update
            .update_expression(clause("SET", &set) + &clause("ADD", &add))
            .build()
            .map_err(StoreError::during("moving an entrant"))
    }
}

/// The condition that a record still has exactly these values, with its names and values.
fn unchanged(item: &Item) -> (String, HashMap<String, String>, Item) {
    let (mut condition, names, values) = is_same(item);
    // A change that only adds attributes adds one of these.
    for name in ADDED_BY_CHANGES
        .iter()
        .filter(|name| !item.contains_key(**name))
    {
        condition += &format!(" AND attribute_not_exists({name})");
    }
    (condition, names, values)
}

/// The condition that these attributes still have their values, with its names and values.
fn is_same(item: &Item) -> (String, HashMap<String, String>, Item) {
    let (mut conditions, mut names, mut values) = (Vec::new(), HashMap::new(), Item::new());
    for (index, (name, value)) in item.iter().enumerate() {
        conditions.push(format!("#{index} = :{index}"));
        names.insert(format!("#{index}"), name.clone());
        values.insert(format!(":{index}"), value.clone());
    }
    (conditions.join(" AND "), names, values)
}
