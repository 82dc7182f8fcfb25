//! The files that a stack writes once it serves, for programs that work with it.
//!
//! A name that ends in `.env` gets lines for a shell or `--env-file`; any other name gets JSON.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use common::domain::scope::Environment;
use serde_json::{Map, Value, json};

use crate::demo::Demo;
use crate::stack::Stack;

/// Removes the file of an earlier run, so that nothing takes it for this run's.
///
/// # Errors
/// If it exists and cannot be removed.
pub fn remove_old(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes the file atomically.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, stack: &Stack, demos: &[Demo]) -> io::Result<()> {
    let takes_live_keys = stack.takes_live_keys();
    let environments = if takes_live_keys {
        [Environment::Test, Environment::Live].as_slice()
    } else {
        &[Environment::Test]
    };
    let is_dotenv = path
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().ends_with(b".env"));
    let text = if is_dotenv {
        dotenv(stack, demos, environments)
    } else {
        format!("{:#}\n", as_json(stack, demos, environments))
    };
    let partial = path.with_extension("partial");
    remove_old(&partial)?;
    // Owner only, because it holds keys.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&partial)?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(&partial, path)
}

fn as_json(stack: &Stack, demos: &[Demo], environments: &[Environment]) -> Value {
    let campaigns = demos.iter().map(|demo| {
        let mut campaign = Map::new();
        campaign.insert("slug".to_owned(), json!(demo.slug().as_str()));
        campaign.insert("name".to_owned(), json!(demo.name()));
        for environment in environments {
            let access = json!({
                "key": demo.key(*environment),
                "codes": demo.codes(*environment),
                "prize_codes": demo.prize_codes(*environment),
            });
            campaign.insert(environment.as_str().to_owned(), access);
        }
        Value::Object(campaign)
    });
    json!({ "base_url": stack.base_url(), "env": stack.env(), "campaigns": campaigns.collect::<Vec<_>>() })
}

/// The functions' variables, `BASE_URL`, and keys with names such as `CHAI_BORA_2026_TEST_KEY`.
fn dotenv(stack: &Stack, demos: &[Demo], environments: &[Environment]) -> String {
    let mut variables: BTreeMap<String, &str> = stack
        .env()
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str()))
        .collect();
    variables.insert("BASE_URL".to_owned(), stack.base_url());
    for demo in demos {
        for environment in environments {
            let name = format!("{}_{environment}_KEY", demo.slug().as_str())
                .replace('-', "_")
                .to_uppercase();
            variables.insert(name, demo.key(*environment));
        }
    }
    // Single quotes prevent shell expansion, and cargo-lambda accepts them too.
    variables
        .iter()
        .map(|(name, value)| format!("{name}='{}'\n", value.replace('\'', "'\\''")))
        .collect()
}
