//! The secret that winning moments are derived from, in Secrets Manager.

use super::secrets;
use crate::aws::Aws;
use crate::config::Env;
use crate::domain::instant::MomentsSecret;
use crate::error::{During, StoreError, StoreResult};

pub const VARIABLE: &str = "MOMENTS_SECRET_ID";

const READING: &str = "reading the secret of winning moments";

pub async fn fetch(env: &Env, aws: &Aws) -> StoreResult<MomentsSecret> {
    let id = env.required(VARIABLE).during(READING)?;
    let reply = Box::pin(secrets::get(aws, &id, None)).await;
    let reply = reply.map_err(|error| StoreError::new(READING, error))?;
    let text = reply.and_then(|reply| reply.secret_string);
    let text =
        text.ok_or_else(|| StoreError::new(READING, "Secrets Manager has no such secret"))?;
    MomentsSecret::new(&text).during(READING)
}
