//! `auth` has the key's limit.

use crate::domain::{RateLimitStatus, Timestamp};
use crate::error::{Error, ErrorCode};
use crate::store::rate_limits::{RateLimitDecision, RateLimitRule, RateLimits};

pub async fn enforce(
    limits: &RateLimits,
    rules: &[RateLimitRule],
    now: Timestamp,
    detail: impl FnOnce(&[RateLimitStatus]) -> &'static str,
) -> Result<Vec<RateLimitStatus>, Error> {
    match limits.hit(rules, now).await? {
        RateLimitDecision::Admitted(limits) => Ok(limits),
        RateLimitDecision::Refused {
            retry_after,
            limits,
        } => Err(Error::from(ErrorCode::RateLimited)
            .with_detail(detail(&limits))
            .with_retry_after(retry_after)
            .with_limits(limits)),
    }
}
