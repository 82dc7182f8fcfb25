use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::aws::Aws;
use crate::aws::secrets::Secrets;
use crate::config::{ConfigError, Env};
use crate::domain::partner::outcome::partner_request;
use crate::domain::{
    Campaign, FaultOwner, PartnerOutcome, PartnerRules, PartnerVerdict, PendingSettlement, Phone,
    Submission, SubmissionId, Timestamp, Unanswered,
};
use crate::error::{StoreError, StoreResult};
use crate::random;
use crate::store::breakers::{BreakerPermit, Breakers, Grant};
use crate::store::partner_leases::{PartnerLease, PartnerLeases};
use crate::telemetry;
use crate::upstream::http_client::{Addresses, TransportError};
use crate::upstream::partner::client::Partner;
use crate::upstream::partner::error::PartnerError;

/// Time for breaker and secret; a timeout after it still counts as the partner's.
const PREPARING_TIME: Duration = Duration::from_secs(1);
/// Minimum for a request: with less, the partner could redeem the code and answer too late.
const MIN_TIME: Duration = Duration::from_secs(2);
const LEASE_MARGIN: Duration = Duration::from_secs(2);

pub struct PartnerGateway {
    partner: Partner,
    secrets: Secrets,
    breakers: Breakers,
    leases: PartnerLeases,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedFrom {
    /// A campaign has at most `max_in_flight` at a time.
    Request,
    /// The function limits its own concurrency.
    Queue,
}

#[derive(Debug)]
pub struct Answered {
    pub outcome: PartnerOutcome,
    pub lease: Option<PartnerLease>,
}

impl From<PartnerOutcome> for Answered {
    fn from(outcome: PartnerOutcome) -> Self {
        Self {
            outcome,
            lease: None,
        }
    }
}

impl PartnerGateway {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self {
            partner: Partner::new(Addresses::from_env(env)?),
            secrets: Secrets::from_env(env, aws)?,
            breakers: Breakers::for_partners(env, &aws.dynamodb())?,
            leases: PartnerLeases::from_env(env, &aws.dynamodb())?,
        })
    }

    /// The submission's id is the reference, so a repeated request redeems nothing more. After an
    /// error, the partner was not asked.
    pub async fn ask(
        &self,
        submission: &Submission,
        phone: &Phone,
        campaign: &Campaign,
        limit: Duration,
        asked_from: AskedFrom,
        clock: impl Fn() -> Timestamp,
    ) -> StoreResult<Answered> {
        let scope = &submission.scope;
        let (Some(rules), Some(request)) = (&campaign.partner, partner_request(submission, phone))
        else {
            let subject = submission.submission_id;
            tracing::warn!(%subject, "a partner was not asked: the campaign has no partner, or the submission no code");
            let unasked = Unanswered::unasked(PartnerError::MISCONFIGURED, FaultOwner::Campaign);
            return Ok(PartnerOutcome::NoAnswer(unasked).into());
        };
        let deadline = Instant::now() + limit;
        let (breaker, subject) = (scope.to_string(), submission.submission_id.to_string());
        let preparing = async {
            let progress = submission
                .settling
                .as_ref()
                .map(PendingSettlement::partner_progress);
            let was_tried = progress.is_some_and(|progress| progress.attempts > 0);
            let permit = self
                .breakers
                .acquire(&breaker, &subject, was_tried, clock())
                .await?;
            let secret = match &rules.secret {
                Some(secret) => self.secrets.get(&secret.name, clock()).await?,
                None => None,
            };
            Ok((permit, secret))
        };
        let in_time = timeout_at(deadline, preparing).await;
        let (permit, secret) = in_time.unwrap_or_else(|_| Err(late()))?;
        let grant = match permit {
            BreakerPermit::CircuitOpen { retry_at } => {
                return Ok(PartnerOutcome::CircuitOpen { retry_at }.into());
            }
            BreakerPermit::Granted(grant) => grant,
        };
        // A probe runs alone, so it needs no lease.
        let lease = if asked_from == AskedFrom::Request && !grant.is_probe() {
            let now = clock();
            let until =
                now.after(deadline.saturating_duration_since(Instant::now()) + LEASE_MARGIN);
            let taking = self
                .leases
                .take(scope, rules.max_in_flight, until, now, random::unit_f64);
            match timeout_at(deadline, taking)
                .await
                .unwrap_or_else(|_| Err(late()))?
            {
                Some(lease) => Some(lease),
                None => return Ok(PartnerOutcome::AtLimit.into()),
            }
        } else {
            None
        };
        let secret = secret.as_ref().map(|value| value.as_str());
        let left = deadline.saturating_duration_since(Instant::now());
        if left < MIN_TIME {
            self.release(lease, submission.submission_id).await;
            return Err(late());
        }
        let answer = self.partner.ask(rules, secret, &request, left).await;
        let outcome = self
            .record(answer, submission, rules, grant, left, clock())
            .await;
        Ok(Answered { outcome, lease })
    }

    pub async fn release(&self, lease: Option<PartnerLease>, subject: SubmissionId) {
        if let Some(lease) = lease
            && let Err(error) = self.leases.release(&lease).await
        {
            tracing::warn!(error = telemetry::cause(&error), %subject, "a partner's lease was not released");
        }
    }

    async fn record(
        &self,
        answer: Result<PartnerVerdict, PartnerError>,
        submission: &Submission,
        rules: &PartnerRules,
        grant: Grant,
        left: Duration,
        now: Timestamp,
    ) -> PartnerOutcome {
        let Submission {
            scope,
            submission_id: subject,
            ..
        } = submission;
        let error = match answer {
            Ok(verdict) => {
                self.record_success(submission, grant).await;
                return PartnerOutcome::Decided(verdict);
            }
            Err(error) => error,
        };
        tracing::warn!(error = telemetry::cause(&error), %subject, "a partner gave no answer that counts");
        let is_timeout = matches!(error, PartnerError::Transport(TransportError::Timeout));
        // A timeout cut short does not show that the partner is down.
        let is_cut_short = is_timeout && left + PREPARING_TIME < rules.timeout();
        let opened_breaker = match error.fault_owner() {
            FaultOwner::Partner if is_cut_short => false,
            FaultOwner::Partner => match self
                .breakers
                .record_failure(&scope.to_string(), grant, now)
                .await
            {
                Ok(opened_breaker) => opened_breaker,
                Err(error) => {
                    let error = telemetry::cause(&error);
                    tracing::warn!(error, %subject, "a circuit breaker missed a failure");
                    false
                }
            },
            // Any reply shows that the partner is up.
            FaultOwner::Campaign if error.may_have_arrived() => {
                self.record_success(submission, grant).await;
                false
            }
            FaultOwner::Campaign | FaultOwner::Service => false,
        };
        PartnerOutcome::NoAnswer(Unanswered {
            why: error.as_str(),
            upstream: error.upstream().cloned(),
            may_have_arrived: error.may_have_arrived(),
            fault_owner: error.fault_owner(),
            opened_breaker,
        })
    }

    /// An answer counts even if the breaker misses it: at worst the breaker opens.
    async fn record_success(&self, submission: &Submission, grant: Grant) {
        let Submission {
            scope,
            submission_id: subject,
            ..
        } = submission;
        if let Err(error) = self
            .breakers
            .record_success(&scope.to_string(), grant)
            .await
        {
            let error = telemetry::cause(&error);
            tracing::warn!(error, %subject, "a circuit breaker missed an answer");
        }
    }
}

fn late() -> StoreError {
    StoreError::new("preparing a partner's request", "it took too long")
}
