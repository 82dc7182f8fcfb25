//! Secrets of partners: from Secrets Manager or, on the local stack, from a variable.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_secretsmanager::Client;
use serde_json::{Map, Value};

use crate::cache::Cache;
use crate::config::{ConfigError, Env};
use crate::connection::Aws;
use crate::domain::moment::Moment;
use crate::store::StoreError;

/// The variable that holds secrets by name, as a JSON object, on the local stack.
pub const LOCAL_VARIABLE: &str = "LOCAL_SECRETS";

/// How old a secret may be: one that was changed is used within this.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);

/// Where secrets are.
pub struct Secrets {
    source: Source,
    cache: Cache<String, String>,
}

enum Source {
    Manager(Box<Client>),
    Local(Map<String, Value>),
}

impl Secrets {
    /// Secrets Manager, or the local variable where it is set.
    ///
    /// # Errors
    /// Names the variable when it is no JSON object.
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let malformed = ConfigError::Malformed { variable: LOCAL_VARIABLE, expected: "a JSON object" };
        let source = match env.optional(LOCAL_VARIABLE) {
            Some(json) => Source::Local(serde_json::from_str(&json).map_err(|_| malformed)?),
            None => Source::Manager(Box::new(aws.secrets())),
        };
        Ok(Self { source, cache: Cache::default() })
    }

    /// A secret's value; `None` when there is none of that name.
    ///
    /// # Errors
    /// When Secrets Manager does not answer.
    pub async fn get(&self, name: &str, now: Moment) -> Result<Option<Arc<String>>, StoreError> {
        let client = match &self.source {
            Source::Local(secrets) => {
                return Ok(secrets.get(name).and_then(Value::as_str).map(|value| Arc::new(value.to_owned())));
            }
            Source::Manager(client) => client,
        };
        let read = async {
            match client.get_secret_value().secret_id(name).send().await {
                Ok(reply) => Ok(reply.secret_string),
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(|error| error.is_resource_not_found_exception()) =>
                {
                    Ok(None)
                }
                Err(error) => Err(StoreError::new("reading a secret", error)),
            }
        };
        self.cache.get(&name.to_owned(), now, MAX_AGE, read).await
    }
}
