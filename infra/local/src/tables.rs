//! The service's tables: names, keys, indexes and expiry.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndex,
    GlobalSecondaryIndexUpdate, KeySchemaElement, KeyType, Projection, ProjectionType, ScalarAttributeType,
    StreamSpecification, StreamViewType, TableDescription, TimeToLiveSpecification,
};
use common::store::{
    StoreError, api_keys, audit, campaign_versions, campaigns, code_books, codes, draws, entrants,
    idempotency_keys, numbers, rate_limits, receipts, retention, submissions,
};

#[derive(Clone, Debug)]
pub struct Table {
    /// The environment variable that names the table.
    pub variable: &'static str,
    /// The name on the local stack.
    pub name: &'static str,
    /// The partition key, a string.
    pub key: &'static str,
    /// The sort key and its type, if there is one.
    pub sort: Option<(&'static str, ScalarAttributeType)>,
    /// Whether a stream carries its changes, with old and new images.
    pub has_stream: bool,
    /// The TTL attribute, if items expire.
    pub expiry: Option<&'static str>,
    pub indexes: &'static [Index],
}

#[derive(Clone, Debug)]
pub struct Index {
    pub name: &'static str,
    /// The partition key, a string.
    pub key: &'static str,
    /// The sort key and its type.
    pub sort: Option<(&'static str, ScalarAttributeType)>,
    /// The projected attributes besides keys.
    pub carries: &'static [&'static str],
}

pub const TABLES: &[Table] = &[
    Table {
        variable: campaigns::VARIABLE,
        name: "campaigns",
        key: campaigns::KEY,
        sort: None,
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: api_keys::VARIABLE,
        name: "api_keys",
        key: api_keys::KEY,
        sort: None,
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: audit::VARIABLE,
        name: "audit",
        key: audit::KEY,
        sort: Some((audit::SORT, ScalarAttributeType::N)),
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: campaign_versions::VARIABLE,
        name: "campaign_versions",
        key: campaign_versions::KEY,
        sort: None,
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: code_books::VARIABLE,
        name: "code_books",
        key: code_books::KEY,
        sort: None,
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: codes::VARIABLE,
        name: "codes",
        key: codes::KEY,
        sort: None,
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: draws::VARIABLE,
        name: "draws",
        key: draws::KEY,
        sort: Some((draws::SORT, ScalarAttributeType::S)),
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: submissions::VARIABLE,
        name: "submissions",
        key: submissions::KEY,
        sort: None,
        has_stream: true,
        expiry: None,
        indexes: &[
            Index {
                name: submissions::BY_ENTRANT,
                key: "entrant",
                sort: Some(("created_at", ScalarAttributeType::N)),
                carries: &submissions::BY_ENTRANT_CARRIES,
            },
            Index {
                name: submissions::UNSETTLED,
                key: "unsettled",
                sort: Some((submissions::NEXT_STEP, ScalarAttributeType::S)),
                carries: &submissions::UNSETTLED_CARRIES,
            },
        ],
    },
    Table {
        variable: receipts::VARIABLE,
        name: "receipts",
        key: receipts::KEY,
        sort: None,
        has_stream: false,
        expiry: Some(receipts::EXPIRY),
        indexes: &[],
    },
    Table {
        variable: entrants::VARIABLE,
        name: "entrants",
        key: entrants::KEY,
        sort: None,
        has_stream: true,
        expiry: None,
        indexes: &[Index {
            name: entrants::BLOCKLIST,
            key: entrants::BLOCKED_SCOPE,
            sort: Some((entrants::BLOCKED, ScalarAttributeType::N)),
            carries: &entrants::BLOCKLIST_CARRIES,
        }],
    },
    Table {
        variable: idempotency_keys::VARIABLE,
        name: "requests",
        key: idempotency_keys::KEY,
        sort: None,
        has_stream: false,
        expiry: Some(idempotency_keys::EXPIRY),
        indexes: &[],
    },
    Table {
        variable: numbers::VARIABLE,
        name: "numbers",
        key: numbers::KEY,
        sort: Some((numbers::SORT, ScalarAttributeType::S)),
        has_stream: false,
        expiry: Some(numbers::EXPIRY),
        indexes: &[],
    },
    Table {
        variable: retention::VARIABLE,
        name: "retention",
        key: retention::KEY,
        sort: None,
        has_stream: false,
        expiry: None,
        indexes: &[],
    },
    Table {
        variable: rate_limits::VARIABLE,
        name: "rate_limits",
        key: rate_limits::KEY,
        sort: None,
        has_stream: false,
        expiry: Some(rate_limits::EXPIRY),
        indexes: &[],
    },
];

/// Creates the tables that do not exist, and the indexes that a table of an earlier release does not have; with `streams`,
/// also the streams.
///
/// # Errors
/// If the database refuses one.
pub async fn create_missing(client: &Client, streams: bool) -> Result<(), StoreError> {
    const ACTION: &str = "creating the tables";
    let listed = client.list_tables().send().await.map_err(|error| StoreError::new(ACTION, error))?;
    for table in TABLES {
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
    async fn create_missing_parts(&self, client: &Client, streams: bool) -> Result<(), BoxError> {
        let found = client.describe_table().table_name(self.name).send().await?.table;
        let names: Vec<_> = found
            .iter()
            .flat_map(TableDescription::global_secondary_indexes)
            .filter_map(|index| index.index_name())
            .collect();
        for index in self.indexes.iter().filter(|index| !names.contains(&index.name)) {
            let mut update =
                client.update_table().table_name(self.name).global_secondary_index_updates(index.creation()?);
            for attribute in index.attributes()? {
                update = update.attribute_definitions(attribute);
            }
            update.send().await?;
        }
        if streams && self.has_stream && found.and_then(|table| table.stream_specification).is_none() {
            client.update_table().table_name(self.name).stream_specification(images()?).send().await?;
        }
        Ok(())
    }

    async fn create(&self, client: &Client, streams: bool) -> Result<(), BoxError> {
        let stream = (streams && self.has_stream).then(images).transpose()?;
        let mut create = client
            .create_table()
            .table_name(self.name)
            .billing_mode(BillingMode::PayPerRequest)
            .set_stream_specification(stream)
            .key_schema(key(self.key, KeyType::Hash)?)
            .attribute_definitions(attribute(self.key, ScalarAttributeType::S)?);
        if let Some((sort, kind)) = &self.sort {
            create = create
                .key_schema(key(sort, KeyType::Range)?)
                .attribute_definitions(attribute(sort, kind.clone())?);
        }
        for index in self.indexes {
            create = create.global_secondary_indexes(index.definition()?);
            for attribute in index.attributes()? {
                create = create.attribute_definitions(attribute);
            }
        }
        create.send().await?;
        if let Some(expiry) = self.expiry {
            let specification =
                TimeToLiveSpecification::builder().attribute_name(expiry).enabled(true).build()?;
            client
                .update_time_to_live()
                .table_name(self.name)
                .time_to_live_specification(specification)
                .send()
                .await?;
        }
        Ok(())
    }
}

fn images() -> Result<StreamSpecification, BuildError> {
    StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()
}

impl Index {
    fn attributes(&self) -> Result<Vec<AttributeDefinition>, BuildError> {
        let sort = self.sort.iter().map(|(sort, kind)| attribute(sort, kind.clone()));
        [attribute(self.key, ScalarAttributeType::S)].into_iter().chain(sort).collect()
    }

    fn creation(&self) -> Result<GlobalSecondaryIndexUpdate, BuildError> {
        let GlobalSecondaryIndex { index_name, key_schema, projection, .. } = self.definition()?;
        let create = CreateGlobalSecondaryIndexAction::builder()
            .index_name(index_name)
            .set_key_schema(Some(key_schema))
            .set_projection(projection)
            .build()?;
        Ok(GlobalSecondaryIndexUpdate::builder().create(create).build())
    }

    fn definition(&self) -> Result<GlobalSecondaryIndex, BuildError> {
        let projection = if self.carries.is_empty() {
            Projection::builder().projection_type(ProjectionType::KeysOnly)
        } else {
            let carried = self.carries.iter().map(ToString::to_string).collect();
            Projection::builder()
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(carried))
        };
        let mut index = GlobalSecondaryIndex::builder()
            .index_name(self.name)
            .key_schema(key(self.key, KeyType::Hash)?)
            .projection(projection.build());
        if let Some((sort, _)) = &self.sort {
            index = index.key_schema(key(sort, KeyType::Range)?);
        }
        index.build()
    }
}

fn key(name: &str, kind: KeyType) -> Result<KeySchemaElement, BuildError> {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build()
}

fn attribute(name: &str, kind: ScalarAttributeType) -> Result<AttributeDefinition, BuildError> {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
}
