//! A stack of its own for each test: an embedded DynamoDB with the tables, and commands run on it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use common::clock::Clock;
use common::config::Env;
use common::domain::moment::Moment;
use common::domain::scope::{Environment, Scope};
use common::store::{api_keys, campaigns, codes, connection, entrants, requests, submissions};
use ops::tables::Tables;
use ops::{Console, FINE, connection::tables};
use serde_json::Value;
use tempfile::TempDir;

/// 2026-03-01T00:00:00Z.
pub(crate) const NOW: Moment = Moment::from_millis(1_772_323_200_000);

/// A campaign file that is good.
pub(crate) const CHAI: &str = "\
slug: chai-bora-2026
name: Chai Bora Shinda
brand: Chai Bora
timezone: Africa/Dar_es_Salaam
window: { start: 2026-01-01T00:00:00+03:00, end: null }
code: { checked_by: service }
limits: { phone_daily: 3, phone_total: 20 }
entries_per_submission: 2
messages: { en: { entered: \"You are in!\" }, sw: {} }
";

/// A stack, and a folder for files.
pub(crate) struct Stack {
    pub(crate) env: Env,
    pub(crate) folder: TempDir,
    pub(crate) clock: Clock,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: u8,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stack {
    /// A stack without campaigns.
    pub(crate) async fn empty() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let database = dynoxide::Database::memory().expect("memory");
        tokio::spawn(dynoxide::server::serve_on(listener, database));
        let env: Env = variables(&format!("http://{address}")).into_iter().collect();
        create_tables(&connection::dynamodb(&env).expect("all variables")).await;
        let folder = tempfile::tempdir().expect("a folder");
        Self { env, folder, clock: Clock::manual(NOW) }
    }

    /// A stack with the campaign of [`CHAI`].
    pub(crate) async fn with_chai() -> Self {
        let stack = Self::empty().await;
        let file = stack.file("chai.yaml", CHAI);
        stack.fine(&["campaign", "apply", &file]).await;
        stack
    }

    /// Writes a file into the folder; its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a disk");
        path.display().to_string()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path as an argument.
    pub(crate) fn arg(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Runs a command.
    pub(crate) async fn run(&self, args: &[&str]) -> Ended {
        run(args, self.env.clone(), &self.clock).await
    }

    /// Runs a command that has to succeed; what it prints.
    pub(crate) async fn fine(&self, args: &[&str]) -> String {
        let ended = self.run(args).await;
        assert_eq!(ended.code, FINE, "{args:?}: {}{}", ended.out, ended.err);
        ended.out
    }

    /// Runs a command that has to succeed, with `--json`.
    pub(crate) async fn json(&self, args: &[&str]) -> Value {
        let out = self.fine(&[args, &["--json"]].concat()).await;
        serde_json::from_str(&out).expect("one JSON document")
    }

    /// Runs a command that has to be refused, with `--json`; the error.
    pub(crate) async fn refused(&self, args: &[&str]) -> Value {
        let ended = self.run(&[args, &["--json"]].concat()).await;
        assert_eq!((ended.code, ended.out.as_str()), (ops::REFUSED, ""), "{args:?}: {}", ended.err);
        let document: Value = serde_json::from_str(&ended.err).expect("one JSON document");
        document.get("error").expect("an error").clone()
    }

    /// The tables, for what no command does.
    pub(crate) async fn tables(&self) -> Tables {
        tables(&self.env).await.expect("all variables")
    }
}

/// The campaign's scope.
pub(crate) fn chai(environment: Environment) -> Scope {
    Scope { campaign: "chai-bora-2026".parse().expect("a slug"), environment }
}

/// Runs a command with these variables.
pub(crate) async fn run(args: &[&str], env: Env, clock: &Clock) -> Ended {
    let args = std::iter::once("ops").chain(args.iter().copied()).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut console = Console { out: &mut out, err: &mut err, err_is_terminal: false };
    let code = ops::run(args, env, clock, &mut console).await;
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ended { code, out: text(out), err: text(err) }
}

/// Names of files in a folder.
pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every variable that a command needs.
pub(crate) fn variables(endpoint: &str) -> Vec<(String, String)> {
    let tables = [
        campaigns::VARIABLE,
        api_keys::VARIABLE,
        codes::VARIABLE,
        submissions::VARIABLE,
        entrants::VARIABLE,
        requests::VARIABLE,
    ];
    let names = tables.into_iter().map(|variable| (variable, variable.to_lowercase()));
    let aws = [
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.to_owned()),
        ("AWS_REGION", "eu-west-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("USER", "asha".to_owned()),
    ];
    names.chain(aws).map(|(name, value)| (name.to_owned(), value)).collect()
}

async fn create_tables(client: &Client) {
    for (variable, key) in [
        (campaigns::VARIABLE, campaigns::KEY),
        (api_keys::VARIABLE, api_keys::KEY),
        (codes::VARIABLE, codes::KEY),
        (entrants::VARIABLE, entrants::KEY),
        (requests::VARIABLE, requests::KEY),
    ] {
        let table = client.create_table().table_name(variable.to_lowercase());
        table
            .attribute_definitions(attribute(key, ScalarAttributeType::S))
            .key_schema(element(key, KeyType::Hash))
            .billing_mode(BillingMode::PayPerRequest)
            .send()
            .await
            .expect("a table");
    }
    let carried = Projection::builder()
        .projection_type(ProjectionType::Include)
        .set_non_key_attributes(Some(submissions::BY_ENTRANT_CARRIES.map(str::to_owned).to_vec()))
        .build();
    let by_entrant = GlobalSecondaryIndex::builder()
        .index_name(submissions::BY_ENTRANT)
        .key_schema(element("entrant", KeyType::Hash))
        .key_schema(element("created_at", KeyType::Range))
        .projection(carried);
    let by_reference = GlobalSecondaryIndex::builder()
        .index_name(submissions::BY_REFERENCE)
        .key_schema(element("reference", KeyType::Hash))
        .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build());
    client
        .create_table()
        .table_name(submissions::VARIABLE.to_lowercase())
        .attribute_definitions(attribute(submissions::KEY, ScalarAttributeType::S))
        .attribute_definitions(attribute("entrant", ScalarAttributeType::S))
        .attribute_definitions(attribute("created_at", ScalarAttributeType::N))
        .attribute_definitions(attribute("reference", ScalarAttributeType::S))
        .key_schema(element(submissions::KEY, KeyType::Hash))
        .global_secondary_indexes(by_entrant.build().expect("an index"))
        .global_secondary_indexes(by_reference.build().expect("an index"))
        .billing_mode(BillingMode::PayPerRequest)
        .send()
        .await
        .expect("a table");
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().expect("an attribute")
}

fn element(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().expect("an element")
}
