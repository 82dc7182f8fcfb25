//! Asking a partner about a submission: its secret, its circuit breaker, how many ask at a time, and the one request.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::aws::Aws;
use crate::aws::secrets::Secrets;
use crate::config::{ConfigError, Env};
use crate::domain::campaign::Campaign;
use crate::domain::partner::PartnerRules;
use crate::domain::partner::course::{Asked, FaultOwner, Silence, partner_request};
use crate::domain::partner::reply::PartnerVerdict;
use crate::domain::submission::Submission;
use crate::domain::timestamp::Timestamp;
use crate::random;
use crate::store::StoreError;
use crate::store::breakers::{Breakers, Grant, Permit};
use crate::store::partner_leases::{PartnerLease, PartnerLeases};
use crate::upstream::http_client::{Addresses, TransportError};
use crate::upstream::partner::client::Partner;
use crate::upstream::partner::error::PartnerError;

/// The variable that lets partners be anywhere: `any`, on the local stack alone.
pub const ADDRESSES_VARIABLE: &str = "PARTNER_ADDRESSES";

/// What reading the breaker and the secret may take of a partner's time without its silence counting less.
const PREPARING_TIME: Duration = Duration::from_secs(1);
/// With less time than this a partner is not asked: it could redeem, and hardly be heard.
const MIN_TIME: Duration = Duration::from_secs(2);
/// How long a lease holds after the time of its request is up.
const LEASE_MARGIN: Duration = Duration::from_secs(2);

/// The way to partners.
pub struct PartnerGateway {
    partner: Partner,
    secrets: Secrets,
    breakers: Breakers,
    leases: PartnerLeases,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A request, for which a consumer waits: at most `max_in_flight` of a campaign ask at a time.
    Request,
    /// The queue, whose function has a concurrency of its own.
    Queue,
}

/// What came of asking, and what is to be given back with [`PartnerGateway::release`].
#[derive(Debug)]
pub struct Answered {
    /// What came of it.
    pub asked: Asked,
    /// Leave to ask, which others can have now.
    pub lease: Option<PartnerLease>,
}

impl From<Asked> for Answered {
    fn from(asked: Asked) -> Self {
        Self { asked, lease: None }
    }
}

impl PartnerGateway {
    /// Connects to what the environment names. Partners have to be at public addresses, unless it says
    /// otherwise.
    ///
    /// # Errors
    /// Names the variable that is missing or malformed.
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let malformed =
            ConfigError::Malformed { variable: ADDRESSES_VARIABLE, expected: "`public` or `any`" };
        let addresses = match env.optional(ADDRESSES_VARIABLE).as_deref() {
            None | Some("public") => Addresses::PublicOnly,
            Some("any") => Addresses::Any,
            Some(_) => return Err(malformed),
        };
        Ok(Self {
            partner: Partner::new(addresses),
            secrets: Secrets::from_env(env, aws)?,
            breakers: Breakers::from_env(env, &aws.dynamodb())?,
            leases: PartnerLeases::from_env(env, &aws.dynamodb())?,
        })
    }

    /// Asks the campaign's partner about a submission, for at most `limit`. The submission's id is the
    /// reference, so asking twice redeems once.
    ///
    /// # Errors
    /// When a table does not answer, or Secrets Manager, or not in time; the partner was not asked then.
    pub async fn ask(
        &self,
        submission: &Submission,
        campaign: &Campaign,
        limit: Duration,
        caller: Caller,
        clock: impl Fn() -> Timestamp,
    ) -> Result<Answered, StoreError> {
        let scope = &submission.scope;
        let (Some(rules), Some(request)) = (&campaign.partner, partner_request(submission)) else {
            let silence = Silence::unasked(PartnerError::Misconfigured.as_str(), FaultOwner::AppContext);
            return Ok(Asked::Silent(silence).into());
        };
        let deadline = Instant::now() + limit;
        let preparing = async {
            let was_tried = submission.settling.as_ref().is_some_and(|settling| settling.asked > 0);
            let permit = self.breakers.acquire(scope, submission.submission_id, was_tried, clock()).await?;
            let secret = match &rules.secret {
                Some(secret) => self.secrets.get(&secret.name, clock()).await?,
                None => None,
            };
            Ok((permit, secret))
        };
        let in_time = timeout_at(deadline, preparing).await;
        let (permit, secret) = in_time.unwrap_or_else(|_| Err(late()))?;
        let grant = match permit {
            Permit::CircuitOpen { retry_at } => return Ok(Asked::Spared(retry_at).into()),
            Permit::Granted(grant) => grant,
        };
        // There is one probe at a time, so it needs no lease.
        let lease = if caller == Caller::Request && !grant.is_probe() {
            let now = clock();
            let until = now.after(deadline.saturating_duration_since(Instant::now()) + LEASE_MARGIN);
            let taking = self.leases.take(scope, rules.max_in_flight, until, now, random::unit_f64);
            match timeout_at(deadline, taking).await.unwrap_or_else(|_| Err(late()))? {
                Some(lease) => Some(lease),
                None => return Ok(Asked::AtLimit.into()),
            }
        } else {
            None
        };
        let secret = secret.as_ref().map(|value| value.as_str());
        let left = deadline.saturating_duration_since(Instant::now());
        if left < MIN_TIME {
            self.release(lease).await;
            return Err(late());
        }
        let answer = self.partner.ask(rules, secret, &request, left).await;
        let asked = self.record(answer, submission, rules, grant, left, clock()).await;
        Ok(Answered { asked, lease })
    }

    /// Gives leave to ask back. Should that fail, it is over some seconds later.
    pub async fn release(&self, lease: Option<PartnerLease>) {
        if let Some(lease) = lease {
            let _ = self.leases.release(&lease).await;
        }
    }

    /// Tells the breaker what came of a request that had this time left.
    async fn record(
        &self,
        answer: Result<PartnerVerdict, PartnerError>,
        submission: &Submission,
        rules: &PartnerRules,
        grant: Grant,
        left: Duration,
        now: Timestamp,
    ) -> Asked {
        let scope = &submission.scope;
        let error = match answer {
            Ok(verdict) => {
                // An answer counts whatever becomes of the breaker, which opens for the next one at worst.
                let _ = self.breakers.record_success(scope, grant).await;
                return Asked::Decided(verdict);
            }
            Err(error) => error,
        };
        let is_timeout = matches!(error, PartnerError::Transport(TransportError::Timeout));
        // A partner that was given less time than it has a right to is not down for using it.
        let is_cut_short = is_timeout && left + PREPARING_TIME < rules.timeout();
        let opened_breaker = match error.fault_owner() {
            FaultOwner::Partner if is_cut_short => false,
            FaultOwner::Partner => self.breakers.record_failure(scope, grant, now).await.unwrap_or(false),
            // A reply that is not understood shows that the partner is up.
            FaultOwner::AppContext if error.may_have_arrived() => {
                let _ = self.breakers.record_success(scope, grant).await;
                false
            }
            FaultOwner::AppContext | FaultOwner::Service => false,
        };
        Asked::Silent(Silence {
            why: error.as_str(),
            upstream: error.upstream().cloned(),
            may_have_arrived: error.may_have_arrived(),
            fault_owner: error.fault_owner(),
            opened_breaker,
        })
    }
}

fn late() -> StoreError {
    StoreError::new("preparing a partner's request", "it took too long")
}
