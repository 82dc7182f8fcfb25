//! Asking a partner about a submission: its secret, its circuit breaker, and the one question.

use std::time::Duration;

use aws_sdk_dynamodb::Client;

use crate::config::{ConfigError, Env};
use crate::connection::Aws;
use crate::domain::campaign::Campaign;
use crate::domain::moment::Moment;
use crate::domain::partner::course::{Asked, question};
use crate::domain::submission::Submission;
use crate::secrets::Secrets;
use crate::store::StoreError;
use crate::store::breakers::{Breakers, Passage};
use crate::upstream::partner::answer::{NoAnswer, PartnerAnswer};
use crate::upstream::partner::client::{Addresses, Partner};

/// The variable that lets partners be anywhere: `any`, on the local stack alone.
pub const ADDRESSES_VARIABLE: &str = "PARTNER_ADDRESSES";

/// Where partners are asked.
pub struct PartnerDesk {
    partner: Partner,
    secrets: Secrets,
    breakers: Breakers,
}

impl PartnerDesk {
    /// Connects to what the environment names. Partners have to be at public addresses, unless it says
    /// otherwise.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn from_env(env: &Env, aws: &Aws, dynamodb: &Client) -> Result<Self, ConfigError> {
        let malformed =
            ConfigError::Malformed { variable: ADDRESSES_VARIABLE, expected: "`public` or `any`" };
        let addresses = match env.optional(ADDRESSES_VARIABLE).as_deref() {
            None | Some("public") => Addresses::PublicOnly,
            Some("any") => Addresses::AnyForLocal,
            Some(_) => return Err(malformed),
        };
        Ok(Self {
            partner: Partner::new(addresses).map_err(|_| malformed)?,
            secrets: Secrets::from_env(env, aws)?,
            breakers: Breakers::from_env(env, dynamodb)?,
        })
    }

    /// Asks the campaign's partner about a submission, for at most `limit`. The submission's id is the
    /// reference, so asking twice redeems once.
    ///
    /// # Errors
    /// When a table does not answer.
    pub async fn ask(
        &self,
        submission: &Submission,
        campaign: &Campaign,
        limit: Duration,
        now: Moment,
    ) -> Result<Asked, StoreError> {
        let scope = &submission.scope;
        let (Some(rules), Some(question)) = (&campaign.partner, question(submission)) else {
            return Ok(Asked::Silent { why: NoAnswer::Misconfigured.as_str(), upstream: None });
        };
        let after_failures = match self.breakers.passage(scope, now).await? {
            Passage::Closed { until } => return Ok(Asked::Spared(until)),
            Passage::Free { after_failures } => after_failures,
        };
        let secret = match &rules.secret {
            None => None,
            Some(secret) => match self.secrets.get(&secret.name, now).await? {
                Some(value) => Some(value),
                None => {
                    let why = NoAnswer::Misconfigured.as_str();
                    return Ok(Asked::Silent { why, upstream: None });
                }
            },
        };
        let secret = secret.as_ref().map(|value| value.as_str());
        match self.partner.ask(rules, secret, &question, limit).await {
            PartnerAnswer::Verdict(verdict) => {
                if after_failures {
                    // An answer counts whatever becomes of the breaker, which opens for the next one at worst.
                    let _ = self.breakers.answered(scope).await;
                }
                Ok(Asked::Decided(verdict))
            }
            PartnerAnswer::NoAnswer(why) => {
                let _ = self.breakers.failed(scope, now).await;
                Ok(Asked::Silent { why: why.as_str(), upstream: why.upstream().cloned() })
            }
        }
    }
}
