//! The stack: starts everything on loopback ports, and stops it again.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use check_code::CheckCode;
use chrono::{DateTime, FixedOffset, TimeDelta};
use common::app::partner_gateway;
use common::aws::Aws;
use common::aws::{deployment_secret, photos, secrets as partner_secrets, settle_queue};
use common::clock::Clock;
use common::config::{self, ConfigError, Env};
use common::domain::hex::hex;
use common::random;
use common::runtime::event_handler::EventContext;
use common::runtime::http_handler::{ApiHandler, AppContext, BoxFuture, Endpoint, Responder};
use common::store::StoreError;
use common::telemetry::Telemetry;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use fallback::Fallback;
use get_campaign::GetCampaign;
use get_receipt::GetReceipt;
use get_submission::GetSubmission;
use lookup_submissions::LookupSubmissions;
use refresh_upload_url::RefreshUploadUrl;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::beacon::Beacon;
use crate::demo::Demo;
use crate::dynamodb::{self, stopped};
use crate::gateway::Gateway;
use crate::loopback::WallClock;
use crate::partner::{self, SimulatedPartner};
use crate::s3::{self, ObjectCreated, S3};
use crate::secrets::{Secrets, SecretsManager};
use crate::shops::shops;
use crate::sqs::{self, QueueOptions, Sqs};
use crate::sts::Sts;
use crate::tables::{self, TABLES};
use crate::tax_portal::{self, TaxPortal};
use crate::try_page::TryPage;
use crate::workers;

const BUCKET: &str = "receipt-photos";
const EVIDENCE_BUCKET: &str = "draw-evidence";
const OPENINGS_BUCKET: &str = "draw-openings";
const TAX_QUEUE: &str = "tax-work";
const PARTNER_QUEUE: &str = "partner-work";
const DEPLOYMENT_SECRET: &str = "local/deployment";
/// Variables whose values end in a fixed name, with that name: buckets, queues and deployment secret.
pub const NAMES: [(&str, &str); 6] = [
    (photos::VARIABLE, BUCKET),
    (ops_core::EVIDENCE_VARIABLE, EVIDENCE_BUCKET),
    (ops_core::OPENINGS_VARIABLE, OPENINGS_BUCKET),
    (settle_queue::TAX_VARIABLE, TAX_QUEUE),
    (settle_queue::PARTNER_VARIABLE, PARTNER_QUEUE),
    (deployment_secret::VARIABLE, DEPLOYMENT_SECRET),
];
/// Prefix of partners' secrets in Secrets Manager, before the names in campaign files.
pub const PARTNER_SECRETS_PREFIX: &str = "local/";
/// The secret that every stack has: its name in campaign files, and the value that the simulated partner requires.
pub const PARTNER_SECRET: (&str, &str) = ("partners/demo", "Bearer a-secret-of-the-demo");
/// The header that carries the partner secret.
pub const PARTNER_SECRET_HEADER: &str = "authorization";
/// Visibility timeout, as deployed.
const VISIBILITY: Duration = Duration::from_secs(9 * 60);
/// Receives of a message before it moves to the dead-letter queue.
const MAX_RECEIVES: u32 = 5;
/// From midnight to 10:15:30, the time on every receipt of the simulated tax authority.
const SINCE_MIDNIGHT: TimeDelta = TimeDelta::seconds(10 * 3_600 + 15 * 60 + 30);
/// UTC offset of the clocks in its fiscal devices.
const FISCAL_OFFSET: FixedOffset = FixedOffset::east_opt(3 * 3_600).expect("less than a day");
/// The access key of operators, and the prefix of each function's own. All share one secret key.
const ACCESS_KEY: &str = "local";
const SECRET_KEY: &str = "local";

/// Puts a proxy in front of a server: takes the server's URL and returns the proxy's.
#[derive(Clone)]
pub struct EndpointProxy(pub Arc<dyn Fn(String) -> BoxFuture<'static, String> + Send + Sync>);

impl fmt::Debug for EndpointProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndpointProxy")
    }
}

/// The environment of one function, with its own access key to tell its calls apart.
#[must_use]
pub fn as_function(env: &Env, function: &str) -> Env {
    let key = ("AWS_ACCESS_KEY_ID".to_owned(), format!("{ACCESS_KEY}-{function}"));
    env.clone().overridden_by([key].into_iter().collect())
}

#[derive(Clone, Debug)]
pub struct Options {
    /// The port of the API; 0 picks a free one.
    pub port: u16,
    /// `production`, or `staging`, which refuses live keys.
    pub stage: &'static str,
    /// The data folder; `None` keeps everything in memory.
    pub data: Option<PathBuf>,
    /// Replaces the embedded DynamoDB; missing tables are created.
    pub dynamodb_url: Option<String>,
    /// Replaces the simulated tax authority.
    pub tax_authority_url: Option<String>,
    /// Replaces the simulated partner.
    pub partner_url: Option<String>,
    /// Partners' secrets by their names in campaign files, in addition to the demo's own.
    pub secrets: BTreeMap<String, String>,
    /// The deployment secret, for several stacks over one database. `None` uses the one in the data folder, or a random
    /// one.
    pub deployment_secret: Option<String>,
    /// A proxy in front of every emulated AWS service.
    pub proxy: Option<EndpointProxy>,
    /// Divides every scheduled wait between settling steps.
    pub hasten: u32,
    /// The photo reader program; `None` uses this program.
    pub photo_reader: Option<PathBuf>,
    /// Deliver events, queue messages and the schedule automatically; otherwise the caller must invoke those functions.
    pub background: bool,
    /// Whether tables have streams. The embedded database keeps every change, and its writes get slower with their number.
    pub streams: bool,
    pub clock: Clock,
    /// Receives the functions' log lines.
    pub telemetry: Telemetry,
}

impl Default for Options {
    /// Defaults for tests: a free port, production, in memory, the machine's clock, no logs.
    fn default() -> Self {
        Self {
            port: 0,
            stage: "production",
            data: None,
            dynamodb_url: None,
            tax_authority_url: None,
            partner_url: None,
            secrets: BTreeMap::new(),
            deployment_secret: None,
            proxy: None,
            hasten: 1,
            photo_reader: None,
            background: true,
            streams: true,
            clock: Clock::system(),
            telemetry: Telemetry::Off,
        }
    }
}

/// A serving stack.
pub struct Stack {
    base_url: String,
    tax_portal: Option<TaxPortal>,
    partner: Option<SimulatedPartner>,
    chosen_partner: String,
    demos: Arc<OnceLock<Vec<Demo>>>,
    emulators: (S3, Sqs, SecretsManager, Sts, Beacon),
    env: BTreeMap<String, String>,
    stop: watch::Sender<bool>,
    parts: Vec<JoinHandle<()>>,
    /// Keeps other stacks out of the data folder.
    _lock: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port is taken, or a file cannot be opened.
    #[error("{what}")]
    Io {
        /// The failed action, and how to fix it.
        what: String,
        #[source]
        cause: io::Error,
    },
    /// Another stack uses the folder.
    #[error("{} is in use by another local stack; stop it, or choose another folder with --data", .0.display())]
    InUse(PathBuf),
    /// A variable is missing. The stack sets them all, so this is a bug.
    #[error("the stack's own configuration is incomplete")]
    Config(#[from] ConfigError),
    /// The embedded database refused to create tables.
    #[error("the embedded database is not usable")]
    Store(#[from] StoreError),
}

impl Stack {
    /// Starts everything and returns once it serves.
    ///
    /// # Errors
    /// If a port is taken or the data folder cannot be used.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let api = bind(options.port).await?;
        let base_url = format!("http://{}", address(&api)?);
        let lock = options.data.as_deref().map(lock).transpose()?;
        let (stop, stopping) = watch::channel(false);

        let mut parts = Vec::new();
        let database_url = match &options.dynamodb_url {
            Some(url) => url.clone(),
            None => {
                let listener = bind(0).await?;
                let url = format!("http://{}", address(&listener)?);
                let serving = dynamodb::serve(listener, options.data.as_deref(), stopping.clone());
                let folder = options.data.as_deref().unwrap_or_else(|| Path::new("memory"));
                parts.push(serving.map_err(|cause| data_folder(folder, cause))?);
                url
            }
        };
        let (created, announced) = mpsc::unbounded_channel();
        let s3 = storage(&options, created).await?;
        let sqs = queues(&options).await?;
        let secrets = secrets(&options).await?;
        let sts = sts().await?;
        let beacon = simulated_beacon(&options).await?;
        let tax_portal = match &options.tax_authority_url {
            Some(_) => None,
            None => Some(tax_portal(&options).await?),
        };
        let partner = match &options.partner_url {
            Some(_) => None,
            None => Some(simulated_partner().await?),
        };
        let endpoints = Endpoints {
            api: &base_url,
            database: through_proxy(&options, &database_url).await,
            storage: through_proxy(&options, s3.endpoint()).await,
            queues: through_proxy(&options, sqs.endpoint()).await,
            queue_urls: [TAX_QUEUE, PARTNER_QUEUE].map(|name| sqs.queue_url(name)),
            secrets: through_proxy(&options, secrets.endpoint()).await,
            identities: sts.endpoint(),
            beacon: &beacon,
            tax_authority: tax_portal.as_ref().map(|portal| portal.base_url.as_str()),
        };
        let env = variables(&options, &endpoints);
        let settings: Env = env.clone().into_iter().collect();
        tables::create_missing(&Aws::for_function(&settings)?.dynamodb(), options.streams).await?;

        let responder = Responder::from_env(&settings, options.clock.clone(), options.telemetry)?;
        if options.background {
            let background = |function: &str| {
                let env = as_function(&settings, function);
                // Changes are counted after every request, and with a speedup sweeps run about every second: their log
                // lines would bury all others.
                let is_silent =
                    function == "count-changes" || (function == "sweep-unsettled" && options.hasten > 1);
                let telemetry = if is_silent { Telemetry::Off } else { options.telemetry };
                EventContext::new(env, options.clock.clone(), telemetry)
            };
            parts.extend(workers::start(&background, announced, &stopping)?);
        }
        let gateway = Arc::new(functions(&settings, responder.clone()).await?);
        let demos = Arc::new(OnceLock::new());
        let try_page = TryPage {
            gateway: Arc::clone(&gateway),
            responder,
            demos: Arc::clone(&demos),
            takes_live_keys: options.stage == "production",
            storage: endpoints.storage,
        };
        let router = try_page.router().merge(gateway.router());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        parts.push(tokio::spawn(async move {
            // Accepting connections recovers from errors, so this ends only on a stop.
            let _ = axum::serve(api, service).with_graceful_shutdown(stopped(stopping)).await;
        }));
        let chosen_partner = options.partner_url.unwrap_or_default();
        let emulators = (s3, sqs, secrets, sts, beacon);
        Ok(Self {
            base_url,
            tax_portal,
            partner,
            chosen_partner,
            demos,
            emulators,
            env,
            stop,
            parts,
            _lock: lock,
        })
    }

    /// `None` if another partner is used.
    pub fn partner(&self) -> Option<&SimulatedPartner> {
        self.partner.as_ref()
    }

    /// Makes these campaigns available on the try page. Only the first call counts, because open pages rely on it.
    pub fn show_demos(&self, demos: Vec<Demo>) {
        // Refused if campaigns are already set.
        let _ = self.demos.set(demos);
    }

    /// The URL where the partner redeems codes, simulated or not.
    pub fn partner_url(&self) -> String {
        let simulated = self.partner.as_ref().map(SimulatedPartner::url);
        simulated.unwrap_or_else(|| self.chosen_partner.clone())
    }

    /// How often the simulated tax authority was asked for a receipt; 0 if another one is used.
    pub fn asked_for(&self, code: &str) -> u32 {
        self.tax_portal.as_ref().map_or(0, |portal| portal.asked(code))
    }

    /// False in staging.
    pub fn takes_live_keys(&self) -> bool {
        self.env.get("STAGE").is_some_and(|stage| stage == "production")
    }

    /// The API's base URL, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// All variables that a function or the operator's command line needs for this stack.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// Waits for requests in flight, then stops everything.
    pub async fn stop(self) {
        // Without receivers everything has already stopped.
        let _ = self.stop.send(true);
        for part in self.parts {
            let _ = part.await;
        }
        let (s3, sqs, secrets, sts, beacon) = self.emulators;
        tokio::join!(s3.stop(), sqs.stop(), secrets.stop(), sts.stop(), beacon.stop());
    }
}

/// The functions behind their routes, as in the template: each with its own connections and caches.
async fn functions(settings: &Env, responder: Responder) -> Result<Gateway, ConfigError> {
    let mut gateway = Gateway::new(Fallback::new(responder.clone()));
    add::<GetCampaign>(&mut gateway, settings, &responder).await?;
    add::<CheckCode>(&mut gateway, settings, &responder).await?;
    add::<CreateSubmission>(&mut gateway, settings, &responder).await?;
    add::<LookupSubmissions>(&mut gateway, settings, &responder).await?;
    add::<GetSubmission>(&mut gateway, settings, &responder).await?;
    add::<CreateReceipt>(&mut gateway, settings, &responder).await?;
    add::<RefreshUploadUrl>(&mut gateway, settings, &responder).await?;
    add::<GetReceipt>(&mut gateway, settings, &responder).await?;
    Ok(gateway)
}

async fn add<O: Endpoint>(
    gateway: &mut Gateway,
    settings: &Env,
    responder: &Responder,
) -> Result<(), ConfigError> {
    let context = AppContext::new(as_function(settings, O::ROUTE.function), responder.clone())?;
    let function = ApiHandler::<O>::new(context)?;
    function.prepare().await;
    gateway.add(O::ROUTE, function);
    Ok(())
}

/// The URL of an emulated service, or of its proxy.
async fn through_proxy(options: &Options, url: &str) -> String {
    match &options.proxy {
        Some(EndpointProxy(proxy)) => proxy(url.to_owned()).await,
        None => url.to_owned(),
    }
}

struct Endpoints<'a> {
    api: &'a str,
    database: String,
    storage: String,
    queues: String,
    /// The tax authority's queue, then the partners'.
    queue_urls: [String; 2],
    secrets: String,
    identities: &'a str,
    beacon: &'a Beacon,
    tax_authority: Option<&'a str>,
}

fn variables(options: &Options, endpoints: &Endpoints<'_>) -> BTreeMap<String, String> {
    let tax_authority = options.tax_authority_url.as_deref().or(endpoints.tax_authority).unwrap_or_default();
    let [tax_queue, partner_queue] = &endpoints.queue_urls;
    let mut variables: BTreeMap<String, String> = [
        ("AWS_REGION", "af-south-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoints.database.clone()),
        ("AWS_ENDPOINT_URL_S3", endpoints.storage.clone()),
        ("AWS_ENDPOINT_URL_SQS", endpoints.queues.clone()),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", endpoints.secrets.clone()),
        ("AWS_ENDPOINT_URL_STS", endpoints.identities.to_owned()),
        ("STAGE", options.stage.to_owned()),
        ("DOCS_URL", format!("{}/docs", endpoints.api)),
        (photos::VARIABLE, BUCKET.to_owned()),
        (ops_core::EVIDENCE_VARIABLE, EVIDENCE_BUCKET.to_owned()),
        (ops_core::OPENINGS_VARIABLE, OPENINGS_BUCKET.to_owned()),
        (ops_core::CHAIN_VARIABLE, endpoints.beacon.info.clone()),
        (ops_core::RELAY_VARIABLE, endpoints.beacon.base_url.clone()),
        (settle_queue::TAX_VARIABLE, tax_queue.clone()),
        (settle_queue::PARTNER_VARIABLE, partner_queue.clone()),
        (deployment_secret::VARIABLE, DEPLOYMENT_SECRET.to_owned()),
        (partner_secrets::PREFIX_VARIABLE, PARTNER_SECRETS_PREFIX.to_owned()),
        (partner_gateway::ADDRESSES_VARIABLE, "any".to_owned()),
        (settle_receipts::TAX_AUTHORITY, tax_authority.to_owned()),
        (config::HASTEN, options.hasten.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    variables.extend(TABLES.iter().map(|table| (table.variable.to_owned(), table.name.to_owned())));
    if let Some(program) = &options.photo_reader {
        variables.insert(settle_receipts::PHOTO_READER.to_owned(), program.display().to_string());
    }
    variables
}

async fn storage(options: &Options, created: mpsc::UnboundedSender<ObjectCreated>) -> Result<S3, StartError> {
    let started = S3::serve(s3::Options {
        buckets: [BUCKET, EVIDENCE_BUCKET, OPENINGS_BUCKET].map(str::to_owned).into(),
        folder: options.data.as_deref().map(|data| data.join("s3")),
        access_keys: ACCESS_KEY.to_owned(),
        secret_key: SECRET_KEY.to_owned(),
        created,
        now: wall_clock(&options.clock),
        port: 0,
    });
    let folder = options.data.as_deref().unwrap_or_else(|| Path::new("memory"));
    started.await.map_err(|cause| data_folder(folder, cause))
}

async fn queues(options: &Options) -> Result<Sqs, StartError> {
    let with_dead_letters = |name: &str| {
        let dead_letters = format!("{name}-dead-letters");
        let queue = QueueOptions {
            name: name.to_owned(),
            visibility: VISIBILITY,
            dead_letter: Some((dead_letters.clone(), MAX_RECEIVES)),
        };
        [queue, QueueOptions { name: dead_letters, visibility: VISIBILITY, dead_letter: None }]
    };
    let queues = [TAX_QUEUE, PARTNER_QUEUE].into_iter().flat_map(with_dead_letters).collect();
    let started = Sqs::serve(sqs::Options { queues, now: wall_clock(&options.clock), port: 0 });
    started.await.map_err(|cause| StartError::Io { what: "the queues cannot be served".to_owned(), cause })
}

async fn secrets(options: &Options) -> Result<SecretsManager, StartError> {
    let folder = options.data.as_deref().unwrap_or_else(|| Path::new("memory"));
    let file = options.data.as_deref().map(|data| data.join("secrets.json"));
    let mut secrets = Secrets::kept_in(file).map_err(|cause| data_folder(folder, cause))?;
    let random = || hex(&random::bytes::<32>());
    let deployments = options.deployment_secret.clone().unwrap_or_else(random);
    let made = secrets.make(DEPLOYMENT_SECRET, random(), deployments);
    made.map_err(|cause| data_folder(folder, cause))?;
    let (name, value) = PARTNER_SECRET;
    let mut given = options.secrets.clone();
    given.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    let prefixed = |(name, value)| (format!("{PARTNER_SECRETS_PREFIX}{name}"), value);
    secrets.given = given.into_iter().map(prefixed).collect();
    let started = SecretsManager::serve(secrets).await;
    started.map_err(|cause| StartError::Io { what: "the secrets cannot be served".to_owned(), cause })
}

async fn sts() -> Result<Sts, StartError> {
    let started = Sts::serve().await;
    started.map_err(|cause| StartError::Io { what: "identities cannot be served".to_owned(), cause })
}

async fn simulated_beacon(options: &Options) -> Result<Beacon, StartError> {
    let started = Beacon::serve(options.clock.clone()).await;
    started.map_err(|cause| StartError::Io { what: "the beacon cannot be simulated".to_owned(), cause })
}

async fn tax_portal(options: &Options) -> Result<TaxPortal, StartError> {
    let clock = options.clock.clone();
    // The latest day on which the time of every receipt has passed, so that no receipt is in the future.
    let today = move || {
        let over_at = DateTime::from(clock.now()).checked_sub_signed(SINCE_MIDNIGHT).unwrap_or_default();
        over_at.with_timezone(&FISCAL_OFFSET).date_naive()
    };
    let mut portal = tax_portal::Options::new(shops(), today);
    if options.hasten > 1 {
        // With a speedup, look-ups are meant to be fast.
        portal.throttle = None;
    }
    let started = TaxPortal::serve(portal).await;
    started
        .map_err(|cause| StartError::Io { what: "the tax authority cannot be simulated".to_owned(), cause })
}

async fn simulated_partner() -> Result<SimulatedPartner, StartError> {
    let options = partner::Options {
        secret: Some((PARTNER_SECRET_HEADER.to_owned(), PARTNER_SECRET.1.to_owned())),
        ..partner::Options::new()
    };
    let started = SimulatedPartner::serve(options).await;
    started.map_err(|cause| StartError::Io { what: "the partner cannot be simulated".to_owned(), cause })
}

fn wall_clock(clock: &Clock) -> WallClock {
    let clock = clock.clone();
    Arc::new(move || clock.now().into())
}

async fn bind(port: u16) -> Result<TcpListener, StartError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|cause| StartError::Io {
        what: format!("cannot listen on port {port}; stop what uses it, or choose another with --port"),
        cause,
    })
}

fn address(listener: &TcpListener) -> Result<SocketAddr, StartError> {
    listener
        .local_addr()
        .map_err(|cause| StartError::Io { what: "cannot listen on loopback".to_owned(), cause })
}

fn data_folder(folder: &Path, cause: io::Error) -> StartError {
    let folder = folder.display();
    StartError::Io { what: format!("cannot keep data in {folder}; choose another folder with --data"), cause }
}

/// Creates the data folder and locks it for this stack: two databases over one file would corrupt it.
fn lock(folder: &Path) -> Result<File, StartError> {
    std::fs::create_dir_all(folder).map_err(|cause| data_folder(folder, cause))?;
    let file = File::create(folder.join("in-use.lock")).map_err(|cause| data_folder(folder, cause))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(folder.to_owned())),
        Err(TryLockError::Error(cause)) => Err(data_folder(folder, cause)),
    }
}
