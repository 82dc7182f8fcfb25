//! A conditional write of one record, sent alone or in a transaction; returns the record when its
//! condition fails. In a condition, `#name` is an attribute, `:name` a bound value.

mod change;

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValue, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use serde::Serialize;
use serde_dynamo::aws_sdk_dynamodb_1::{to_attribute_value, to_item};

use super::record_version::{self, FIRST};
use super::table::Table;
use super::{During, Item, StoreError, StoreResult, text};
use crate::domain::Timestamp;

/// Second after which DynamoDB deletes a record.
pub const EXPIRY: &str = "expires_at";

#[derive(Clone, Debug)]
#[must_use]
pub struct Write {
    table: Table,
    key: Item,
    kind: Kind,
    clauses: BTreeMap<&'static str, Vec<String>>,
    conditions: Vec<String>,
    names: HashMap<String, String>,
    values: Item,
    defect: Option<serde_dynamo::Error>,
}

#[derive(Clone, Debug)]
enum Kind {
    Put(Item),
    Update,
    Delete,
    Check,
}

#[derive(Debug)]
pub(crate) enum Sent {
    Written(Item),
    Refused(Option<Item>),
}

impl Sent {
    pub(crate) fn item(self) -> Item {
        match self {
            Self::Written(item) => item,
            Self::Refused(item) => item.unwrap_or_default(),
        }
    }
}

macro_rules! conditional {
    ($builder:expr, $write:ident) => {
        $builder
            .table_name($write.table.name())
            .set_condition_expression(joined(&$write.conditions, " AND "))
            .set_expression_attribute_names(Some($write.names).filter(|names| !names.is_empty()))
            .set_expression_attribute_values(Some($write.values).filter(|all| !all.is_empty()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    };
}

macro_rules! sent {
    ($builder:expr, $error:ident, $action:ident) => {
        match Box::pin($builder.send()).await {
            Ok(reply) => Ok(Sent::Written(reply.attributes.unwrap_or_default())),
            Err(error) => match error.as_service_error() {
                Some($error::ConditionalCheckFailedException(failed)) => {
                    Ok(Sent::Refused(failed.item.clone()))
                }
                Some(_) | None => Err(StoreError::new($action, error)),
            },
        }
    };
}

impl Table {
    pub(crate) fn put(&self, key: impl Into<String>, record: &impl Serialize) -> Write {
        self.put_stored(key, to_item(record))
    }

    pub(crate) fn put_item(&self, key: impl Into<String>, attributes: Item) -> Write {
        self.put_stored(key, Ok(attributes))
    }

    fn put_stored(
        &self,
        key: impl Into<String>,
        record: Result<Item, serde_dynamo::Error>,
    ) -> Write {
        let mut write = self.write(key, Kind::Update);
        let mut item = write.kept(record);
        item.extend(std::mem::take(&mut write.key));
        write.kind = Kind::Put(FIRST.mark(item));
        write
    }

    pub(crate) fn update(&self, key: impl Into<String>) -> Write {
        let write = self.write(key, Kind::Update);
        write.set_if_absent(record_version::ATTRIBUTE, FIRST.attribute())
    }

    pub(crate) fn delete(&self, key: impl Into<String>) -> Write {
        self.write(key, Kind::Delete)
    }

    pub(crate) fn check(&self, key: impl Into<String>) -> Write {
        self.write(key, Kind::Check)
    }

    fn write(&self, key: impl Into<String>, kind: Kind) -> Write {
        Write {
            table: self.clone(),
            key: self.key(key),
            kind,
            clauses: BTreeMap::new(),
            conditions: Vec::new(),
            names: HashMap::new(),
            values: Item::new(),
            defect: None,
        }
    }
}

impl Write {
    pub(super) fn client(&self) -> &Client {
        self.table.client()
    }

    pub(crate) fn sort(mut self, name: &str, value: impl Into<String>) -> Self {
        let key = match &mut self.kind {
            Kind::Put(item) => item,
            Kind::Update | Kind::Delete | Kind::Check => &mut self.key,
        };
        key.insert(name.to_owned(), text(value));
        self
    }

    pub(crate) fn set(mut self, name: &str, value: impl Serialize) -> Self {
        let value = self.stored(value);
        self.set_attribute(name, value)
    }

    pub(crate) fn set_attribute(mut self, name: &str, value: AttributeValue) -> Self {
        if let Kind::Put(item) = &mut self.kind {
            item.insert(name.to_owned(), value);
        } else {
            let part = format!("{} = {}", self.name(name), self.value(value));
            self.push("SET", part);
        }
        self
    }

    pub(crate) fn set_if_absent(mut self, name: &str, value: AttributeValue) -> Self {
        let (name, value) = (self.name(name), self.value(value));
        self.push("SET", format!("{name} = if_not_exists({name}, {value})"));
        self
    }

    pub(crate) fn append(mut self, name: &str, list: AttributeValue) -> Self {
        let none = self.value(AttributeValue::L(Vec::new()));
        let (name, list) = (self.name(name), self.value(list));
        let part = format!("{name} = list_append(if_not_exists({name}, {none}), {list})");
        self.push("SET", part);
        self
    }

    pub(crate) fn expires(self, at: Timestamp) -> Self {
        self.set(EXPIRY, at.as_seconds())
    }

    pub(crate) fn remove<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        for name in names {
            let name = self.name(name);
            self.push("REMOVE", name);
        }
        self
    }

    pub(crate) fn add(mut self, name: &str, amount: AttributeValue) -> Self {
        let part = format!("{} {}", self.name(name), self.value(amount));
        self.push("ADD", part);
        self
    }

    pub(crate) fn when(mut self, condition: &str) -> Self {
        for (placeholder, name) in names_in(condition) {
            self.names.entry(placeholder).or_insert(name);
        }
        // DynamoDB refuses redundant parentheses.
        self.conditions.push(if condition.contains(" OR ") {
            format!("({condition})")
        } else {
            condition.to_owned()
        });
        self
    }

    pub(crate) fn when_equal(mut self, name: &str, value: impl Serialize) -> Self {
        let value = self.stored(value);
        self.when_same(&Item::from([(name.to_owned(), value)]))
    }

    pub(crate) fn when_same(mut self, attributes: &Item) -> Self {
        for (name, value) in attributes {
            let part = format!("{} = {}", self.name(name), self.value(value.clone()));
            self.conditions.push(part);
        }
        self
    }

    pub(crate) fn when_absent(mut self, name: &str) -> Self {
        let name = self.name(name);
        self.conditions
            .push(format!("attribute_not_exists({name})"));
        self
    }

    pub(crate) fn when_present(mut self, name: &str) -> Self {
        let name = self.name(name);
        self.conditions.push(format!("attribute_exists({name})"));
        self
    }

    pub(crate) fn bind(mut self, placeholder: &str, value: impl Serialize) -> Self {
        let value = self.stored(value);
        self.values.insert(placeholder.to_owned(), value);
        self
    }

    pub(crate) fn rename(mut self, placeholder: &str, name: String) -> Self {
        self.names.insert(placeholder.to_owned(), name);
        self
    }

    pub(crate) async fn send(self, action: &'static str) -> StoreResult<bool> {
        let sent = self.send_returning(action, ReturnValue::None).await?;
        Ok(matches!(sent, Sent::Written(_)))
    }

    pub(crate) async fn send_and_read(self, action: &'static str) -> StoreResult<Sent> {
        self.send_returning(action, ReturnValue::AllNew).await
    }

    async fn send_returning(
        mut self,
        action: &'static str,
        returned: ReturnValue,
    ) -> StoreResult<Sent> {
        if let Some(defect) = self.defect.take() {
            return Err(StoreError::new(action, defect));
        }
        let (client, expression) = (self.client().clone(), self.expression());
        match self.kind {
            Kind::Put(item) => {
                let put = conditional!(client.put_item().set_item(Some(item)), self);
                sent!(put, PutItemError, action)
            }
            Kind::Update => {
                let update = client
                    .update_item()
                    .set_key(Some(self.key))
                    .return_values(returned)
                    .set_update_expression(expression);
                sent!(conditional!(update, self), UpdateItemError, action)
            }
            Kind::Delete => {
                let delete = client.delete_item().set_key(Some(self.key));
                sent!(conditional!(delete, self), DeleteItemError, action)
            }
            Kind::Check => Err(StoreError::new(action, "a condition alone writes nothing")),
        }
    }

    pub(super) fn into_item(mut self, action: &'static str) -> StoreResult<TransactWriteItem> {
        if let Some(defect) = self.defect.take() {
            return Err(StoreError::new(action, defect));
        }
        let (item, expression) = (TransactWriteItem::builder(), self.expression());
        let item = match self.kind {
            Kind::Put(new) => conditional!(Put::builder().set_item(Some(new)), self)
                .build()
                .map(|put| item.put(put)),
            Kind::Update => conditional!(Update::builder().set_key(Some(self.key)), self)
                .set_update_expression(expression)
                .build()
                .map(|update| item.update(update)),
            Kind::Delete => conditional!(Delete::builder().set_key(Some(self.key)), self)
                .build()
                .map(|delete| item.delete(delete)),
            Kind::Check => conditional!(ConditionCheck::builder().set_key(Some(self.key)), self)
                .build()
                .map(|check| item.condition_check(check)),
        };
        item.map(|item| item.build()).during(action)
    }

    fn push(&mut self, clause: &'static str, part: String) {
        self.clauses.entry(clause).or_default().push(part);
    }

    fn expression(&self) -> Option<String> {
        let clauses = self.clauses.iter();
        let clauses = clauses.map(|(clause, parts)| format!("{clause} {}", parts.join(", ")));
        joined(&clauses.collect::<Vec<_>>(), " ")
    }

    fn name(&mut self, name: &str) -> String {
        let is_plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let known = self.names.iter().find(|(_, known)| *known == name);
        let placeholder = match known {
            Some((placeholder, _)) => return placeholder.clone(),
            None if is_plain => format!("#{name}"),
            None => format!("#_{}", self.names.len()),
        };
        self.names.insert(placeholder.clone(), name.to_owned());
        placeholder
    }

    fn value(&mut self, value: AttributeValue) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value);
        placeholder
    }

    fn stored(&mut self, value: impl Serialize) -> AttributeValue {
        let value = to_attribute_value(value).map(Some);
        self.kept(value).unwrap_or(AttributeValue::Null(true))
    }

    fn kept<T: Default>(&mut self, stored: Result<T, serde_dynamo::Error>) -> T {
        stored.unwrap_or_else(|defect| {
            self.defect.get_or_insert(defect);
            T::default()
        })
    }
}

pub(super) fn names_in(expression: &str) -> impl Iterator<Item = (String, String)> {
    expression.split('#').skip(1).map(|rest| {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let name = rest.split(is_end).next().unwrap_or_default();
        (format!("#{name}"), name.to_owned())
    })
}

fn joined(parts: &[String], separator: &str) -> Option<String> {
    (!parts.is_empty()).then(|| parts.join(separator))
}
