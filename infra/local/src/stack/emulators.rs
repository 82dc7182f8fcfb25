use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use common::aws::secrets as partner_secrets;
use common::config;
use common::domain::receipt::judgement::FISCAL_OFFSET;
use common::upstream::http_client;
use common::upstream::tax_authority::client;
use tokio::sync::mpsc;

use super::{
    ACCESS_KEY, BUCKETS, EndpointProxy, NAMES, Options, PARTNER_SECRET, PARTNER_SECRET_HEADER,
    PARTNER_SECRETS_PREFIX, QUEUES, StartError, data_folder,
};
use crate::loopback::Server;
use crate::partner::{PartnerOptions, SimulatedPartner};
use crate::s3::{self, ObjectCreated, S3Options};
use crate::secrets::{self, SecretsOptions};
use crate::shops::SHOPS;
use crate::sqs::{QueueClock, Sqs, SqsOptions};
use crate::tables::TABLES;
use crate::tax_portal::{TaxPortal, TaxPortalOptions};
use crate::{beacon, dynamodb, sts};

const SECRET_KEY: &str = "local";
/// The deployed value.
const VISIBILITY: Duration = Duration::from_mins(9);
/// The deployed value.
const MAX_RECEIVES: u32 = 5;
const SINCE_MIDNIGHT: TimeDelta = TimeDelta::seconds(10 * 3_600 + 15 * 60 + 30);
pub(super) struct Emulators {
    pub(super) variables: BTreeMap<String, String>,
    pub(super) servers: Vec<Server>,
    pub(super) queue_clock: QueueClock,
    pub(super) partner_url: String,
    _simulators: (Option<TaxPortal>, Option<SimulatedPartner>),
}

impl Emulators {
    pub(super) async fn start(
        options: &Options,
        api_url: &str,
        created: mpsc::UnboundedSender<ObjectCreated>,
    ) -> Result<Self, StartError> {
        let folder = options.data.as_deref();
        let unusable = |cause| data_folder(folder.unwrap_or(Path::new("memory")), cause);
        let no_port = |cause| StartError::Io {
            what: "cannot listen on loopback".to_owned(),
            cause,
        };
        let database = match &options.dynamodb_url {
            Some(_) => None,
            None => Some(dynamodb::serve(folder).await.map_err(unusable)?),
        };
        let s3 = s3::serve(S3Options {
            buckets: &BUCKETS,
            folder: folder.map(|folder| folder.join("s3")),
            max_object_bytes: s3::MAX_OBJECT_BYTES,
            secret_key: SECRET_KEY,
            created,
            clock: options.clock.clone(),
        });
        let s3 = s3.await.map_err(unusable)?;
        let sqs = Sqs::serve(SqsOptions {
            queues: &QUEUES,
            visibility: VISIBILITY,
            max_receives: MAX_RECEIVES,
        });
        let sqs = sqs.await.map_err(no_port)?;
        let secrets = secrets::serve(SecretsOptions {
            given: partner_secrets(options),
            deployment_secret: options.deployment_secret.clone(),
            file: folder.map(|folder| folder.join("secrets.json")),
        });
        let secrets = secrets.await.map_err(unusable)?;
        let sts = sts::serve().await.map_err(no_port)?;
        let beacon = beacon::serve(options.clock.clone()).await;
        let (beacon, chain) = beacon.map_err(no_port)?;
        let tax_portal = match &options.tax_authority_url {
            Some(_) => None,
            None => Some(tax_portal(options).await.map_err(no_port)?),
        };
        let partner = match &options.partner_url {
            Some(_) => None,
            None => Some(simulated_partner().await.map_err(no_port)?),
        };

        let database_url = database.as_ref().map(|server| &server.url);
        let database_url = database_url.or(options.dynamodb_url.as_ref());
        let tax_authority = tax_portal.as_ref().map(|portal| &portal.base_url);
        let tax_authority = tax_authority.or(options.tax_authority_url.as_ref());
        let text = |value: Option<&String>| value.cloned().unwrap_or_default();
        let mut variables: BTreeMap<&str, String> = [
            ("AWS_REGION", "af-south-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", text(database_url)),
            ("AWS_ENDPOINT_URL_S3", s3.url.clone()),
            ("AWS_ENDPOINT_URL_SQS", sqs.server.url.clone()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets.url.clone()),
            ("STAGE", options.stage.to_owned()),
            ("DOCS_URL", format!("{api_url}/docs")),
            (ops_core::CHAIN_VARIABLE, chain),
            (ops_core::RELAY_VARIABLE, beacon.url.clone()),
            (
                partner_secrets::PREFIX_VARIABLE,
                PARTNER_SECRETS_PREFIX.to_owned(),
            ),
            (http_client::ADDRESSES_VARIABLE, "any".to_owned()),
            (client::VARIABLE, text(tax_authority)),
            (config::RETRY_SPEEDUP, options.speedup.to_string()),
        ]
        .into();
        if let Some(EndpointProxy(proxy)) = &options.proxy {
            for (name, value) in &mut variables {
                if name.starts_with("AWS_ENDPOINT_URL_") {
                    *value = proxy(value.clone()).await;
                }
            }
        }
        variables.insert("AWS_ENDPOINT_URL_STS", sts.url.clone());
        variables.extend(NAMES.map(|(variable, name)| {
            let is_queue = QUEUES.contains(&name);
            let value = if is_queue {
                sqs.queue_url(name)
            } else {
                name.to_owned()
            };
            (variable, value)
        }));
        variables.extend(
            TABLES
                .iter()
                .map(|table| (table.variable, table.name.to_owned())),
        );
        if let Some(program) = &options.photo_reader {
            variables.insert(photo::PHOTO_READER, program.display().to_string());
        }
        let variables = variables.into_iter();
        let simulated = partner.as_ref().map(SimulatedPartner::url);
        Ok(Self {
            variables: variables
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            partner_url: simulated.unwrap_or_else(|| text(options.partner_url.as_ref())),
            queue_clock: sqs.clock,
            servers: database
                .into_iter()
                .chain([s3, sqs.server, secrets, sts, beacon])
                .collect(),
            _simulators: (tax_portal, partner),
        })
    }
}

fn partner_secrets(options: &Options) -> BTreeMap<String, String> {
    let (name, value) = PARTNER_SECRET;
    let mut given = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    given.extend(options.secrets.clone());
    let prefixed = |(name, value)| (format!("{PARTNER_SECRETS_PREFIX}{name}"), value);
    given.into_iter().map(prefixed).collect()
}

async fn tax_portal(options: &Options) -> std::io::Result<TaxPortal> {
    let clock = options.clock.clone();
    // The latest day on which no receipt is in the future.
    let today = move || {
        let over_at = DateTime::from(clock.now()) - SINCE_MIDNIGHT;
        over_at.with_timezone(&FISCAL_OFFSET).date_naive()
    };
    let mut portal = TaxPortalOptions::new(SHOPS, today);
    if options.speedup > 1 {
        // A speedup is for fast look-ups.
        portal.throttle = None;
    }
    TaxPortal::serve(portal).await
}

async fn simulated_partner() -> std::io::Result<SimulatedPartner> {
    let secret = (
        PARTNER_SECRET_HEADER.to_owned(),
        PARTNER_SECRET.1.to_owned(),
    );
    SimulatedPartner::serve(PartnerOptions {
        secret: Some(secret),
        ..PartnerOptions::default()
    })
    .await
}
