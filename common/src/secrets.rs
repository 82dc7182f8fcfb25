//! Secrets of partners, in Secrets Manager.

use std::sync::Arc;
use std::time::Duration;

use crate::cache::Cache;
use crate::connection::Aws;
use crate::domain::moment::Moment;
use crate::store::StoreError;

/// How old a secret may be: one that was changed is used within this.
const MAX_AGE: Duration = Duration::from_secs(5 * 60);

/// Where secrets are.
pub struct Secrets {
    aws: Aws,
    cache: Cache<String, String>,
}

impl Secrets {
    /// Those of an account.
    pub fn of(aws: &Aws) -> Self {
        Self { aws: aws.clone(), cache: Cache::default() }
    }

    /// A secret's value; `None` when there is none of that name.
    ///
    /// # Errors
    /// When Secrets Manager does not answer.
    pub async fn get(&self, name: &str, now: Moment) -> Result<Option<Arc<String>>, StoreError> {
        let read = async {
            match self.aws.secrets().get_secret_value().secret_id(name).send().await {
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
