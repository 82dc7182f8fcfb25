//! The locked bucket of evidence: the days of plans of instant prizes. Draws are operators' alone.

use std::collections::HashSet;

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::aws::Aws;
use crate::config::{ConfigError, Env};
use crate::domain::Scope;
use crate::domain::digest::Digest;
use crate::error::{During, StoreError, StoreResult};

pub const VARIABLE: &str = "EVIDENCE_BUCKET";

/// Folder in a plan's, with a file for each day: the digest of its lines.
pub const DAYS: &str = "days/";

#[derive(Clone)]
pub struct Evidence {
    aws: Aws,
    bucket: String,
}

/// Where all plans of a scope are. No name of a draw has an underscore.
pub fn plans_folder(scope: &Scope) -> String {
    let Scope {
        campaign,
        environment,
    } = scope;
    format!("{campaign}/{environment}/_instant/")
}

fn days_folder(scope: &Scope, plan: Digest) -> String {
    format!("{}{plan}/{DAYS}", plans_folder(scope))
}

impl Evidence {
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Ok(Self {
            aws: aws.clone(),
            bucket: env.required(VARIABLE)?,
        })
    }

    /// Indices of a plan's days that are logged.
    pub async fn logged_days(&self, scope: &Scope, plan: Digest) -> StoreResult<HashSet<usize>> {
        const ACTION: &str = "listing the days of a plan";
        let folder = days_folder(scope, plan);
        let list = self.aws.s3().list_objects_v2().bucket(&self.bucket);
        // At most 731 days, in one page.
        let listed = list.prefix(&folder).send().await.during(ACTION)?;
        let names = listed.contents().iter().filter_map(|object| object.key());
        let days = names.filter_map(|key| key.strip_prefix(&folder)?.parse().ok());
        Ok(days.collect())
    }

    /// False if the day was logged before.
    pub async fn log_day(
        &self,
        scope: &Scope,
        plan: Digest,
        day: usize,
        digest: Digest,
    ) -> StoreResult<bool> {
        let text = digest.to_string();
        let checksum = Digest::from_parts(&[text.as_bytes()]);
        let put = self.aws.s3().put_object().bucket(&self.bucket);
        let put = put
            .key(format!("{}{day}", days_folder(scope, plan)))
            // Buckets with object lock take no upload without a checksum.
            .checksum_sha256(STANDARD.encode(checksum.as_bytes()))
            .if_none_match("*")
            .body(ByteStream::from(text.into_bytes()));
        match put.send().await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some("PreconditionFailed") => Ok(false),
            Err(error) => Err(StoreError::new("logging a day of a plan", error)),
        }
    }
}
