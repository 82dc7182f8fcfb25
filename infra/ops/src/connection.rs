//! Reaching the stack: which variables name it, and who the operator is to AWS.

use std::collections::HashMap;
use std::path::Path;

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::config::Region;
use common::aws::photos::{self, Photos};
use common::aws::{self, Aws};
use common::config::Env;
use common::store::campaigns;
use serde::Deserialize;

use crate::failure::Failure;
use crate::tables::Tables;

/// The JSON that the local stack writes once it is serving.
#[derive(Deserialize)]
struct ReadyFile {
    env: HashMap<String, String>,
}

/// The environment, with the variables of an env file in place of its own.
///
/// # Errors
/// When the file cannot be read.
pub fn with_env_file(env: Env, path: &Path) -> Result<Env, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::from_io(path, "reading", &error))?;
    // The local stack goes by the name as well.
    let variables = if path.as_os_str().as_encoded_bytes().ends_with(b".env") {
        of_lines(&bytes)
    } else {
        serde_json::from_slice(&bytes).map(|file: ReadyFile| file.env).map_err(|error| error.to_string())
    };
    let variables = variables.map_err(|problem| {
        let message = format!(
            "{} is not an env file: {problem}; name the file that the local stack wrote (its --ready-file), JSON such \
             as {{\"env\": {{\"CAMPAIGNS_TABLE\": \"...\"}}}}, or lines such as CAMPAIGNS_TABLE='...' in a file whose \
             name ends in .env",
            path.display()
        );
        Failure::new("env_file_invalid", message)
    })?;
    Ok(env.overridden_by(variables.into_iter().collect()))
}

/// The variables in lines such as `NAME='value'`, as a shell reads them.
fn of_lines(bytes: &[u8]) -> Result<HashMap<String, String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let variable = |(number, line): (usize, &str)| {
        // A line may hold a secret, so it is not repeated.
        let (name, value) = line.split_once('=').ok_or_else(|| format!("line {number} has no ="))?;
        let quoted = ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        Ok((name.to_owned(), quoted.unwrap_or(value).replace("'\\''", "'")))
    };
    lines.map(variable).collect()
}

/// The tables of the stack that the environment points at.
///
/// # Errors
/// Names the variable that is missing.
pub async fn tables(env: &Env) -> Result<Tables, Failure> {
    // Asked for before AWS is, so that a missing variable is reported at once.
    env.required(campaigns::VARIABLE)?;
    Ok(Tables::from_env(env, &aws(env).await?)?)
}

/// The bucket of the photos that the environment names.
///
/// # Errors
/// Names the variable that is missing.
pub async fn photos(env: &Env) -> Result<Photos, Failure> {
    env.required(photos::VARIABLE)?;
    Ok(Photos::from_env(env, &aws(env).await?)?)
}

/// The connection to AWS: by credentials that stand in the environment, or those that AWS's own command
/// line would find.
///
/// # Errors
/// Says what is missing.
pub async fn aws(env: &Env) -> Result<Aws, Failure> {
    // Whole in the environment: an env file, or a session's own variables.
    if let Ok(aws) = Aws::for_function(env) {
        return Ok(aws);
    }
    let mut chain = aws_config::defaults(BehaviorVersion::latest()).http_client(aws::https(env));
    if let Some(profile) = env.optional("AWS_PROFILE") {
        chain = chain.profile_name(profile);
    }
    if let Some(region) = env.optional("AWS_REGION").or_else(|| env.optional("AWS_DEFAULT_REGION")) {
        chain = chain.region(Region::new(region));
    }
    let found = chain.load().await;
    let region = found.region().cloned().ok_or_else(|| {
        Failure::new("not_configured", "no AWS region is set; set AWS_REGION to the region of the stack")
    })?;
    let credentials = found.credentials_provider().ok_or_else(|| {
        let message =
            "no AWS credentials were found; sign in, for example with `aws sso login`, or set AWS_PROFILE";
        Failure::new("not_configured", message)
    })?;
    Ok(Aws::new(env, region, credentials))
}
