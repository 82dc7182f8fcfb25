//! Secrets of partners, in Secrets Manager.

use std::sync::Arc;
use std::time::Duration;

use crate::aws::Aws;
use crate::cache::Cache;
use crate::config::{ConfigError, Env};
use crate::domain::timestamp::Timestamp;
use crate::store::StoreError;

/// What the names of a deployment's secrets begin with in Secrets Manager, such as `campaign-entry-production/`: a stack
/// reads no other's. Campaign files name them without it.
pub const PREFIX_VARIABLE: &str = "PARTNER_SECRETS_PREFIX";

/// How old a secret may be: one that was changed is used within this.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);

/// Where secrets are.
pub struct Secrets {
    aws: Aws,
    prefix: String,
    cache: Cache<String, String>,
}

impl Secrets {
    /// Those of the deployment that the environment names.
    ///
    /// # Errors
    /// Names the missing variable.
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self { aws: aws.clone(), prefix: env.required(PREFIX_VARIABLE)?, cache: Cache::default() })
    }

    /// A secret's value, by its name in a campaign file; `None` when there is none of that name.
    ///
    /// # Errors
    /// When Secrets Manager does not answer.
    pub async fn get(&self, name: &str, now: Timestamp) -> Result<Option<Arc<String>>, StoreError> {
        let read = async {
            let id = format!("{}{name}", self.prefix);
            match self.aws.secrets().get_secret_value().secret_id(id).send().await {
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
