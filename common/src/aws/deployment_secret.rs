//! The deployment's secret from Secrets Manager: fetched at start, then kept in memory.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueOutput;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::aws::Aws;
use crate::config::{ConfigError, Env};
use crate::domain::key_encryption::DeploymentSecret;
use crate::store::StoreError;
use crate::telemetry;

/// The environment variable with the secret's ARN or name.
pub const VARIABLE: &str = "DEPLOYMENT_SECRET_ID";

/// A start waits this long at most; the first request that needs the secret can fetch it too.
const START_TIMEOUT: Duration = Duration::from_millis(1_500);
/// A request waits this long at most, so that it still answers in time.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

const READING: &str = "reading the deployment's secret";

/// Secrets Manager does not answer, or refuses. A retry may succeed.
#[derive(Debug, thiserror::Error)]
#[error("Secrets Manager does not give it")]
pub(crate) struct NotFetched(#[source] Box<dyn StdError + Send + Sync>);

/// A version of the secret, with its id in Secrets Manager.
#[derive(Debug)]
pub struct SecretVersion {
    /// The version's id, stored in the records that this version encrypts.
    pub id: String,
    /// The secret.
    pub secret: DeploymentSecret,
}

/// The versions of the secret fetched so far. An environment lives for hours, and a version never changes.
#[derive(Clone)]
pub struct DeploymentSecrets {
    aws: Aws,
    secret_id: String,
    known: Arc<Mutex<HashMap<String, Arc<SecretVersion>>>>,
}

impl DeploymentSecrets {
    /// Reads the secret's name from the environment.
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self { aws: aws.clone(), secret_id: env.required(VARIABLE)?, known: Arc::default() })
    }

    /// Fetches the current version before the first event. If that fails, the first request that needs the secret tries
    /// again and reports the error.
    pub async fn prepare(&self) {
        let failed = |cause: Elapsed| Err(StoreError::new(READING, cause));
        if let Err(error) = timeout(START_TIMEOUT, self.current()).await.unwrap_or_else(failed) {
            tracing::warn!(
                error = telemetry::cause(&error),
                "the deployment's secret was not fetched at start"
            );
        }
    }

    /// Fetches the current version from Secrets Manager.
    ///
    /// # Errors
    /// When Secrets Manager does not answer in time, or the value is not a secret.
    pub async fn current(&self) -> Result<Arc<SecretVersion>, StoreError> {
        let found = self.fetch(None).await?;
        found.ok_or_else(|| StoreError::new(READING, "Secrets Manager has no such secret"))
    }

    /// A version by its id, from memory if it was fetched before. If Secrets Manager does not have it, the current
    /// version takes its place: a secret restored from a copy has a new id. After a successful decryption, `remember`
    /// records that.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub async fn version(&self, id: &str) -> Result<Arc<SecretVersion>, StoreError> {
        if let Some(version) = self.fetched_version(id) {
            return Ok(version);
        }
        match self.fetch(Some(id)).await? {
            Some(version) => Ok(version),
            None => self.current().await,
        }
    }

    /// Keeps a version under the id in a record that it has decrypted.
    pub(crate) fn remember(&self, id: &str, version: &Arc<SecretVersion>) {
        self.known().entry(id.to_owned()).or_insert_with(|| Arc::clone(version));
    }

    /// A version that was fetched before, by its id.
    pub(crate) fn fetched_version(&self, id: &str) -> Option<Arc<SecretVersion>> {
        self.known().get(id).cloned()
    }

    /// Replaces the current version. Secrets Manager keeps it as the previous one.
    ///
    /// # Errors
    /// When Secrets Manager does not answer or refuses.
    pub async fn replace(&self, text: String) -> Result<Arc<SecretVersion>, StoreError> {
        const ACTION: &str = "replacing the deployment's secret";
        let secret = DeploymentSecret::new(&text).map_err(StoreError::during(ACTION))?;
        let client = self.aws.secrets();
        let put = client.put_secret_value().secret_id(&self.secret_id).secret_string(text).send().await;
        let id = put.map_err(StoreError::during(ACTION))?.version_id;
        let id = id.ok_or_else(|| StoreError::new(ACTION, "Secrets Manager named no version"))?;
        Ok(self.keep(SecretVersion { id, secret }))
    }

    /// Fetches a version, or the current one; `None` if Secrets Manager has no such version.
    async fn fetch(&self, id: Option<&str>) -> Result<Option<Arc<SecretVersion>>, StoreError> {
        let client = self.aws.secrets();
        let get = client.get_secret_value().secret_id(&self.secret_id).set_version_id(id.map(str::to_owned));
        let failed = |cause| StoreError::new(READING, NotFetched(cause));
        let sent = timeout(REQUEST_TIMEOUT, get.send()).await.map_err(|elapsed| failed(elapsed.into()))?;
        let reply = match sent {
            Ok(reply) => reply,
            Err(error)
                if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failed(error.into())),
        };
        Ok(Some(self.keep(read(reply)?)))
    }

    fn keep(&self, version: SecretVersion) -> Arc<SecretVersion> {
        let version = Arc::new(version);
        self.known().insert(version.id.clone(), Arc::clone(&version));
        version
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<SecretVersion>>> {
        // Nothing panics while holding the lock; even then the map would be intact.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for DeploymentSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeploymentSecrets").field("secret_id", &self.secret_id).finish_non_exhaustive()
    }
}

fn read(reply: GetSecretValueOutput) -> Result<SecretVersion, StoreError> {
    let unnamed = || StoreError::new(READING, "Secrets Manager named no version or gave no text");
    let (Some(id), Some(text)) = (reply.version_id, reply.secret_string) else { return Err(unnamed()) };
    let secret = DeploymentSecret::new(&text).map_err(StoreError::during(READING))?;
    Ok(SecretVersion { id, secret })
}
