//! The gate: whom an API key lets in, to which campaign, and how often.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::Client;

use crate::cache::{self, Cache};
use crate::config::{ConfigError, Env, Stage};
use crate::domain::campaign::Campaign;
use crate::domain::limit::{Left, LimitStanding};
use crate::domain::moment::Moment;
use crate::domain::scope::{CampaignSlug, Environment, Scope};
use crate::error::{Error, ErrorCode};
use crate::store::api_keys::{ApiKeyRecord, ApiKeys, KeyHash};
use crate::store::campaigns::Campaigns;
use crate::store::rate_limits::{Lease, RateLimits};

/// Requests a minute of a key that was issued without a ceiling of its own.
pub const DEFAULT_PER_MINUTE: u32 = 600;

/// Letters, digits, `_` and `-` after a key's prefix.
const KEY_BODY_CHARS: std::ops::RangeInclusive<usize> = 8..=128;

/// What a key starts with, by environment.
pub fn key_prefix(environment: Environment) -> &'static str {
    match environment {
        Environment::Test => "svc_test_",
        Environment::Live => "svc_live_",
    }
}

/// Checks keys. A key and its campaign come from a cache when they were read in the last seconds.
#[derive(Debug)]
pub struct Gate {
    stage: Stage,
    keys: ApiKeys,
    campaigns: Campaigns,
    limits: RateLimits,
    key_cache: Cache<KeyHash, ApiKeyRecord>,
    campaign_cache: Cache<CampaignSlug, Campaign>,
    leases: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Tickets>>>>,
}

/// Whom the key let in.
#[derive(Clone, Debug)]
pub struct Admitted {
    /// The campaign and environment that the key selects.
    pub scope: Scope,
    /// The key's public id.
    pub key_id: String,
    /// The campaign's configuration.
    pub campaign: Arc<Campaign>,
    /// How the key's ceiling stands.
    pub ceiling: LimitStanding,
}

/// Requests leased for a key's minute and not used yet.
#[derive(Clone, Copy, Debug, Default)]
struct Tickets {
    minute: i64,
    held: u32,
    left_for_all: u32,
}

impl Gate {
    /// The gate of the deployment that the environment describes.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn from_env(env: &Env, client: &Client) -> Result<Self, ConfigError> {
        Ok(Self {
            stage: Stage::from_env(env)?,
            keys: ApiKeys::from_env(env, client)?,
            campaigns: Campaigns::from_env(env, client)?,
            limits: RateLimits::from_env(env, client)?,
            key_cache: Cache::default(),
            campaign_cache: Cache::default(),
            leases: Mutex::default(),
        })
    }

    /// Checks the Authorization header, then SVC-Campaign, then the key's ceiling.
    ///
    /// # Errors
    /// The first check that fails; an internal error when a table does not answer.
    pub async fn admit(
        &self,
        authorization: Option<&str>,
        named_campaign: Option<&str>,
        now: Moment,
    ) -> Result<Admitted, Error> {
        let key = self.key(authorization, now).await?;
        let slug = &key.scope.campaign;
        if named_campaign.is_some_and(|named| named != slug.as_str()) {
            return Err(ErrorCode::CampaignMismatch.into());
        }
        let ceiling = self.take_ticket(&key, now).await?;
        let campaign = self.campaign_cache.get(slug, now, cache::MAX_AGE, self.campaigns.get(slug)).await?;
        let campaign = campaign.ok_or_else(|| Error::from(ErrorCode::NotFound).with_limits([ceiling]))?;
        Ok(Admitted { scope: key.scope.clone(), key_id: key.key_id.clone(), campaign, ceiling })
    }

    async fn key(&self, authorization: Option<&str>, now: Moment) -> Result<Arc<ApiKeyRecord>, Error> {
        let header = authorization.ok_or(ErrorCode::KeyMissing)?;
        let hash = KeyHash::of(bearer_key(header).ok_or(ErrorCode::KeyMalformed)?);
        let key = self.key_cache.get(&hash, now, cache::MAX_AGE, self.keys.get(&hash)).await?;
        let key = key.ok_or(ErrorCode::KeyUnknown)?;
        if key.revoked_at.is_some() {
            return Err(ErrorCode::KeyRevoked.into());
        }
        match (self.stage, key.scope.environment) {
            (Stage::Staging, Environment::Live) => Err(ErrorCode::KeyWrongEnvironment.into()),
            (Stage::Staging, Environment::Test) | (Stage::Production, _) => Ok(key),
        }
    }

    /// Takes one request out of the key's ceiling. Tickets are leased from the table in blocks that
    /// shrink as the ceiling nears, so that a request rarely costs a call and the last ones are shared
    /// out singly.
    ///
    /// What is said to be left is what is held here and what was left for everybody when this process last
    /// leased: too much while other processes lease as well, until this one asks again.
    async fn take_ticket(&self, key: &ApiKeyRecord, now: Moment) -> Result<LimitStanding, Error> {
        let minute = now.as_minutes();
        let tickets = self.tickets(&key.key_id);
        let mut tickets = tickets.lock().await;
        if tickets.minute != minute {
            *tickets = Tickets { minute, held: 0, left_for_all: key.per_minute };
        }
        if tickets.held == 0 && tickets.left_for_all > 0 {
            let wanted = block(tickets.left_for_all);
            let Lease { got, left } = self.limits.lease(&key.key_id, minute, key.per_minute, wanted).await?;
            tickets.held = got;
            tickets.left_for_all = left;
        }
        let admitted = tickets.held.checked_sub(1);
        tickets.held = admitted.unwrap_or(0);
        let until = until_next_minute(now);
        let ceiling = LimitStanding {
            name: "key",
            quota: key.per_minute,
            window: Duration::from_secs(60),
            left: Some(Left { requests: tickets.held.saturating_add(tickets.left_for_all), until }),
        };
        match admitted {
            Some(_) => Ok(ceiling),
            None => Err(Error::from(ErrorCode::RateLimited)
                .with_detail(format!("The key has used up its {} requests of this minute.", key.per_minute))
                .with_retry_after(until)
                .with_limits([ceiling])),
        }
    }

    fn tickets(&self, key_id: &str) -> Arc<tokio::sync::Mutex<Tickets>> {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(leases.entry(key_id.to_owned()).or_default())
    }
}

/// How many requests to lease when this many are left for everybody.
fn block(left: u32) -> u32 {
    /// A function that is recycled early wastes no more than this.
    const LARGEST: u32 = 50;
    /// At most this share of what is left, so that functions do not starve each other.
    const SHARE: u32 = 8;
    (left / SHARE).clamp(1, LARGEST)
}

fn until_next_minute(now: Moment) -> Duration {
    Moment::from_millis((now.as_minutes() + 1) * 60_000).since(now)
}

/// The key in `Bearer <key>`, if it looks like one.
fn bearer_key(header: &str) -> Option<&str> {
    let (scheme, key) = header.trim().split_once(' ')?;
    let key = key.trim_start();
    let body =
        [Environment::Test, Environment::Live].into_iter().find_map(|e| key.strip_prefix(key_prefix(e)))?;
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
        assert_eq!(bearer_key("Bearer svc_test_12345678"), Some("svc_test_12345678"));
        assert_eq!(bearer_key("bEARER svc_live_a-b_c-d_e"), Some("svc_live_a-b_c-d_e"));
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

    #[test]
    fn leasing_a_whole_ceiling_takes_less_than_a_tenth_of_a_call_for_each_request() {
        let mut left = DEFAULT_PER_MINUTE;
        let mut calls = 0;
        while left > 0 {
            left -= block(left);
            calls += 1;
        }
        assert!(calls * 10 < DEFAULT_PER_MINUTE, "{calls} calls");
        assert_eq!(block(15), 1, "the last ones are shared out singly");
    }
}
