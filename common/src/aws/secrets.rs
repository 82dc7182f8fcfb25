//! Partners' secrets in Secrets Manager.

use std::sync::Arc;
use std::time::Duration;

use crate::aws::Aws;
use crate::cache::Cache;
use crate::config::{ConfigError, Env};
use crate::domain::Timestamp;
use crate::error::{StoreError, StoreResult};

/// Prefix such as `campaign-entry-production/`: campaign files leave it out, and a stack reads no
/// others.
pub const PREFIX_VARIABLE: &str = "PARTNER_SECRETS_PREFIX";

/// Delay until a changed secret is used.
const MAX_AGE: Duration = Duration::from_mins(5);

pub struct Secrets {
    aws: Aws,
    prefix: String,
    cache: Cache<String, String>,
}

impl Secrets {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self {
            aws: aws.clone(),
            prefix: env.required(PREFIX_VARIABLE)?,
            cache: Cache::default(),
        })
    }

    /// `name` is that in a campaign file.
    pub async fn get(&self, name: &str, now: Timestamp) -> StoreResult<Option<Arc<String>>> {
        let read = async {
            let id = format!("{}{name}", self.prefix);
            match self
                .aws
                .secrets()
                .get_secret_value()
                .secret_id(id)
                .send()
                .await
            {
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
