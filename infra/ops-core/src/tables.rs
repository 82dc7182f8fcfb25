//! The tables of the stack that the environment names.

use common::aws::Aws;
use common::aws::deployment_secret::DeploymentSecrets;
use common::aws::photos::Photos;
use common::config::{ConfigError, Env};
use common::domain::campaign::Campaign;
use common::domain::ids::EntrantId;
use common::domain::phone::Phone;
use common::domain::scope::{CampaignSlug, Scope};
use common::store::api_keys::ApiKeys;
use common::store::campaign_versions::CampaignVersions;
use common::store::campaigns::Campaigns;
use common::store::code_books::CodeBooks;
use common::store::codes::Codes;
use common::store::draws::Draws;
use common::store::entrants::Entrants;
use common::store::numbers::Numbers;
use common::store::retention::RetentionTable;
use common::store::review_locks::ReviewLocks;
use common::store::submission_writes::SubmissionStore;

use crate::audit::Audit;
use crate::failure::Failure;

/// The tables that commands read and write.
#[derive(Clone)]
pub struct Tables {
    /// Campaigns, with their pause switch.
    pub campaigns: Campaigns,
    /// Earlier versions of campaigns.
    pub campaign_versions: CampaignVersions,
    /// API keys, by digest.
    pub api_keys: ApiKeys,
    /// Code books, encrypted under the deployment's secret.
    pub code_books: CodeBooks,
    /// Phones, with their blocklist.
    pub entrants: Entrants,
    pub numbers: Numbers,
    /// Draws, with their contact logs.
    pub draws: Draws,
    /// How far the personal data of ended campaigns is deleted; only read.
    pub retention: RetentionTable,
    /// Codes, submissions, and the writes that settle them.
    pub store: SubmissionStore,
    /// The audit log.
    pub audit: Audit,
    aws: Aws,
    pub(crate) env: Env,
}

impl Tables {
    /// Opens the tables for a command. Its first write is refused until the audit log has a row about it.
    pub fn for_command(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let audit = Audit::from_env(env, aws)?;
        Self::open(env, audit.guarded(aws), audit)
    }

    /// Opens the tables for another command of the same operator, with the same guard.
    pub fn for_next_command(&self, env: &Env) -> Result<Self, ConfigError> {
        let (audit, aws) = self.audit.for_next_command();
        Self::open(env, aws, audit)
    }

    /// Opens the tables without that guard, for the demo of the local stack and tests.
    pub fn from_env(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        Self::open(env, aws.clone(), Audit::from_env(env, aws)?)
    }

    fn open(env: &Env, aws: Aws, audit: Audit) -> Result<Self, ConfigError> {
        let client = &aws.dynamodb();
        Ok(Self {
            campaigns: Campaigns::from_env(env, client)?,
            campaign_versions: CampaignVersions::from_env(env, client)?,
            api_keys: ApiKeys::from_env(env, client)?,
            code_books: CodeBooks::from_env(env, &aws)?,
            entrants: Entrants::from_env(env, client)?,
            numbers: Numbers::from_env(env, client)?,
            draws: Draws::from_env(env, client)?,
            retention: RetentionTable::from_env(env, client)?,
            store: SubmissionStore::from_env(env, client)?,
            audit,
            aws,
            env: env.clone(),
        })
    }

    /// Opens the bucket of photos that the environment names.
    pub fn photos(&self, env: &Env) -> Result<Photos, ConfigError> {
        Photos::from_env(env, &self.aws)
    }

    /// The client of storage, for the buckets of draws.
    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        self.aws.s3()
    }

    /// The table of draws, for the lock of freezes. It can be written without a row of the audit log: the row of a freeze has
    /// the commitment, which needs the entries.
    pub(crate) fn freeze_locks(&self) -> Result<Draws, ConfigError> {
        Draws::from_env(&self.env, &self.audit.unguarded().dynamodb())
    }

    /// The locks of submissions under review, which the environment names. They can be written without a row of the audit
    /// log: a claim changes nothing but who looks.
    pub fn review_locks(&self, env: &Env) -> Result<ReviewLocks, ConfigError> {
        ReviewLocks::from_env(env, &self.audit.unguarded().dynamodb())
    }

    /// The table of codes, which [`Self::store`] holds.
    pub fn codes(&self) -> &Codes {
        self.store.codes()
    }

    /// The deployment's secret, which phones are encrypted under.
    pub fn secrets(&self) -> &DeploymentSecrets {
        self.code_books.secrets()
    }

    /// The id of a phone's records in a scope.
    ///
    /// # Errors
    /// When Secrets Manager does not answer.
    pub async fn entrant_id(&self, scope: &Scope, phone: &Phone) -> Result<EntrantId, Failure> {
        Ok(self
            .secrets()
            .version_for_phones()
            .await?
            .secret
            .consumer(scope, phone.clone())
            .id)
    }

    /// A campaign that must exist.
    ///
    /// # Errors
    /// When it does not exist, or the table does not answer.
    pub async fn campaign(&self, slug: &CampaignSlug) -> Result<Campaign, Failure> {
        self.campaigns
            .get(slug)
            .await?
            .ok_or_else(|| unknown_campaign(slug))
    }
}

pub(crate) fn unknown_campaign(slug: &CampaignSlug) -> Failure {
    let message = format!(
        "there is no campaign `{slug}`; `ops campaign list` shows those there are, `ops campaign apply` adds one"
    );
    Failure::new("campaign_unknown", message)
}
