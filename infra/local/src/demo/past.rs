use std::sync::Arc;

use common::aws::deployment_secret::SecretVersion;
use common::aws::photos::{self, object_key};
use common::aws::{Aws, concurrently};
use common::config::Env;
use common::domain::{
    Campaign, CodeKey, Entrant, Environment, Phone, PhoneChecks, PhoneLimits, Receipt, Scope,
    Submission, SubmissionId, Timestamp,
};
use common::random;
use common::store::submission_writes::{RecordKeys, SubmissionWrite, WriteResult};
use ops_core::tables::Tables;

use super::{DemoError, unusable};

/// The stack does not announce this writer's photos.
pub(crate) const ACCESS_KEY: &str = "demo";

/// The database may still process an attempt that timed out.
const MAX_ATTEMPTS: u32 = 5;

pub(super) struct Past {
    pub(super) tables: Tables,
    aws: Aws,
    bucket: String,
    secret: Arc<SecretVersion>,
}

impl Past {
    pub(super) async fn connect(env: &Env) -> Result<Self, DemoError> {
        let own = ("AWS_ACCESS_KEY_ID".to_owned(), ACCESS_KEY.to_owned());
        let env = env.clone().overridden_by([own].into_iter().collect());
        let aws = Aws::for_function(&env)?;
        let tables = Tables::from_env(&env, &aws)?;
        Ok(Self {
            secret: tables.secrets().version_for_phones().await?,
            tables,
            bucket: env.required(photos::VARIABLE)?,
            aws,
        })
    }

    pub(super) async fn campaign(&self, slug: &str) -> Result<(Campaign, Scope), DemoError> {
        let slug = slug.parse().map_err(|_| unusable("slug"))?;
        let campaign = self.tables.campaign(&slug).await?;
        let scope = Scope {
            campaign: slug,
            environment: Environment::Live,
        };
        Ok((campaign, scope))
    }

    pub(super) fn submission(
        &self,
        scope: &Scope,
        submission_id: SubmissionId,
        phone: &str,
        region: Option<&str>,
        created_at: Timestamp,
        campaign: &Campaign,
    ) -> Result<Submission, DemoError> {
        let phone: Phone = phone.parse().map_err(|_| unusable("phone"))?;
        let secret = &self.secret.secret;
        let (entrant, day) = (
            secret.consumer(scope, phone.clone()).id,
            created_at.day_in(campaign.timezone),
        );
        Ok(Submission {
            phone: secret.encrypt_phone(scope, submission_id, &phone, random::bytes()),
            region: region.map(str::to_owned),
            ..Submission::new(submission_id, scope.clone(), entrant, day, created_at)
        })
    }

    /// Ignores limits.
    pub(super) async fn write(
        &self,
        mut submission: Submission,
        code: Option<&CodeKey>,
        campaign: &Campaign,
    ) -> Result<(), DemoError> {
        if submission.reasons.is_empty() {
            submission.reasons = vec![submission.status.message_key().as_str().to_owned()];
        }
        let key = format!("demo-{}", submission.submission_id);
        let key = key.parse().map_err(|_| unusable("key"))?;
        let write = SubmissionWrite {
            keys: RecordKeys {
                scope: &submission.scope,
                key: &key,
                entrant: &submission.entrant_id,
                code,
                receipt: submission.receipt_id,
            },
            body_hash: "",
            submission: &submission,
        };
        let (store, at) = (&self.tables.store, submission.created_at);
        let campaign = Campaign {
            limits: PhoneLimits::default(),
            ..campaign.clone()
        };
        for _ in 0..MAX_ATTEMPTS {
            let written = if submission.status.counts() {
                let (entrant, checks) = (Entrant::default(), PhoneChecks::default());
                let created = store.create_admitted(write, &entrant, &campaign, checks, None, at);
                created.await?
            } else {
                store.create_rejected(write, None, at).await?
            };
            match written {
                // An attempt whose reply was lost.
                WriteResult::Committed | WriteResult::ConditionFailed(_) => return Ok(()),
                WriteResult::ReferenceTaken | WriteResult::Conflict { .. } => {}
            }
        }
        Err(unusable("entry"))
    }

    pub(super) async fn write_all(
        &self,
        made: Vec<(Submission, Option<CodeKey>)>,
        campaign: &Campaign,
    ) -> Result<(), DemoError> {
        let writes = made.into_iter().map(|(submission, code)| async move {
            self.write(submission, code.as_ref(), campaign).await
        });
        concurrently(writes).await.map(drop)
    }

    pub(super) async fn receipt(
        &self,
        receipt: &Receipt,
        photo: Option<Vec<u8>>,
    ) -> Result<(), DemoError> {
        self.tables.store.receipts().create(receipt, None).await?;
        if let Some(photo) = photo {
            let put = self.aws.s3().put_object().bucket(&self.bucket);
            let put = put.key(object_key(&receipt.scope, receipt.receipt_id));
            let sent = put.body(photo.into()).send().await;
            sent.map_err(|_| unusable("storage"))?;
        }
        Ok(())
    }
}
