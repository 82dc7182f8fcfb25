use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueOutput;

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

    pub async fn get(&self, name: &str, now: Timestamp) -> StoreResult<Option<Arc<String>>> {
        let read = async {
            let id = format!("{}{name}", self.prefix);
            let reply = get(&self.aws, &id, None).await;
            let reply = reply.map_err(|error| StoreError::new("reading a secret", error))?;
            Ok(reply.and_then(|reply| reply.secret_string))
        };
        self.cache.get(&name.to_owned(), now, MAX_AGE, read).await
    }
}

pub(super) async fn get(
    aws: &Aws,
    secret_id: &str,
    version_id: Option<&str>,
) -> Result<Option<GetSecretValueOutput>, Box<dyn Error + Send + Sync>> {
    let get = aws.secrets().get_secret_value().secret_id(secret_id);
    match get
        .set_version_id(version_id.map(str::to_owned))
        .send()
        .await
    {
        Ok(reply) => Ok(Some(reply)),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(|error| error.is_resource_not_found_exception()) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
