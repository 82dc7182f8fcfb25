//! Fetched at start, kept in memory.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_secretsmanager::operation::get_secret_value::GetSecretValueOutput;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::secrets;
use crate::aws::Aws;
use crate::config::{ConfigError, Env};
use crate::domain::key_encryption::DeploymentSecret;
use crate::domain::phone_protection::Consumer;
use crate::domain::scope::Scope;
use crate::domain::{Phone, Submission};
use crate::error::{During, StoreError, StoreResult};
use crate::lock::Mutex;
use crate::telemetry;

pub const VARIABLE: &str = "DEPLOYMENT_SECRET_ID";

/// Timeout at start; the first request that needs the secret can fetch it too.
const START_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Leaves a request time to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

const READING: &str = "reading the deployment's secret";
const READING_PHONE: &str = "reading a phone";

#[derive(Debug, thiserror::Error)]
#[error("Secrets Manager does not give it")]
struct NotFetched(#[source] Box<dyn StdError + Send + Sync>);

#[derive(Debug)]
pub struct SecretVersion {
    pub id: String,
    pub secret: DeploymentSecret,
}

#[derive(Clone)]
pub struct DeploymentSecrets {
    aws: Aws,
    secret_id: String,
    known: Arc<Mutex<KnownVersions>>,
}

#[derive(Default)]
pub(super) struct KnownVersions {
    by_id: HashMap<String, Arc<SecretVersion>>,
    last_fetched: Option<Arc<SecretVersion>>,
}

impl DeploymentSecrets {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self {
            aws: aws.clone(),
            secret_id: env.required(VARIABLE)?,
            known: Arc::clone(&aws.clients.deployment_secrets),
        })
    }

    /// After a failure, the first request that needs it tries again.
    pub async fn prepare(&self) {
        let failed = |cause: Elapsed| Err(StoreError::new(READING, cause));
        if let Err(error) = timeout(START_TIMEOUT, self.current())
            .await
            .unwrap_or_else(failed)
        {
            tracing::warn!(
                error = telemetry::cause(&error),
                "the deployment's secret was not fetched at start"
            );
        }
    }

    pub async fn current(&self) -> StoreResult<Arc<SecretVersion>> {
        let found = self.fetch(None).await?;
        found.ok_or_else(|| StoreError::new(READING, "Secrets Manager has no such secret"))
    }

    /// The current version replaces one that Secrets Manager lacks: a restored secret has a new id.
    /// `remember` records that after a successful decryption.
    pub async fn version(&self, id: &str) -> StoreResult<Arc<SecretVersion>> {
        if let Some(version) = self.fetched_version(id) {
            return Ok(version);
        }
        match self.fetch(Some(id)).await? {
            Some(version) => Ok(version),
            None => self.current().await,
        }
    }

    /// All versions have the same keys for personal data.
    pub async fn version_for_phones(&self) -> StoreResult<Arc<SecretVersion>> {
        match self.cached_version_for_phones() {
            Some(version) => Ok(version),
            None => self.current().await,
        }
    }

    pub async fn consumer(&self, scope: &Scope, phone: Phone) -> StoreResult<Consumer> {
        let version = self.version_for_phones().await?;
        Ok(version.secret.consumer(scope, phone))
    }

    /// The keys differ from a record's if the secret was replaced by hand; the next request then
    /// fetches them again.
    pub(crate) fn check_version_for_phones(&self, check: &str) -> StoreResult<()> {
        let mut known = self.known.lock();
        match &known.last_fetched {
            Some(version) if version.secret.people_check() != check => {
                known.last_fetched = None;
                let cause =
                    "the secret does not end with the word that phones were encrypted under";
                Err(StoreError::temporary(READING, NotFetched(cause.into())))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub async fn phone_of(&self, submission: &Submission) -> StoreResult<Option<Phone>> {
        let Some(stored) = &submission.phone else {
            return Ok(None);
        };
        let version = self.version_for_phones().await?;
        let phone =
            version
                .secret
                .decrypt_phone(&submission.scope, submission.submission_id, stored);
        phone.map(Some).ok_or_else(|| {
            let cause = "its phone is encrypted for another submission, or under another secret than the deployment's";
            let key = submission.scope.key(submission.reference().symbols());
            StoreError::of_record("submissions", key)(StoreError::new(READING_PHONE, cause))
        })
    }

    pub fn cached_version_for_phones(&self) -> Option<Arc<SecretVersion>> {
        self.known.lock().last_fetched.clone()
    }

    pub(crate) fn remember(&self, id: &str, version: &Arc<SecretVersion>) {
        self.known
            .lock()
            .by_id
            .entry(id.to_owned())
            .or_insert_with(|| Arc::clone(version));
    }

    pub(crate) fn fetched_version(&self, id: &str) -> Option<Arc<SecretVersion>> {
        self.known.lock().by_id.get(id).cloned()
    }

    pub async fn rotate(&self, word: &str) -> StoreResult<Arc<SecretVersion>> {
        const ACTION: &str = "replacing the deployment's secret";
        let current = self.get(None).await?.and_then(|reply| reply.secret_string);
        let current =
            current.ok_or_else(|| StoreError::new(ACTION, "Secrets Manager has no such secret"))?;
        let text = DeploymentSecret::rotated(&current, word);
        let secret = DeploymentSecret::new(&text).during(ACTION)?;
        let client = self.aws.secrets();
        let put = client
            .put_secret_value()
            .secret_id(&self.secret_id)
            .secret_string(text)
            .send()
            .await;
        let id = put.during(ACTION)?.version_id;
        let id = id.ok_or_else(|| StoreError::new(ACTION, "Secrets Manager named no version"))?;
        Ok(self.keep(SecretVersion { id, secret }))
    }

    async fn fetch(&self, id: Option<&str>) -> StoreResult<Option<Arc<SecretVersion>>> {
        let reply = self.get(id).await?;
        reply
            .map(|reply| read(reply).map(|version| self.keep(version)))
            .transpose()
    }

    async fn get(&self, id: Option<&str>) -> StoreResult<Option<GetSecretValueOutput>> {
        let failed = |cause| StoreError::temporary(READING, NotFetched(cause));
        // Boxed: the SDK's future is deep, and every caller would hold it.
        let sent = Box::pin(secrets::get(&self.aws, &self.secret_id, id));
        let sent = timeout(REQUEST_TIMEOUT, sent).await;
        sent.map_err(|elapsed| failed(elapsed.into()))?
            .map_err(failed)
    }

    fn keep(&self, version: SecretVersion) -> Arc<SecretVersion> {
        let version = Arc::new(version);
        let mut known = self.known.lock();
        known.by_id.insert(version.id.clone(), Arc::clone(&version));
        known.last_fetched = Some(Arc::clone(&version));
        drop(known);
        version
    }
}

masked_debug!(DeploymentSecrets);

fn read(reply: GetSecretValueOutput) -> StoreResult<SecretVersion> {
    let unnamed = || StoreError::new(READING, "Secrets Manager named no version or gave no text");
    let (Some(id), Some(text)) = (reply.version_id, reply.secret_string) else {
        return Err(unnamed());
    };
    let secret = DeploymentSecret::new(&text).during(READING)?;
    Ok(SecretVersion { id, secret })
}
