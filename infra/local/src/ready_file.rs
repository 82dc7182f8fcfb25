use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use common::domain::Environment;
use serde_json::{Value, json};

use crate::demo::Demo;
use crate::private_file;
use crate::stack::Stack;

pub fn write(path: &Path, stack: &Stack, demos: &[Demo]) -> io::Result<()> {
    let environments = match stack.takes_live_keys() {
        true => Environment::ALL.as_slice(),
        false => &[Environment::Test],
    };
    let name = path.file_name().unwrap_or_default();
    let text = match name.as_encoded_bytes().ends_with(b".env") {
        true => dotenv(stack, demos, environments),
        false => format!("{:#}\n", as_json(stack, demos, environments)),
    };
    private_file::write(path, text.as_bytes())
}

fn as_json(stack: &Stack, demos: &[Demo], environments: &[Environment]) -> Value {
    let campaigns = demos.iter().map(|demo| {
        let names = [("slug", json!(demo.slug())), ("name", json!(demo.name()))];
        let access = environments
            .iter()
            .map(|environment| (environment.as_str(), json!(demo.access(*environment))));
        names.into_iter().chain(access).collect::<Value>()
    });
    json!({
        "base_url": stack.base_url(),
        "env": stack.env(),
        "campaigns": campaigns.collect::<Vec<_>>(),
    })
}

/// Keys have names such as `CHAI_BORA_2026_TEST_KEY`.
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
    // Single quotes prevent shell expansion; cargo-lambda accepts them.
    variables
        .iter()
        .map(|(name, value)| format!("{name}='{}'\n", value.replace('\'', "'\\''")))
        .collect()
}
