use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::dynamodb::DynamoDb;
use crate::template;

const CREATED_WITH: [&str; 4] = [
    "AttributeDefinitions",
    "BillingMode",
    "GlobalSecondaryIndexes",
    "KeySchema",
];
const TEMPLATE: &str = include_str!("../../../template.yaml");

#[derive(Clone, Debug)]
pub struct Table {
    pub variable: &'static str,
    pub name: &'static str,
    pub key: &'static str,
    pub has_stream: bool,
    properties: Value,
}

/// Empty if the template cannot be read, which a test would notice.
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

/// # Errors
/// The database's reply if it refuses one.
pub async fn create_missing(url: &str, streams: bool) -> Result<(), Value> {
    let database = DynamoDb::new(url).ok_or(Value::Null)?;
    let call = async |operation: &str, body: &Value| {
        database
            .call(&format!("DynamoDB_20120810.{operation}"), body)
            .await
    };
    for table in TABLES.iter() {
        let properties = table.properties.as_object().into_iter().flatten();
        let mut create: Map<_, _> = properties
            .filter(|(name, _)| CREATED_WITH.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        create.insert("TableName".to_owned(), json!(table.name));
        let stream = table.properties.get("StreamSpecification");
        if let Some(Value::Object(stream)) = stream.filter(|_| streams) {
            let mut stream = stream.clone();
            stream.insert("StreamEnabled".to_owned(), json!(true));
            create.insert("StreamSpecification".to_owned(), Value::Object(stream));
        }
        let exists = |error: &Value| error.to_string().contains("ResourceInUseException");
        match call("CreateTable", &Value::Object(create)).await {
            Err(error) if exists(&error) => continue,
            created => created?,
        };
        if let Some(expiry) = table.properties.get("TimeToLiveSpecification") {
            let update = json!({ "TableName": table.name, "TimeToLiveSpecification": expiry });
            call("UpdateTimeToLive", &update).await?;
        }
    }
    Ok(())
}

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
        // Made once.
        let leaked = |text: String| -> &'static str { text.leak() };
        Self {
            variable: leaked(format!("{}_TABLE", name.to_uppercase())),
            name: leaked(name),
            key: leaked(key),
            has_stream: properties.get("StreamSpecification").is_some(),
            properties,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_table_of_the_template_is_read() {
        let names: BTreeSet<_> = TABLES.iter().map(|table| table.variable).collect();
        let written = TEMPLATE.matches("Table:\n").count();
        assert_eq!(names.len(), written, "{names:?}");
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
