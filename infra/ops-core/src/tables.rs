//! The tables of the environment's stack.

use std::pin::pin;

use common::app::lookup_throttle::Throttle;
use common::aws::deployment_secret::DeploymentSecrets;
use common::aws::event_queue::EventQueue;
use common::config;
use common::domain::Dependency;
use common::domain::receipt::schedule::LOOKUP_INTERVAL;
use common::store::api_keys::ApiKeys;
use common::store::breakers::{BreakerState, Breakers};
use common::store::campaign_versions::CampaignVersions;
use common::store::campaigns::Campaigns;
use common::store::draws::Draws;
use common::store::entrants::Entrants;
use common::store::instant::Wins;
use common::store::instant_plans::Plans;
use common::store::retention::RetentionTable;
use common::store::review_locks::ReviewLocks;
use common::store::statistics::Statistics;
use common::store::submission_writes::SubmissionStore;
use common::store::submissions::Submissions;
use common::store::table_pages::TablePage;
use common::store::turns::Turns;
use common::store::webhook_deliveries::WebhookDeliveries;
use common::store::webhook_endpoints::WebhookEndpoints;
use futures_util::Stream;

use crate::audit::Audit;
use crate::prelude::*;

#[derive(Clone)]
pub struct Tables {
    pub campaigns: Campaigns,
    pub campaign_versions: CampaignVersions,
    pub api_keys: ApiKeys,
    pub code_books: CodeBooks,
    pub entrants: Entrants,
    pub statistics: Statistics,
    pub draws: Draws,
    pub plans: Plans,
    /// Deletion of ended campaigns' personal data; only read.
    pub retention: RetentionTable,
    pub store: SubmissionStore,
    pub webhook_endpoints: WebhookEndpoints,
    pub webhook_deliveries: WebhookDeliveries,
    pub audit: Audit,
    aws: Aws,
    pub(crate) env: Env,
}

impl Tables {
    /// Tables that refuse the first write until the audit log has a row about it.
    pub fn for_command(env: &Env, aws: &Aws) -> Result<Self, ConfigError> {
        let audit = Audit::from_env(env, aws)?;
        Self::open(env, audit.guarded(aws), audit)
    }

    /// Tables with the same guard, for another command of the same operator.
    pub fn for_next_command(&self) -> Result<Self, ConfigError> {
        let (audit, aws) = self.audit.for_next_command();
        Self::open(&self.env, aws, audit)
    }

    /// Tables without the guard, for the demo and tests.
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
            statistics: Statistics::from_env(env, client)?,
            draws: Draws::from_env(env, client)?,
            plans: Plans::from_env(env, client)?,
            retention: RetentionTable::from_env(env, client)?,
            store: SubmissionStore::from_env(env, client)?,
            webhook_endpoints: WebhookEndpoints::from_env(env, &aws)?,
            webhook_deliveries: WebhookDeliveries::from_env(env, client)?,
            audit,
            aws,
            env: env.clone(),
        })
    }

    pub fn photos(&self) -> Result<Photos, ConfigError> {
        Photos::from_env(&self.env, &self.aws)
    }

    pub(crate) fn event_queue(&self) -> Result<EventQueue, ConfigError> {
        EventQueue::from_env(&self.env, &self.aws)
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        self.aws.s3()
    }

    /// Draws without the guard: a freeze's row has the commitment, which needs the entries.
    pub(crate) fn freeze_locks(&self) -> Result<Draws, ConfigError> {
        Draws::from_env(&self.env, &self.audit.unguarded().dynamodb())
    }

    /// Slots of look-ups without the guard: they change no record.
    pub(crate) fn lookup_throttle(&self) -> Result<Throttle, ConfigError> {
        let client = self.audit.unguarded().dynamodb();
        let turns = Turns::from_env(&self.env, &client, Dependency::TaxAuthority)?;
        let interval = config::retry_speedup(&self.env)?.apply(LOOKUP_INTERVAL);
        Ok(Throttle::new(turns, interval).on_operators_machine())
    }

    /// Locks without the guard: they only change who looks.
    pub fn review_locks(&self) -> Result<ReviewLocks, ConfigError> {
        ReviewLocks::from_env(&self.env, &self.audit.unguarded().dynamodb())
    }

    /// The state of the breaker before a campaign's partner.
    pub async fn partner_breaker(&self, scope: &Scope, now: Timestamp) -> Result<BreakerState> {
        let breakers = Breakers::for_partners(&self.env, &self.aws.dynamodb())?;
        Ok(breakers.state(&scope.to_string(), now).await?)
    }

    pub fn codes(&self) -> &Codes {
        self.store.codes()
    }

    pub fn wins(&self) -> &Wins {
        self.store.wins()
    }

    pub fn submissions(&self) -> &Submissions {
        self.store.submissions()
    }

    /// The receipt of a submission, if it has one.
    pub async fn receipt(&self, submission: &Submission) -> Result<Option<Receipt>, StoreError> {
        match submission.receipt_id {
            Some(id) => self.store.receipts().get(&submission.scope, id).await,
            None => Ok(None),
        }
    }

    pub fn secrets(&self) -> &DeploymentSecrets {
        self.code_books.secrets()
    }

    pub async fn entrant_id(&self, scope: &Scope, phone: &Phone) -> Result<EntrantId> {
        Ok(self.secrets().consumer(scope, phone.clone()).await?.id)
    }

    /// The time zone of a scope's campaign.
    pub async fn zone(&self, scope: &Scope) -> Result<Tz> {
        Ok(self.campaign(&scope.campaign).await?.timezone)
    }

    pub async fn campaign(&self, slug: &CampaignSlug) -> Result<Campaign> {
        self.campaigns
            .get(slug)
            .await?
            .ok_or_else(|| unknown_campaign(slug))
    }
}

/// Takes the records of each page of a table. `undone` is what an unreadable record prevents.
pub(crate) async fn take_pages<T, E: Into<Failure>>(
    pages: impl Stream<Item = Result<TablePage<T>, E>>,
    mut take: impl FnMut(Vec<T>) -> Result<()>,
    undone: &str,
    clock: &Clock,
    terminal: &mut Terminal<'_>,
) -> Result<()> {
    let mut progress = Progress::without_total(clock, "records read:");
    let mut pages = pin!(pages);
    let (mut looked_at, mut unreadable) = (0, Vec::new());
    while let Some(page) = pages.try_next().await.map_err(E::into)? {
        unreadable.extend(page.unreadable);
        take(page.records)?;
        looked_at += page.read;
        progress.show(terminal, looked_at);
    }
    progress.end(terminal);
    Failure::check_readable(undone, &unreadable)
}

pub(crate) fn unknown_campaign(slug: &CampaignSlug) -> Failure {
    failure!(
        "campaign_unknown",
        "there is no campaign `{slug}`; `ops campaign list` shows those there are, `ops campaign apply` adds one"
    )
}
