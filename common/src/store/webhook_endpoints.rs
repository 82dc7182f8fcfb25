use std::sync::Arc;
use std::time::Duration;

use super::campaigns::Campaigns;
use super::encrypted_keys::{SECRET_VERSION, decrypted, encrypted, secret_version};
use super::table::{self, Table};
use super::write::Write;
use super::{Item, StoreError, StoreResult, from_record, read_time, readable, text, transaction};
use crate::aws::Aws;
use crate::aws::deployment_secret::{DeploymentSecrets, SecretVersion};
use crate::config::{ConfigError, Env};
use crate::domain::key_encryption::KeyContext;
use crate::domain::webhook::{Endpoint, EndpointId, EndpointStatus, WebhookSecret};
use crate::domain::{Scope, Timestamp};

pub const KEY: &str = "scope";
pub const VARIABLE: &str = "WEBHOOK_ENDPOINTS_TABLE";

const SORT: &str = "endpoint";
const SECRET: &str = "secret";
const PREVIOUS_SECRET: &str = "previous_secret";
const PREVIOUS_UNTIL: &str = "previous_until";
const FAILING_SINCE: &str = "failing_since";
const LAST_SUCCESS: &str = "last_success_at";
const REVISION: &str = "revision";
const STATUS: &str = "status";
/// Both secrets sign for so long after a rotation.
const ROTATION: Duration = Duration::from_hours(24);

const LISTING_ALL: &str = "listing all endpoints";
const READING: &str = "reading an endpoint";
const WRITING: &str = "writing an endpoint";
const READING_SECRET: &str = "reading an endpoint's secret";

#[derive(Clone, Debug)]
pub struct WebhookEndpoints {
    table: Table,
    campaigns: Campaigns,
    secrets: DeploymentSecrets,
}

#[derive(Clone, Debug)]
pub struct OpenedEndpoint {
    pub endpoint: Endpoint,
    /// The current one first.
    pub secrets: Vec<WebhookSecret>,
}

impl WebhookEndpoints {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let client = aws.dynamodb();
        Ok(Self {
            table: Table::from_env(env, &client, VARIABLE, KEY)?,
            campaigns: Campaigns::from_env(env, &client)?,
            secrets: DeploymentSecrets::from_env(env, aws)?,
        })
    }

    /// Oldest first.
    pub async fn list(&self, scope: &Scope) -> StoreResult<Vec<Endpoint>> {
        let items = self.items(scope).await?.into_iter();
        let endpoints = items.map(|item| from_record(item, READING));
        let mut endpoints: Vec<Endpoint> = endpoints.collect::<Result<_, _>>()?;
        endpoints.sort_by_key(|endpoint| endpoint.created_at);
        Ok(endpoints)
    }

    pub async fn list_readable(&self, scope: &Scope) -> StoreResult<Vec<Endpoint>> {
        let items = self.items(scope).await?.into_iter();
        Ok(items.filter_map(|item| readable(item, READING)).collect())
    }

    async fn items(&self, scope: &Scope) -> StoreResult<Vec<Item>> {
        let scope = (":scope", text(scope.to_string()));
        let query = self.table.query("#scope = :scope", [scope]);
        table::all(query.consistent_read(true), "listing endpoints").await
    }

    /// Reads the whole, small table.
    pub async fn list_all(&self) -> StoreResult<Vec<Endpoint>> {
        let read = |item| from_record(item, READING);
        table::list(self.table.scan(), LISTING_ALL, read).await
    }

    /// Reads the whole, small table.
    pub async fn list_all_readable(&self) -> StoreResult<Vec<Endpoint>> {
        let items = table::list(self.table.scan(), LISTING_ALL, Ok).await?;
        let items = items.into_iter();
        Ok(items.filter_map(|item| readable(item, READING)).collect())
    }

    pub async fn get(&self, scope: &Scope, id: &EndpointId) -> StoreResult<Option<Endpoint>> {
        let item = self.get_item(scope, id, READING).await?;
        item.map(|item| from_record(item, READING)).transpose()
    }

    async fn get_item(
        &self,
        scope: &Scope,
        id: &EndpointId,
        action: &'static str,
    ) -> StoreResult<Option<Item>> {
        let mut key = self.table.key(scope.to_string());
        key.insert(SORT.to_owned(), text(id.as_str()));
        self.table.get_item(key, action).await
    }

    /// False if the scope has [`Endpoint::MAX_PER_SCOPE`].
    pub async fn add(&self, endpoint: &Endpoint, secret: &WebhookSecret) -> StoreResult<bool> {
        let scope = &endpoint.scope;
        let version = self.secrets.current().await?;
        let context = KeyContext::Webhook(scope, &endpoint.endpoint);
        let put = self
            .table
            .put(scope.to_string(), endpoint)
            .set(SECRET_VERSION, &version.id)
            .set_attribute(SECRET, encrypted(&version, context, secret.key(), WRITING)?)
            .when_absent(SORT);
        let writes = vec![put, self.campaigns.add_webhook(scope)];
        transaction::write_all(writes, "adding an endpoint").await
    }

    /// The current one first; empty if the endpoint was removed.
    pub async fn secrets(
        &self,
        scope: &Scope,
        id: &EndpointId,
        now: Timestamp,
    ) -> StoreResult<Vec<WebhookSecret>> {
        match self.get_item(scope, id, READING_SECRET).await? {
            Some(item) => self.secrets_in(&item, scope, id, now).await,
            None => Ok(Vec::new()),
        }
    }

    pub async fn open(
        &self,
        scope: &Scope,
        id: &EndpointId,
        now: Timestamp,
    ) -> StoreResult<Option<OpenedEndpoint>> {
        let Some(item) = self.get_item(scope, id, READING).await? else {
            return Ok(None);
        };
        let secrets = self.secrets_in(&item, scope, id, now).await?;
        let endpoint = from_record(item, READING)?;
        Ok(Some(OpenedEndpoint { endpoint, secrets }))
    }

    async fn secrets_in(
        &self,
        item: &Item,
        scope: &Scope,
        id: &EndpointId,
        now: Timestamp,
    ) -> StoreResult<Vec<WebhookSecret>> {
        let id_of_version = secret_version(item, READING_SECRET)?;
        let version = self.secrets.version(id_of_version).await?;
        let context = KeyContext::Webhook(scope, id);
        let secret = |name| {
            let key = decrypted(&version, context, item.get(name), READING_SECRET);
            key.map(WebhookSecret::new)
        };
        let mut secrets = vec![secret(SECRET)?];
        if read_time(item, PREVIOUS_UNTIL).is_some_and(|until| now < until) {
            secrets.push(secret(PREVIOUS_SECRET)?);
        }
        self.secrets.remember(id_of_version, &version);
        Ok(secrets)
    }

    /// The earlier one signs too for a day. False if the endpoint changed.
    pub async fn rotate(
        &self,
        endpoint: &Endpoint,
        secret: &WebhookSecret,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let (scope, id) = (&endpoint.scope, &endpoint.endpoint);
        let secrets = self.secrets(scope, id, now).await?;
        let previous = secrets
            .first()
            .ok_or_else(|| StoreError::new(WRITING, "the endpoint was removed"))?;
        let version = self.secrets.current().await?;
        let update = self
            .with_secrets(endpoint, &version, secret, Some(previous))?
            .set(PREVIOUS_UNTIL, now.after(ROTATION));
        update.send("rotating an endpoint's secret").await
    }

    /// False if they already are, or if the endpoint changed.
    pub async fn reencrypt(
        &self,
        endpoint: &Endpoint,
        version: &Arc<SecretVersion>,
    ) -> StoreResult<bool> {
        let (scope, id) = (&endpoint.scope, &endpoint.endpoint);
        let Some(item) = self.get_item(scope, id, READING_SECRET).await? else {
            return Ok(false);
        };
        if secret_version(&item, READING_SECRET)? == version.id {
            return Ok(false);
        }
        // Also an outdated one, so that the record holds nothing of the earlier version.
        let beginning = Timestamp::from_millis(0);
        let secrets = self.secrets_in(&item, scope, id, beginning).await?;
        let Some(secret) = secrets.first() else {
            return Ok(false);
        };
        let update = self.with_secrets(endpoint, version, secret, secrets.get(1))?;
        update.send("encrypting an endpoint's secret again").await
    }

    fn with_secrets(
        &self,
        endpoint: &Endpoint,
        version: &SecretVersion,
        secret: &WebhookSecret,
        previous: Option<&WebhookSecret>,
    ) -> StoreResult<Write> {
        let context = KeyContext::Webhook(&endpoint.scope, &endpoint.endpoint);
        let stored = |secret: &WebhookSecret| encrypted(version, context, secret.key(), WRITING);
        let update = self
            .change(endpoint)
            .set(SECRET_VERSION, &version.id)
            .set_attribute(SECRET, stored(secret)?);
        Ok(match previous {
            Some(previous) => update.set_attribute(PREVIOUS_SECRET, stored(previous)?),
            None => update,
        })
    }

    /// False if the endpoint changed. An active endpoint counts as working.
    pub async fn set_status(
        &self,
        endpoint: &Endpoint,
        status: EndpointStatus,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let update = self.change(endpoint).set(STATUS, status);
        let update = match status {
            EndpointStatus::Active => update.remove([FAILING_SINCE]).set(LAST_SUCCESS, now),
            EndpointStatus::Unproven | EndpointStatus::Stopped => update,
        };
        update.send("changing an endpoint").await
    }

    /// Stops an endpoint that answered 410, unless an operator changed it meanwhile.
    pub async fn stop(&self, endpoint: &Endpoint, now: Timestamp) -> StoreResult<bool> {
        self.set_status(endpoint, EndpointStatus::Stopped, now)
            .await
    }

    /// False if the endpoint changed.
    pub async fn remove(&self, endpoint: &Endpoint) -> StoreResult<bool> {
        let scope = &endpoint.scope;
        let delete = self
            .table
            .delete(scope.to_string())
            .sort(SORT, endpoint.endpoint.as_str())
            .when_equal(REVISION, endpoint.revision);
        let campaign = self.campaigns.remove_webhook(scope);
        transaction::write_all(vec![delete, campaign], "removing an endpoint").await
    }

    /// True if the endpoint turned bad.
    pub async fn record_failure(&self, endpoint: &Endpoint, now: Timestamp) -> StoreResult<bool> {
        if endpoint.failing_since.is_some() {
            return Ok(false);
        }
        let update = self.update(endpoint).set(FAILING_SINCE, now);
        let update = update.when_present(SORT).when_absent(FAILING_SINCE);
        update.send("recording an endpoint's failure").await
    }

    /// Writes only if it is news: [`Endpoint::is_success_news`].
    pub async fn record_success(&self, endpoint: &Endpoint, now: Timestamp) -> StoreResult<()> {
        if !endpoint.is_success_news(now) {
            return Ok(());
        }
        let update = self.update(endpoint).set(LAST_SUCCESS, now);
        let update = update.remove([FAILING_SINCE]).when_present(SORT);
        update
            .send("recording an endpoint's success")
            .await
            .map(drop)
    }

    /// A timeline of two operators: both read revision 3; the first writes revision 4; the second's
    /// condition fails.
    fn change(&self, endpoint: &Endpoint) -> Write {
        self.update(endpoint)
            .set(REVISION, endpoint.revision.saturating_add(1))
            .when_equal(REVISION, endpoint.revision)
    }

    fn update(&self, endpoint: &Endpoint) -> Write {
        self.table
            .update(endpoint.scope.to_string())
            .sort(SORT, endpoint.endpoint.as_str())
    }
}
