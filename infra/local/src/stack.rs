//! The stack: everything started on loopback ports, and stopped again.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use check_code::CheckCode;
use common::clock::Clock;
use common::config::{ConfigError, Env};
use common::http::function::{Frame, Function, Operation, Setup};
use common::store::{StoreError, connection};
use common::telemetry::Telemetry;
use create_submission::CreateSubmission;
use fallback::Fallback;
use get_campaign::GetCampaign;
use get_submission::GetSubmission;
use lookup_submissions::LookupSubmissions;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::dynamodb::{self, stopped};
use crate::gateway::Gateway;
use crate::tables::{self, TABLES};

/// How a stack is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// The port of the API; 0 picks a free one.
    pub port: u16,
    /// `production`, or `staging`, which refuses live keys.
    pub stage: &'static str,
    /// Where everything is kept; in memory when absent.
    pub data: Option<PathBuf>,
    /// A DynamoDB to use instead of the embedded one; its tables are created if they are missing.
    pub dynamodb_url: Option<String>,
    /// The clock of the functions.
    pub clock: Clock,
    /// Where the functions' log lines go.
    pub telemetry: Telemetry,
}

impl Default for Options {
    /// A free port, production, in memory, the machine's clock, silent: what tests want.
    fn default() -> Self {
        Self {
            port: 0,
            stage: "production",
            data: None,
            dynamodb_url: None,
            clock: Clock::system(),
            telemetry: Telemetry::Off,
        }
    }
}

/// A stack that serves.
pub struct Stack {
    base_url: String,
    env: BTreeMap<String, String>,
    stop: watch::Sender<bool>,
    parts: Vec<JoinHandle<()>>,
    /// Keeps other stacks out of the data folder while this one uses it.
    _lock: Option<File>,
}

/// The stack cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port is taken, or a file cannot be opened.
    #[error("{what}")]
    Io {
        /// What could not be done, and what to do about it.
        what: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Another stack uses the folder.
    #[error("{} is in use by another local stack; stop it, or choose another folder with --data", .0.display())]
    InUse(PathBuf),
    /// A variable is missing; the stack sets them all, so this is a fault in it.
    #[error("the stack's own configuration is incomplete")]
    Config(#[from] ConfigError),
    /// The embedded database refuses its tables.
    #[error("the embedded database is not usable")]
    Store(#[from] StoreError),
}

impl Stack {
    /// Starts everything and returns once it serves.
    ///
    /// # Errors
    /// When a port is taken, or the data folder cannot be used.
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
        let env = variables(&options, &base_url, &database_url);
        let settings: Env = env.clone().into_iter().collect();
        tables::create_missing(&connection::dynamodb(&settings)?).await?;

        let frame = Frame::from_env(&settings, options.clock, options.telemetry)?;
        let router = functions(settings, frame)?.into_router();
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        parts.push(tokio::spawn(async move {
            // It ends when told to; accepting never fails for good.
            let _ = axum::serve(api, service).with_graceful_shutdown(stopped(stopping)).await;
        }));
        Ok(Self { base_url, env, stop, parts, _lock: lock })
    }

    /// Where the API is served, without a slash at the end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Every variable that a function or the operator's command line needs to work on this stack.
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// Lets the requests under way finish, then stops everything.
    pub async fn stop(self) {
        // Without receivers everything has stopped already.
        let _ = self.stop.send(true);
        for part in self.parts {
            let _ = part.await;
        }
    }
}

/// The functions behind their routes, as the template has them.
fn functions(settings: Env, frame: Frame) -> Result<Gateway, ConfigError> {
    let setup = Setup::new(settings, frame.clone())?;
    let mut gateway = Gateway::new(Fallback::new(frame));
    add::<GetCampaign>(&mut gateway, &setup)?;
    add::<CheckCode>(&mut gateway, &setup)?;
    add::<CreateSubmission>(&mut gateway, &setup)?;
    add::<LookupSubmissions>(&mut gateway, &setup)?;
    add::<GetSubmission>(&mut gateway, &setup)?;
    Ok(gateway)
}

fn add<O: Operation>(gateway: &mut Gateway, setup: &Setup) -> Result<(), ConfigError> {
    gateway.add(O::ROUTE, Function::<O>::new(setup.clone())?);
    Ok(())
}

fn variables(options: &Options, base_url: &str, database_url: &str) -> BTreeMap<String, String> {
    let fixed = [
        ("AWS_REGION", "af-south-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_ENDPOINT_URL_DYNAMODB", database_url),
        ("STAGE", options.stage),
    ];
    let tables = TABLES.iter().map(|table| (table.variable, table.name));
    let mut variables: BTreeMap<_, _> =
        fixed.into_iter().chain(tables).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    variables.insert("DOCS_URL".to_owned(), format!("{base_url}/docs"));
    variables
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

/// Makes the data folder, and takes it for this stack alone: two databases over one file spoil it.
fn lock(folder: &Path) -> Result<File, StartError> {
    std::fs::create_dir_all(folder).map_err(|cause| data_folder(folder, cause))?;
    let file = File::create(folder.join("in-use.lock")).map_err(|cause| data_folder(folder, cause))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StartError::InUse(folder.to_owned())),
        Err(TryLockError::Error(cause)) => Err(data_folder(folder, cause)),
    }
}
