//! The service's tables, as the template deploys them.

use std::sync::LazyLock;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex,
    GlobalSecondaryIndexUpdate, KeySchemaElement, Projection, StreamSpecification,
    TableDescription, TimeToLiveSpecification,
};
use common::error::StoreError;
use serde_json::Value;

use crate::template;

const TEMPLATE: &str = include_str!("../../../template.yaml");

#[derive(Clone, Debug)]
pub struct Table {
    /// The environment variable that names the table.
    pub variable: &'static str,
    /// The name on the local stack.
    pub name: &'static str,
    /// The partition key.
    pub key: &'static str,
    /// True if a stream carries its changes.
    pub has_stream: bool,
    /// Everything else, as in the template.
    properties: Value,
}

/// The tables of the template. A test counts them: a template that cannot be read has none.
pub static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let template = template::parse(TEMPLATE).unwrap_or_default();
    let resources = template
        .get("Resources")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    resources
        .filter(|(_, resource)| resource["Type"] == "AWS::DynamoDB::Table")
        .map(|(id, resource)| Table::new(id, resource["Properties"].clone()))
        .collect()
});

/// Creates the tables that do not exist, and the indexes that a table of an earlier release does not have; with `streams`,
/// also the streams.
///
/// # Errors
/// If the database refuses one.
pub async fn create_missing(client: &Client, streams: bool) -> Result<(), StoreError> {
    const ACTION: &str = "creating the tables";
    let listed = client
        .list_tables()
        .send()
        .await
        .map_err(|error| StoreError::new(ACTION, error))?;
    for table in TABLES.iter() {
        let exists = listed.table_names().iter().any(|name| name == table.name);
        let created = if exists {
            table.create_missing_parts(client, streams).await
        } else {
            table.create(client, streams).await
        };
        created.map_err(|error| StoreError::new(ACTION, error))?;
    }
    Ok(())
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Table {
    /// `CodeBooksTable` is `code_books` in `CODE_BOOKS_TABLE`.
    fn new(id: &str, properties: Value) -> Self {
        let mut name = String::new();
        for letter in id.trim_end_matches("Table").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        let key = properties
            .pointer("/KeySchema/0/AttributeName")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        // The list is made once.
        let leaked = |text: String| -> &'static str { text.leak() };
        Self {
            variable: leaked(format!("{}_TABLE", name.to_uppercase())),
            name: leaked(name),
            key: leaked(key),
            has_stream: properties.get("StreamSpecification").is_some(),
            properties,
        }
    }

    async fn create_missing_parts(&self, client: &Client, streams: bool) -> Result<(), BoxError> {
        let found = client
            .describe_table()
            .table_name(self.name)
            .send()
            .await?
            .table;
        let there: Vec<_> = found
            .iter()
            .flat_map(TableDescription::global_secondary_indexes)
            .filter_map(|index| index.index_name())
            .collect();
        for index in self
            .indexes()?
            .into_iter()
            .filter(|index| !there.contains(&index.index_name()))
        {
            let create = CreateGlobalSecondaryIndexAction::builder()
                .index_name(index.index_name)
                .set_key_schema(Some(index.key_schema))
                .set_projection(index.projection)
                .build()?;
            let update = GlobalSecondaryIndexUpdate::builder().create(create).build();
            let attributes = Some(self.attributes()?);
            let request = client
                .update_table()
                .table_name(self.name)
                .set_attribute_definitions(attributes);
            request
                .global_secondary_index_updates(update)
                .send()
                .await?;
        }
        if streams
            && self.has_stream
            && found.and_then(|table| table.stream_specification).is_none()
        {
            let stream = self.stream()?;
            client
                .update_table()
                .table_name(self.name)
                .set_stream_specification(stream)
                .send()
                .await?;
        }
        Ok(())
    }

    async fn create(&self, client: &Client, streams: bool) -> Result<(), BoxError> {
        let indexes = self.indexes()?;
        let create = client
            .create_table()
            .table_name(self.name)
            .billing_mode(BillingMode::PayPerRequest)
            .set_stream_specification(if streams { self.stream()? } else { None })
            .set_key_schema(Some(key_schema(&self.properties)?))
            .set_attribute_definitions(Some(self.attributes()?))
            .set_global_secondary_indexes((!indexes.is_empty()).then_some(indexes));
        create.send().await?;
        if let Some(expiry) = self.properties.get("TimeToLiveSpecification") {
            let specification = TimeToLiveSpecification::builder()
                .attribute_name(text(expiry, "AttributeName"))
                .enabled(true)
                .build()?;
            let update = client.update_time_to_live().table_name(self.name);
            update
                .time_to_live_specification(specification)
                .send()
                .await?;
        }
        Ok(())
    }

    fn stream(&self) -> Result<Option<StreamSpecification>, BuildError> {
        let stream = self.properties.get("StreamSpecification");
        let read = |stream: &Value| {
            let kind = text(stream, "StreamViewType").into();
            StreamSpecification::builder()
                .stream_enabled(true)
                .stream_view_type(kind)
                .build()
        };
        stream.map(read).transpose()
    }

    fn attributes(&self) -> Result<Vec<AttributeDefinition>, BuildError> {
        let read = |one: &Value| {
            let kind = text(one, "AttributeType").into();
            AttributeDefinition::builder()
                .attribute_name(text(one, "AttributeName"))
                .attribute_type(kind)
                .build()
        };
        list(&self.properties, "AttributeDefinitions")
            .map(read)
            .collect()
    }

    fn indexes(&self) -> Result<Vec<GlobalSecondaryIndex>, BuildError> {
        let read = |index: &Value| {
            let projection = &index["Projection"];
            let carried: Vec<_> = list(projection, "NonKeyAttributes")
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            let projection = Projection::builder()
                .projection_type(text(projection, "ProjectionType").into())
                .set_non_key_attributes((!carried.is_empty()).then_some(carried));
            GlobalSecondaryIndex::builder()
                .index_name(text(index, "IndexName"))
                .set_key_schema(Some(key_schema(index)?))
                .projection(projection.build())
                .build()
        };
        list(&self.properties, "GlobalSecondaryIndexes")
            .map(read)
            .collect()
    }
}

fn key_schema(of: &Value) -> Result<Vec<KeySchemaElement>, BuildError> {
    let read = |key: &Value| {
        let kind = text(key, "KeyType").into();
        KeySchemaElement::builder()
            .attribute_name(text(key, "AttributeName"))
            .key_type(kind)
            .build()
    };
    list(of, "KeySchema").map(read).collect()
}

fn list<'a>(of: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    of[name].as_array().into_iter().flatten()
}

fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_table_of_the_template_is_read() {
        let names: BTreeSet<_> = TABLES.iter().map(|table| table.variable).collect();
        assert_eq!(
            names.len(),
            TEMPLATE.matches("Type: AWS::DynamoDB::Table\n").count()
        );
        assert!(
            names.contains("API_KEYS_TABLE") && names.contains("SUBMISSIONS_TABLE"),
            "{names:?}"
        );
        let streamed = TABLES
            .iter()
            .filter(|table| table.has_stream)
            .map(|table| table.name);
        assert_eq!(
            streamed.collect::<BTreeSet<_>>(),
            BTreeSet::from(["entrants", "submissions"])
        );
    }
}
