mod emulators;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use api_docs::ApiDocs;
use check_code::CheckCode;
use common::app::job::EventContext;
use common::aws::{deployment_secret, event_queue, moments_secret, photos, settle_queue};
use common::clock::Clock;
use common::config::{ConfigError, Env};
use common::runtime::http_handler::{ApiHandler, AppContext, BoxFuture, Endpoint, Responder};
use common::telemetry::Telemetry;
use create_receipt::CreateReceipt;
use create_submission::CreateSubmission;
use futures_util::future::join_all;
use get_campaign::GetCampaign;
use get_receipt::GetReceipt;
use get_submission::GetSubmission;
use lookup_submissions::LookupSubmissions;
use refresh_upload_url::RefreshUploadUrl;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::emulators::Emulators;
use crate::demo::Demo;
use crate::gateway::Gateway;
use crate::loopback::{Loopback, Server};
use crate::secrets::{DEPLOYMENT_SECRET, MOMENTS_SECRET};
use crate::sqs::QueueClock;
use crate::tables;
use crate::try_page::{Receivers, TryPage};
use crate::workers;

const PRODUCTION: &str = "production";
/// Operators', and prefix of each function's. All share one secret key.
const ACCESS_KEY: &str = "local";

const BUCKETS: [&str; 3] = ["receipt-photos", "draw-evidence", "draw-openings"];
const QUEUES: [&str; 3] = ["tax-work", "partner-work", "event-work"];

pub const NAMES: [(&str, &str); 8] = {
    let [photos, evidence, openings] = BUCKETS;
    let [tax, partner, events] = QUEUES;
    [
        (photos::VARIABLE, photos),
        (ops_core::EVIDENCE_VARIABLE, evidence),
        (ops_core::OPENINGS_VARIABLE, openings),
        (settle_queue::TAX_VARIABLE, tax),
        (settle_queue::PARTNER_VARIABLE, partner),
        (event_queue::VARIABLE, events),
        (deployment_secret::VARIABLE, DEPLOYMENT_SECRET),
        (moments_secret::VARIABLE, MOMENTS_SECRET),
    ]
};
/// Precedes the names in campaign files.
pub const PARTNER_SECRETS_PREFIX: &str = "local/";
/// Name in campaign files, and the value that the simulated partner requires.
pub const PARTNER_SECRET: (&str, &str) = ("partners/demo", "Bearer a-secret-of-the-demo");
pub const PARTNER_SECRET_HEADER: &str = "authorization";
/// Takes the server's URL and returns the proxy's.
#[derive(Clone)]
pub struct EndpointProxy(pub Arc<dyn Fn(String) -> BoxFuture<'static, String> + Send + Sync>);

impl fmt::Debug for EndpointProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndpointProxy")
    }
}

/// The function's own access key tells its calls apart.
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
    pub port: u16,
    /// `production`, or `staging`, which refuses live keys.
    pub stage: &'static str,
    pub data: Option<PathBuf>,
    /// Replaces the embedded DynamoDB; missing tables are created.
    pub dynamodb_url: Option<String>,
    pub tax_authority_url: Option<String>,
    pub partner_url: Option<String>,
    pub secrets: BTreeMap<String, String>,
    /// Shared by stacks over one database. `None` uses the data folder's, or a random one.
    pub deployment_secret: Option<String>,
    pub proxy: Option<EndpointProxy>,
    pub speedup: u32,
    pub photo_reader: Option<PathBuf>,
    /// False leaves events, messages and the schedule to the caller.
    pub background: bool,
    /// True for streams. The embedded database keeps every change, which slows writes.
    pub streams: bool,
    pub clock: Clock,
    pub telemetry: Telemetry,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            port: 0,
            stage: PRODUCTION,
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

pub struct Stack {
    demos: Arc<OnceLock<Vec<Demo>>>,
    emulators: Emulators,
    api: Server,
    stop_workers: watch::Sender<bool>,
    workers: Vec<JoinHandle<()>>,
    /// Keeps other stacks out.
    _lock: Option<File>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{what}")]
    Io {
        what: String,
        #[source]
        cause: io::Error,
    },
    #[error("{} is in use by another local stack; stop it, or choose another folder with --data", .0.display())]
    InUse(PathBuf),
    /// The stack sets all variables: a bug.
    #[error("the stack's own configuration is incomplete")]
    Config(#[from] ConfigError),
    #[error("the database is not usable: {0}")]
    Tables(serde_json::Value),
}

impl Stack {
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let api = Loopback::bind(options.port).await.map_err(|cause| {
            let port = options.port;
            let what = format!(
                "cannot listen on port {port}; stop what uses it, or choose another with --port"
            );
            StartError::Io { what, cause }
        })?;
        let lock = options.data.as_deref().map(lock).transpose()?;
        let (created, announced) = mpsc::unbounded_channel();
        let emulators = Emulators::start(&options, &api.url, created).await?;
        let settings: Env = emulators.variables.clone().into_iter().collect();
        let database = settings.required("AWS_ENDPOINT_URL_DYNAMODB")?;
        tables::create_missing(&database, options.streams)
            .await
            .map_err(StartError::Tables)?;

        let responder = Responder::from_env(&settings, options.clock.clone(), options.telemetry)?;
        let (stop_workers, stopping) = watch::channel(false);
        let workers = if options.background {
            let contexts = |function: &str| background_context(&options, &settings, function);
            workers::start(&contexts, announced, &stopping)?
        } else {
            Vec::new()
        };
        let gateway = Arc::new(functions(&settings, responder.clone()).await?);
        let demos = Arc::new(OnceLock::new());
        let try_page = TryPage {
            gateway: Arc::clone(&gateway),
            responder,
            demos: Arc::clone(&demos),
            takes_live_keys: options.stage == PRODUCTION,
            storage: settings.required("AWS_ENDPOINT_URL_S3")?,
            env: settings.clone(),
            base_url: api.url.clone(),
            receivers: Receivers::default(),
        };
        Ok(Self {
            demos,
            emulators,
            api: api.serve(try_page.router().merge(gateway.router())),
            stop_workers,
            workers,
            _lock: lock,
        })
    }

    /// The first call counts, because open pages rely on it.
    pub fn show_demos(&self, demos: Vec<Demo>) {
        let _ = self.demos.set(demos);
    }

    pub fn partner_url(&self) -> &str {
        &self.emulators.partner_url
    }

    /// The functions' clock does not move it.
    pub fn queue_clock(&self) -> QueueClock {
        self.emulators.queue_clock.clone()
    }

    pub fn takes_live_keys(&self) -> bool {
        self.env()
            .get("STAGE")
            .is_some_and(|stage| stage == PRODUCTION)
    }

    pub fn base_url(&self) -> &str {
        &self.api.url
    }

    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.emulators.variables
    }

    pub async fn stop(self) {
        // No receivers: already stopped.
        let _ = self.stop_workers.send(true);
        self.api.stop().await;
        join_all(self.workers).await;
        join_all(self.emulators.servers.into_iter().map(Server::stop)).await;
    }
}

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

fn background_context(
    options: &Options,
    settings: &Env,
    function: &str,
) -> Result<EventContext, ConfigError> {
    // Their log lines would bury all others.
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

fn data_folder(folder: &Path, cause: io::Error) -> StartError {
    let folder = folder.display();
    StartError::Io {
        what: format!("cannot keep data in {folder}; choose another folder with --data"),
        cause,
    }
}

/// Two databases over one file would corrupt it.
fn lock(folder: &Path) -> Result<File, StartError> {
    let parents = folder.parent().map_or(Ok(()), std::fs::create_dir_all);
    let mut builder = std::fs::DirBuilder::new();
    // It has phones, photos and keys.
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
