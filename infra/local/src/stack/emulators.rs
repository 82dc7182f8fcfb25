//! The emulated services of a stack, each on a port of its own, and the variables that lead functions to them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta};
use common::app::partner_gateway;
use common::aws::{deployment_secret, photos, secrets as partner_secrets, settle_queue};
use common::clock::Clock;
use common::config;
use common::random;
use tokio::sync::mpsc;

use super::{
    ACCESS_KEY, EndpointProxy, Options, PARTNER_SECRET, PARTNER_SECRET_HEADER,
    PARTNER_SECRETS_PREFIX, StartError, data_folder,
};
use crate::beacon::Beacon;
use crate::loopback::WallClock;
use crate::partner::{self, SimulatedPartner};
use crate::s3::{self, ObjectCreated, S3};
use crate::secrets::{Secrets, SecretsManager};
use crate::shops::shops;
use crate::sqs::{self, QueueOptions, Sqs};
use crate::sts::Sts;
use crate::tables::TABLES;
use crate::tax_portal::{self, TaxPortal};

pub(super) const BUCKET: &str = "receipt-photos";
pub(super) const EVIDENCE_BUCKET: &str = "draw-evidence";
pub(super) const OPENINGS_BUCKET: &str = "draw-openings";
pub(super) const TAX_QUEUE: &str = "tax-work";
pub(super) const PARTNER_QUEUE: &str = "partner-work";
pub(super) const DEPLOYMENT_SECRET: &str = "local/deployment";
const SECRET_KEY: &str = "local";
/// Visibility timeout, as deployed.
const VISIBILITY: Duration = Duration::from_mins(9);
/// Receives of a message before it moves to the dead-letter queue.
const MAX_RECEIVES: u32 = 5;
/// From midnight to 10:15:30, the time on every receipt of the simulated tax authority.
const SINCE_MIDNIGHT: TimeDelta = TimeDelta::seconds(10 * 3_600 + 15 * 60 + 30);
/// UTC offset of the clocks in its fiscal devices.
const FISCAL_OFFSET: FixedOffset = FixedOffset::east_opt(3 * 3_600).expect("less than a day");

pub(super) struct Emulators {
    s3: S3,
    pub(super) sqs: Sqs,
    secrets: SecretsManager,
    sts: Sts,
    beacon: Beacon,
    /// `None` if another tax authority is used.
    pub(super) tax_portal: Option<TaxPortal>,
    /// `None` if another partner is used.
    pub(super) partner: Option<SimulatedPartner>,
}

impl Emulators {
    pub(super) async fn start(
        options: &Options,
        created: mpsc::UnboundedSender<ObjectCreated>,
    ) -> Result<Self, StartError> {
        Ok(Self {
            s3: s3(options, created).await?,
            sqs: sqs(options).await?,
            secrets: secrets(options).await?,
            sts: sts().await?,
            beacon: simulated_beacon(options).await?,
            tax_portal: match &options.tax_authority_url {
                Some(_) => None,
                None => Some(tax_portal(options).await?),
            },
            partner: match &options.partner_url {
                Some(_) => None,
                None => Some(simulated_partner().await?),
            },
        })
    }

    /// All variables that functions and `ops` need.
    pub(super) async fn variables(
        &self,
        options: &Options,
        api_url: &str,
        database_url: &str,
    ) -> BTreeMap<String, String> {
        let simulated = self
            .tax_portal
            .as_ref()
            .map(|portal| portal.base_url.as_str());
        let tax_authority = options
            .tax_authority_url
            .as_deref()
            .or(simulated)
            .unwrap_or_default();
        let mut variables: BTreeMap<String, String> = [
            ("AWS_REGION", "af-south-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
            (
                "AWS_ENDPOINT_URL_DYNAMODB",
                through_proxy(options, database_url).await,
            ),
            (
                "AWS_ENDPOINT_URL_S3",
                through_proxy(options, self.s3.endpoint()).await,
            ),
            (
                "AWS_ENDPOINT_URL_SQS",
                through_proxy(options, self.sqs.endpoint()).await,
            ),
            (
                "AWS_ENDPOINT_URL_SECRETS_MANAGER",
                through_proxy(options, self.secrets.endpoint()).await,
            ),
            ("AWS_ENDPOINT_URL_STS", self.sts.endpoint().to_owned()),
            ("STAGE", options.stage.to_owned()),
            ("DOCS_URL", format!("{}/docs", api_url)),
            (photos::VARIABLE, BUCKET.to_owned()),
            (ops_core::EVIDENCE_VARIABLE, EVIDENCE_BUCKET.to_owned()),
            (ops_core::OPENINGS_VARIABLE, OPENINGS_BUCKET.to_owned()),
            (ops_core::CHAIN_VARIABLE, self.beacon.info.clone()),
            (ops_core::RELAY_VARIABLE, self.beacon.base_url.clone()),
            (settle_queue::TAX_VARIABLE, self.sqs.queue_url(TAX_QUEUE)),
            (
                settle_queue::PARTNER_VARIABLE,
                self.sqs.queue_url(PARTNER_QUEUE),
            ),
            (deployment_secret::VARIABLE, DEPLOYMENT_SECRET.to_owned()),
            (
                partner_secrets::PREFIX_VARIABLE,
                PARTNER_SECRETS_PREFIX.to_owned(),
            ),
            (partner_gateway::ADDRESSES_VARIABLE, "any".to_owned()),
            (settle_receipts::TAX_AUTHORITY, tax_authority.to_owned()),
            (config::RETRY_SPEEDUP, options.speedup.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        variables.extend(
            TABLES
                .iter()
                .map(|table| (table.variable.to_owned(), table.name.to_owned())),
        );
        if let Some(program) = &options.photo_reader {
            variables.insert(
                photo::PHOTO_READER.to_owned(),
                program.display().to_string(),
            );
        }
        variables
    }

    pub(super) async fn stop(self) {
        let Self {
            s3,
            sqs,
            secrets,
            sts,
            beacon,
            ..
        } = self;
        tokio::join!(
            s3.stop(),
            sqs.stop(),
            secrets.stop(),
            sts.stop(),
            beacon.stop()
        );
    }
}

/// The URL of an emulated service, or of its proxy.
async fn through_proxy(options: &Options, url: &str) -> String {
    match &options.proxy {
        Some(EndpointProxy(proxy)) => proxy(url.to_owned()).await,
        None => url.to_owned(),
    }
}

async fn s3(
    options: &Options,
    created: mpsc::UnboundedSender<ObjectCreated>,
) -> Result<S3, StartError> {
    let started = S3::serve(s3::S3Options {
        buckets: [BUCKET, EVIDENCE_BUCKET, OPENINGS_BUCKET]
            .map(str::to_owned)
            .into(),
        folder: options.data.as_deref().map(|data| data.join("s3")),
        max_object_bytes: s3::MAX_OBJECT_BYTES,
        secret_key: SECRET_KEY.to_owned(),
        created,
        now: wall_clock(&options.clock),
        port: 0,
    });
    let folder = options
        .data
        .as_deref()
        .unwrap_or_else(|| Path::new("memory"));
    started.await.map_err(|cause| data_folder(folder, cause))
}

async fn sqs(options: &Options) -> Result<Sqs, StartError> {
    let with_dead_letters = |name: &str| {
        let dead_letters = format!("{name}-dead-letters");
        let queue = QueueOptions {
            name: name.to_owned(),
            visibility: VISIBILITY,
            dead_letter: Some((dead_letters.clone(), MAX_RECEIVES)),
        };
        [
            queue,
            QueueOptions {
                name: dead_letters,
                visibility: VISIBILITY,
                dead_letter: None,
            },
        ]
    };
    let queues = [TAX_QUEUE, PARTNER_QUEUE]
        .into_iter()
        .flat_map(with_dead_letters)
        .collect();
    let started = Sqs::serve(sqs::SqsOptions {
        queues,
        now: wall_clock(&options.clock),
        port: 0,
    });
    started.await.map_err(|cause| StartError::Io {
        what: "the queues cannot be served".to_owned(),
        cause,
    })
}

async fn secrets(options: &Options) -> Result<SecretsManager, StartError> {
    let folder = options
        .data
        .as_deref()
        .unwrap_or_else(|| Path::new("memory"));
    let file = options
        .data
        .as_deref()
        .map(|data| data.join("secrets.json"));
    let mut secrets = Secrets::from_file(file).map_err(|cause| data_folder(folder, cause))?;
    let random = || hex::encode(random::bytes::<32>());
    let deployments = options.deployment_secret.clone().unwrap_or_else(random);
    let made = secrets.make(DEPLOYMENT_SECRET, random(), deployments);
    made.map_err(|cause| data_folder(folder, cause))?;
    let (name, value) = PARTNER_SECRET;
    let mut given = options.secrets.clone();
    given
        .entry(name.to_owned())
        .or_insert_with(|| value.to_owned());
    let prefixed = |(name, value)| (format!("{PARTNER_SECRETS_PREFIX}{name}"), value);
    secrets.given = given.into_iter().map(prefixed).collect();
    let started = SecretsManager::serve(secrets).await;
    started.map_err(|cause| StartError::Io {
        what: "the secrets cannot be served".to_owned(),
        cause,
    })
}

async fn sts() -> Result<Sts, StartError> {
    let started = Sts::serve().await;
    started.map_err(|cause| StartError::Io {
        what: "identities cannot be served".to_owned(),
        cause,
    })
}

async fn simulated_beacon(options: &Options) -> Result<Beacon, StartError> {
    let started = Beacon::serve(options.clock.clone()).await;
    started.map_err(|cause| StartError::Io {
        what: "the beacon cannot be simulated".to_owned(),
        cause,
    })
}

async fn tax_portal(options: &Options) -> Result<TaxPortal, StartError> {
    let clock = options.clock.clone();
    // The latest day on which the time of every receipt has passed, so that no receipt is in the future.
    let today = move || {
        let over_at = DateTime::from(clock.now())
            .checked_sub_signed(SINCE_MIDNIGHT)
            .unwrap_or_default();
        over_at.with_timezone(&FISCAL_OFFSET).date_naive()
    };
    let mut portal = tax_portal::TaxPortalOptions::new(shops(), today);
    if options.speedup > 1 {
        // With a speedup, look-ups are meant to be fast.
        portal.throttle = None;
    }
    let started = TaxPortal::serve(portal).await;
    started.map_err(|cause| StartError::Io {
        what: "the tax authority cannot be simulated".to_owned(),
        cause,
    })
}

async fn simulated_partner() -> Result<SimulatedPartner, StartError> {
    let options = partner::PartnerOptions {
        secret: Some((
            PARTNER_SECRET_HEADER.to_owned(),
            PARTNER_SECRET.1.to_owned(),
        )),
        ..partner::PartnerOptions::new()
    };
    let started = SimulatedPartner::serve(options).await;
    started.map_err(|cause| StartError::Io {
        what: "the partner cannot be simulated".to_owned(),
        cause,
    })
}

fn wall_clock(clock: &Clock) -> WallClock {
    let clock = clock.clone();
    Arc::new(move || clock.now().into())
}
