//! The stack: starts everything on loopback ports, and stops it again.

mod emulators;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use api_docs::ApiDocs;
use check_code::CheckCode;
use common::app::job::EventContext;
use common::aws::Aws;
use common::aws::{deployment_secret, photos, settle_queue};
use common::clock::Clock;
use common::config::{ConfigError, Env};
use common::error::StoreError;
use common::runtime::http_handler::{ApiHandler, AppContext, BoxFuture, Endpoint, Responder};
use common::telemetry::Telemetry;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use get_campaign::GetCampaign;
use get_receipt::GetReceipt;
use get_submission::GetSubmission;
use lookup_submissions::LookupSubmissions;
use refresh_upload_url::RefreshUploadUrl;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::emulators::{
    BUCKET, DEPLOYMENT_SECRET, EVIDENCE_BUCKET, Emulators, OPENINGS_BUCKET, PARTNER_QUEUE,
    TAX_QUEUE,
};
use crate::demo::Demo;
use crate::dynamodb::{self, stopped};
use crate::gateway::Gateway;
use crate::partner::SimulatedPartner;
use crate::sqs::QueueClock;
use crate::tables;
use crate::try_page::TryPage;
use crate::workers;

/// The access key of operators, and the prefix of each function's own. All share one secret key.
const ACCESS_KEY: &str = "local";

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
    let key = (
        "AWS_ACCESS_KEY_ID".to_owned(),
        format!("{ACCESS_KEY}-{function}"),
    );
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
    pub speedup: u32,
    /// The photo reader program; `None` uses this program.
    pub photo_reader: Option<PathBuf>,
    /// Deliver events, queue messages and the schedule automatically; otherwise the caller must invoke those functions.
    pub background: bool,
    /// True if tables have streams. The embedded database keeps every change, and its writes get slower with their number.
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
            speedup: 1,
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
    chosen_partner: String,
    demos: Arc<OnceLock<Vec<Demo>>>,
    emulators: Emulators,
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

        let (database_url, database) = serve_database(&options, &stopping).await?;
        let mut parts: Vec<_> = database.into_iter().collect();
        let (created, announced) = mpsc::unbounded_channel();
        let emulators = Emulators::start(&options, created).await?;
        let env = emulators
            .variables(&options, &base_url, &database_url)
            .await;
        let settings: Env = env.clone().into_iter().collect();
        tables::create_missing(&Aws::for_function(&settings)?.dynamodb(), options.streams).await?;

        let responder = Responder::from_env(&settings, options.clock.clone(), options.telemetry)?;
        if options.background {
            let contexts = |function: &str| background_context(&options, &settings, function);
            parts.extend(workers::start(&contexts, announced, &stopping)?);
        }
        let gateway = Arc::new(functions(&settings, responder.clone()).await?);
        let demos = Arc::new(OnceLock::new());
        let try_page = TryPage {
            gateway: Arc::clone(&gateway),
            responder,
            demos: Arc::clone(&demos),
            takes_live_keys: options.stage == "production",
            storage: settings.required("AWS_ENDPOINT_URL_S3")?,
        };
        let router = try_page.router().merge(gateway.router());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        parts.push(tokio::spawn(async move {
            // Accepting connections recovers from errors, so this ends only on a stop.
            let _ = axum::serve(api, service)
                .with_graceful_shutdown(stopped(stopping))
                .await;
        }));
        let chosen_partner = options.partner_url.unwrap_or_default();
        Ok(Self {
            base_url,
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
        self.emulators.partner.as_ref()
    }

    /// Makes these campaigns available on the try page. Only the first call counts, because open pages rely on it.
    pub fn show_demos(&self, demos: Vec<Demo>) {
        // Refused if campaigns are already set.
        let _ = self.demos.set(demos);
    }

    /// The URL where the partner redeems codes, simulated or not.
    pub fn partner_url(&self) -> String {
        let simulated = self.emulators.partner.as_ref().map(SimulatedPartner::url);
        simulated.unwrap_or_else(|| self.chosen_partner.clone())
    }

    /// How often the simulated tax authority was asked for a receipt; 0 if another one is used.
    pub fn asked_for(&self, code: &str) -> u32 {
        self.emulators
            .tax_portal
            .as_ref()
            .map_or(0, |portal| portal.asked(code))
    }

    /// The clock of the queues' delays and timeouts, which the functions' clock does not move.
    pub fn queue_clock(&self) -> QueueClock {
        self.emulators.sqs.clock()
    }

    /// False in staging.
    pub fn takes_live_keys(&self) -> bool {
        self.env
            .get("STAGE")
            .is_some_and(|stage| stage == "production")
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
        self.emulators.stop().await;
    }
}

/// The functions behind their routes, as in the template: each with its own connections and caches.
async fn functions(settings: &Env, responder: Responder) -> Result<Gateway, ConfigError> {
    let mut gateway = Gateway::new(ApiDocs::new(responder.clone()));
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

/// The URL of the database, and the embedded one's task.
async fn serve_database(
    options: &Options,
    stopping: &watch::Receiver<bool>,
) -> Result<(String, Option<JoinHandle<()>>), StartError> {
    if let Some(url) = &options.dynamodb_url {
        return Ok((url.clone(), None));
    }
    let listener = bind(0).await?;
    let url = format!("http://{}", address(&listener)?);
    let serving = dynamodb::serve(listener, options.data.as_deref(), stopping.clone());
    let folder = options
        .data
        .as_deref()
        .unwrap_or_else(|| Path::new("memory"));
    Ok((
        url,
        Some(serving.map_err(|cause| data_folder(folder, cause))?),
    ))
}

fn background_context(
    options: &Options,
    settings: &Env,
    function: &str,
) -> Result<EventContext, ConfigError> {
    // Changes are counted after every request, and with a speedup sweeps run about every second: their log lines would
    // bury all others.
    let is_silent =
        function == "count-changes" || (function == "sweep-unsettled" && options.speedup > 1);
    let telemetry = if is_silent {
        Telemetry::Off
    } else {
        options.telemetry
    };
    EventContext::new(
        as_function(settings, function),
        options.clock.clone(),
        telemetry,
    )
}

async fn bind(port: u16) -> Result<TcpListener, StartError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(|cause| StartError::Io {
            what: format!(
                "cannot listen on port {port}; stop what uses it, or choose another with --port"
            ),
            cause,
        })
}

fn address(listener: &TcpListener) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|cause| StartError::Io {
        what: "cannot listen on loopback".to_owned(),
        cause,
    })
}

fn data_folder(folder: &Path, cause: io::Error) -> StartError {
    let folder = folder.display();
    StartError::Io {
        what: format!("cannot keep data in {folder}; choose another folder with --data"),
        cause,
    }
}

/// Creates the data folder and locks it for this stack: two databases over one file would corrupt it.
fn lock(folder: &Path) -> Result<File, StartError> {
    let parents = folder.parent().map_or(Ok(()), std::fs::create_dir_all);
    let mut builder = std::fs::DirBuilder::new();
    // A new folder is for its owner alone: it has phones, photos and keys.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let created = parents.and_then(|()| {
        if folder.is_dir() {
            Ok(())
        } else {
            builder.create(folder)
        }
    });
    created.map_err(|cause| data_folder(folder, cause))?;
    let file =
        File::create(folder.join("in-use.lock")).map_err(|cause| data_folder(folder, cause))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(folder.to_owned())),
        Err(TryLockError::Error(cause)) => Err(data_folder(folder, cause)),
    }
}
