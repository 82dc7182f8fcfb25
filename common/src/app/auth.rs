use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use tokio::time::timeout;

use crate::cache::{self, Cache};
use crate::config::{ConfigError, Env, Stage};
use crate::domain::leased_quota::LeasedQuota;
use crate::domain::rate_limit_status::Remaining;
use crate::domain::{Campaign, CampaignSlug, Environment, RateLimitStatus, Scope, Timestamp};
use crate::error::{Error, ErrorCode};
use crate::lock::Mutex;
use crate::store::api_keys::{ApiKeyRecord, ApiKeys, KeyHash};
use crate::store::batch::{BatchGet, BatchItems};
use crate::store::campaigns::Campaigns;
use crate::store::rate_limits::{Lease, RateLimits};

pub const DEFAULT_PER_MINUTE: u32 = 600;

const KEY_BODY_CHARS: std::ops::RangeInclusive<usize> = 8..=128;

pub fn key_prefix(environment: Environment) -> &'static str {
    match environment {
        Environment::Test => "svc_test_",
        Environment::Live => "svc_live_",
    }
}

const LEASE_AHEAD_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Authenticator {
    stage: Stage,
    client: Client,
    keys: ApiKeys,
    campaigns: Campaigns,
    limits: RateLimits,
    key_cache: Cache<KeyHash, ApiKeyRecord>,
    campaign_cache: Cache<CampaignSlug, Campaign>,
    quotas: Mutex<HashMap<String, Arc<tokio::sync::Mutex<LeasedQuota>>>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    pub authorization: Option<&'a str>,
    /// Must name the key's campaign, if sent.
    pub campaign: Option<&'a str>,
}

#[derive(Clone, Debug, Default)]
pub struct Caller {
    pub key: Option<Arc<ApiKeyRecord>>,
    pub rate_limit: Option<RateLimitStatus>,
    pub test_time: Option<Timestamp>,
    pub has_malformed_ip: bool,
}

#[derive(Clone, Debug)]
pub struct AuthContext {
    pub scope: Scope,
    /// Five seconds old at most.
    pub campaign: Arc<Campaign>,
    /// Prefetched for the endpoint; empty if key and campaign were cached.
    pub prefetched: BatchItems,
}

impl Authenticator {
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            stage: Stage::from_env(env)?,
            client: client.clone(),
            keys: ApiKeys::from_env(env, client)?,
            campaigns: Campaigns::from_env(env, client)?,
            limits: RateLimits::from_env(env, client)?,
            key_cache: Cache::default(),
            campaign_cache: Cache::default(),
            quotas: Mutex::default(),
        })
    }

    /// Checks the Authorization header, then SVC-Campaign, then the key's rate limit. One batch
    /// reads campaign and more while the rate limit is leased; `prefetch` adds the endpoint's
    /// records, for the campaign that this environment saw last.
    pub async fn authenticate(
        &self,
        credentials: Credentials<'_>,
        prefetch: impl FnOnce(&Scope, Option<&Campaign>, &mut BatchGet),
        caller: &mut Caller,
        now: Timestamp,
    ) -> Result<AuthContext, Error> {
        let hash = key_hash(credentials)?;
        // A cached refusal, or its reason, may be outdated.
        let passed = |key: &Arc<ApiKeyRecord>| self.check(key, credentials, now).is_ok();
        let fresh = self.key_cache.peek(&hash, now, cache::MAX_AGE);
        let key = match fresh.or_else(|| self.key_cache.peek_any(&hash).filter(passed)) {
            Some(key) => key,
            None => self
                .read_key(&hash, now)
                .await?
                .ok_or(ErrorCode::KeyUnknown)?,
        };
        let key = caller.key.insert(key).clone();
        self.check(&key, credentials, now)?;

        let slug = &key.scope.campaign;
        let is_fresh = self.key_cache.peek(&hash, now, cache::MAX_AGE).is_some();
        let cached = self
            .campaign_cache
            .peek(slug, now, cache::MAX_AGE)
            .filter(|_| is_fresh);
        if let Some(campaign) = cached {
            caller.rate_limit = Some(self.count(&key, now).await?);
            let scope = key.scope.clone();
            return Ok(AuthContext {
                scope,
                campaign,
                prefetched: BatchItems::default(),
            });
        }

        let mut batch = BatchGet::default();
        self.campaigns.add_to(&mut batch, slug);
        if !is_fresh {
            self.keys.add_to(&mut batch, &hash);
        }
        prefetch(
            &key.scope,
            self.campaign_cache.peek_any(slug).as_deref(),
            &mut batch,
        );
        let reading = batch.send(&self.client, "reading a key and its campaign");
        let (items, mut counted) = tokio::join!(reading, self.count(&key, now));
        let items = items?;
        if !is_fresh {
            let found = self
                .key_cache
                .set(&hash, now, self.keys.find_in(&items, &hash)?);
            let current = caller
                .key
                .insert(found.ok_or(ErrorCode::KeyUnknown)?)
                .clone();
            self.check(&current, credentials, now)?;
            if current.per_minute != key.per_minute {
                // The request was counted under an outdated limit.
                counted = self.count(&current, now).await;
            }
        }
        caller.rate_limit = Some(counted?);
        let campaign = self
            .campaign_cache
            .set(slug, now, self.campaigns.find_in(&items, slug)?);
        let campaign = campaign.ok_or(ErrorCode::NotFound)?;
        Ok(AuthContext {
            scope: key.scope.clone(),
            campaign,
            prefetched: items,
        })
    }

    async fn read_key(
        &self,
        hash: &KeyHash,
        now: Timestamp,
    ) -> Result<Option<Arc<ApiKeyRecord>>, Error> {
        let mut batch = BatchGet::default();
        self.keys.add_to(&mut batch, hash);
        let items = batch.send(&self.client, "reading an API key").await?;
        Ok(self
            .key_cache
            .set(hash, now, self.keys.find_in(&items, hash)?))
    }

    fn check(
        &self,
        key: &ApiKeyRecord,
        credentials: Credentials<'_>,
        now: Timestamp,
    ) -> Result<(), Error> {
        if key.is_revoked(now) {
            return Err(ErrorCode::KeyRevoked.into());
        }
        match (self.stage, key.scope.environment) {
            (Stage::Staging, Environment::Live) => {
                return Err(ErrorCode::KeyWrongEnvironment.into());
            }
            (Stage::Staging, Environment::Test) | (Stage::Production, _) => {}
        }
        if credentials
            .campaign
            .is_some_and(|named| named != key.scope.campaign.as_str())
        {
            return Err(ErrorCode::CampaignMismatch.into());
        }
        Ok(())
    }

    async fn count(&self, key: &ApiKeyRecord, now: Timestamp) -> Result<RateLimitStatus, Error> {
        let quota = self.quota(&key.key_id);
        let mut quota = quota.lock().await;
        quota.begin(key.per_minute, now);
        if let Some(wanted) = quota.wanted(now) {
            self.lease(&mut quota, key, wanted, now).await?;
        }
        let admitted = quota.consume(now);
        let until = until_next_minute(now);
        let status = RateLimitStatus {
            name: "key",
            quota: key.per_minute,
            window: Duration::from_secs(60),
            left: Some(Remaining {
                requests: quota.remaining(),
                until,
            }),
        };
        if admitted {
            return Ok(status);
        }
        Err(Error::from(ErrorCode::RateLimited)
            .with_detail(format!(
                "The key has used up its {} requests of this minute.",
                key.per_minute
            ))
            .with_retry_after(until)
            .with_limits([status]))
    }

    /// Run beside the work on a request, for the next one.
    pub async fn lease_ahead(&self, key: &ApiKeyRecord, now: Timestamp) {
        let leasing = async {
            let quota = self.quota(&key.key_id);
            let mut quota = quota.lock().await;
            match quota.wanted_ahead(now) {
                Some(wanted) => self.lease(&mut quota, key, wanted, now).await,
                None => Ok(()),
            }
        };
        // A slow table must not delay a finished reply.
        let _ = timeout(LEASE_AHEAD_TIMEOUT, leasing).await;
    }

    async fn lease(
        &self,
        quota: &mut LeasedQuota,
        key: &ApiKeyRecord,
        wanted: u32,
        now: Timestamp,
    ) -> Result<(), Error> {
        let leasing = self
            .limits
            .lease(&key.key_id, now.as_minutes(), key.per_minute, wanted);
        let Lease { granted, left } = leasing.await?;
        quota.add(granted, left, now);
        Ok(())
    }

    fn quota(&self, key_id: &str) -> Arc<tokio::sync::Mutex<LeasedQuota>> {
        let mut quotas = self.quotas.lock();
        Arc::clone(quotas.entry(key_id.to_owned()).or_default())
    }
}

fn key_hash(credentials: Credentials<'_>) -> Result<KeyHash, ErrorCode> {
    let header = credentials.authorization.ok_or(ErrorCode::KeyMissing)?;
    bearer_key(header)
        .map(KeyHash::digest)
        .ok_or(ErrorCode::KeyMalformed)
}

fn until_next_minute(now: Timestamp) -> Duration {
    Timestamp::from_millis((now.as_minutes() + 1) * 60_000).since(now)
}

fn bearer_key(header: &str) -> Option<&str> {
    let (scheme, key) = header.trim().split_once(' ')?;
    let key = key.trim_start();
    let body = [Environment::Test, Environment::Live]
        .into_iter()
        .find_map(|e| key.strip_prefix(key_prefix(e)))?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let well_formed = scheme.eq_ignore_ascii_case("bearer")
        && KEY_BODY_CHARS.contains(&body.len())
        && body.bytes().all(allowed);
    well_formed.then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_recognised_by_its_shape() {
        assert_eq!(
            bearer_key("Bearer svc_test_12345678"),
            Some("svc_test_12345678")
        );
        assert_eq!(
            bearer_key("bEARER svc_live_a-b_c-d_e"),
            Some("svc_live_a-b_c-d_e")
        );
        for bad in [
            "svc_test_12345678",
            "Basic svc_test_12345678",
            "Bearer svc_test_1234567",
            "Bearer svc_prod_12345678",
            "Bearer svc_test_1234 5678",
            "Bearer svc_test_12345678,Bearer svc_test_12345678",
            "Bearer",
            "",
            &format!("Bearer svc_test_{}", "x".repeat(129)),
        ] {
            assert_eq!(bearer_key(bad), None, "{bad}");
        }
    }
}
