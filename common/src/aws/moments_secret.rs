use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::{OPEN_TIMEOUT, secrets};
use crate::aws::Aws;
use crate::config::Env;
use crate::domain::instant::MomentsSecret;
use crate::error::{During, StoreError, StoreResult};
use crate::telemetry;

pub const VARIABLE: &str = "MOMENTS_SECRET_ID";

/// Leaves a request time to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

const READING: &str = "reading the secret of winning moments";

pub(super) async fn prepare(aws: &Aws) {
    let fetched = timeout(OPEN_TIMEOUT, current(aws)).await;
    let fetched = fetched.unwrap_or_else(|late| Err(StoreError::new(READING, late)));
    if let Err(error) = fetched {
        tracing::warn!(
            error = telemetry::cause(&error),
            "the secret of winning moments was not fetched at start"
        );
    }
}

/// Fetched once. A failure is temporary: the next request tries again.
pub async fn current(aws: &Aws) -> StoreResult<Arc<MomentsSecret>> {
    if let Some(known) = aws.clients.moments_secret.lock().clone() {
        return Ok(known);
    }
    let fetched = timeout(REQUEST_TIMEOUT, fetch(&aws.env, aws)).await;
    let fetched = fetched.map_err(|late| StoreError::temporary(READING, late))??;
    let secret = Arc::new(fetched);
    *aws.clients.moments_secret.lock() = Some(Arc::clone(&secret));
    Ok(secret)
}

pub async fn fetch(env: &Env, aws: &Aws) -> StoreResult<MomentsSecret> {
    let id = env.required(VARIABLE).during(READING)?;
    let reply = Box::pin(secrets::get(aws, &id, None)).await;
    let reply = reply.map_err(|error| StoreError::temporary(READING, error))?;
    let text = reply.and_then(|reply| reply.secret_string);
    let text =
        text.ok_or_else(|| StoreError::temporary(READING, "Secrets Manager has no such secret"))?;
    MomentsSecret::new(&text).during(READING)
}
