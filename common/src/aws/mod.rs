//! AWS clients, set up from the environment only: the provider chain costs more than the rest of a
//! start.

pub mod deployment_secret;
pub mod event_queue;
pub mod evidence;
pub mod moments_secret;
pub mod photos;
mod queue;
pub mod secrets;
pub mod settle_queue;

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Region, SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_sdk_s3::config::RequestChecksumCalculation;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorSettings, SharedHttpConnector, http_client_fn,
};
use aws_types::SdkConfig;
use futures_util::{StreamExt, TryStreamExt, stream};
use http_body_util::BodyExt;
use url::{Host, Url};

use self::deployment_secret::{DeploymentSecrets, KnownVersions};
use crate::config::{ConfigError, Env};
use crate::domain::instant::MomentsSecret;
use crate::error::StoreError;
use crate::lock::Mutex;
use crate::telemetry;

pub const MAX_CONCURRENCY: usize = 16;

/// Results are in order.
pub fn concurrently<T, E>(
    calls: impl IntoIterator<Item = impl Future<Output = Result<T, E>>>,
) -> impl Future<Output = Result<Vec<T>, E>> {
    // Collected: the compiler does not see that the iterator can be sent.
    let calls: Vec<_> = calls.into_iter().collect();
    let calls = stream::iter(calls).buffered(MAX_CONCURRENCY);
    calls.try_collect()
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Services answer functions in milliseconds; after this, the connection counts as dead.
const FUNCTION_TIMEOUT: Duration = Duration::from_secs(3);
/// A page of a table has 1 MB, and an operator's line may be slow.
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(30);
/// Bound on all attempts of a call, in timeouts of one: a function answers within 10 s.
const ATTEMPTS: u32 = 3;

/// Timeout at start; the first call can connect too. A lost first packet is sent again after a second.
const OPEN_TIMEOUT: Duration = Duration::from_millis(1_500);

/// TLS by rustls over ring, which needs no entropy at start.
const TLS: Provider = Provider::Rustls(CryptoMode::Ring);

const DYNAMODB_ENDPOINT: &str = "AWS_ENDPOINT_URL_DYNAMODB";
const STS_ENDPOINT: &str = "AWS_ENDPOINT_URL_STS";

/// Source: <https://www.amazontrust.com/repository/>. Parsing a machine's hundred roots takes
/// longer than the rest of a start.
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon-roots.pem");

/// Each client is built on first use: that is a good part of a start.
#[derive(Clone)]
pub struct Aws {
    shared: SdkConfig,
    connector: SharedHttpConnector,
    env: Env,
    clients: Arc<Clients>,
}

masked_debug!(Aws);

#[derive(Default)]
struct Clients {
    dynamodb: OnceLock<aws_sdk_dynamodb::Client>,
    s3: OnceLock<aws_sdk_s3::Client>,
    secrets: OnceLock<aws_sdk_secretsmanager::Client>,
    sqs: OnceLock<aws_sdk_sqs::Client>,
    deployment_secrets: Arc<Mutex<KnownVersions>>,
    moments_secret: Mutex<Option<Arc<MomentsSecret>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSecret {
    Deployment,
    Moments,
}

impl Aws {
    pub fn for_function(env: &Env) -> Result<Self, ConfigError> {
        Self::from_env(env, FUNCTION_TIMEOUT)
    }

    /// Region and credentials are the environment's, as those of a function.
    pub fn for_operator(env: &Env) -> Result<Self, ConfigError> {
        Self::from_env(env, OPERATOR_TIMEOUT)
    }

    pub fn for_operator_with(
        env: &Env,
        region: Region,
        credentials: SharedCredentialsProvider,
    ) -> Self {
        Self::new(env, region, credentials, OPERATOR_TIMEOUT)
    }

    fn from_env(env: &Env, timeout: Duration) -> Result<Self, ConfigError> {
        let credentials = Credentials::new(
            env.required("AWS_ACCESS_KEY_ID")?,
            env.required("AWS_SECRET_ACCESS_KEY")?,
            env.optional("AWS_SESSION_TOKEN"),
            None,
            "environment",
        );
        let region = Region::new(env.required("AWS_REGION")?);
        let credentials = SharedCredentialsProvider::new(credentials);
        Ok(Self::new(env, region, credentials, timeout))
    }

    fn new(
        env: &Env,
        region: Region,
        credentials: SharedCredentialsProvider,
        timeout: Duration,
    ) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(timeout)
            .operation_timeout(timeout * ATTEMPTS)
            .build();
        let connector = connector(env);
        let shared = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(region)
            .credentials_provider(credentials)
            .http_client(client_over(connector.clone()))
            .retry_config(RetryConfig::standard())
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Self {
            shared,
            connector,
            env: env.clone(),
            clients: Arc::default(),
        }
    }

    /// Attempts of a transaction carry the same token: none is applied twice.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let new = || aws_sdk_dynamodb::Client::new(&self.config(DYNAMODB_ENDPOINT));
        self.clients.dynamodb.get_or_init(new).clone()
    }

    /// A failure is left to the first call.
    pub async fn prepare(&self, needed: &[StartSecret]) {
        let deployment = async {
            if needed.contains(&StartSecret::Deployment)
                && let Ok(secrets) = DeploymentSecrets::from_env(&self.env, self)
            {
                secrets.prepare().await;
            }
        };
        let moments = async {
            if needed.contains(&StartSecret::Moments) {
                moments_secret::prepare(self).await;
            }
        };
        tokio::join!(biased; deployment, moments, self.open_dynamodb());
    }

    /// Opens two connections: an environment's first request makes two calls at once.
    pub async fn open_dynamodb(&self) {
        let asking = || self.ask_whether_dynamodb_is_there();
        let both = async { tokio::try_join!(asking(), asking()).map(drop) };
        let opening = tokio::time::timeout(OPEN_TIMEOUT, both);
        if let Err(cause) = opening.await.unwrap_or_else(|elapsed| Err(elapsed.into())) {
            let error = StoreError::new("opening a connection to DynamoDB", cause);
            tracing::warn!(
                error = telemetry::cause(&error),
                "the first call has to open its connection"
            );
        }
    }

    /// A load balancer's health check needs no signature and no permission.
    async fn ask_whether_dynamodb_is_there(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let request = HttpRequest::get(self.dynamodb_url())?;
        let reply = self.connector.call(request).await?;
        // A connection can be reused once its answer is read.
        reply.into_body().collect().await.map(drop)
    }

    /// Covers the commercial partition; elsewhere, the first call connects.
    fn dynamodb_url(&self) -> String {
        let regional = || {
            let region = self
                .shared
                .region()
                .map(ToString::to_string)
                .unwrap_or_default();
            format!("https://dynamodb.{region}.amazonaws.com/")
        };
        self.endpoint(DYNAMODB_ENDPOINT).unwrap_or_else(regional)
    }

    /// Uploaders send no checksum, so none is required.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        let client = self.clients.s3.get_or_init(|| {
            let shared = self.config("AWS_ENDPOINT_URL_S3");
            let config = aws_sdk_s3::config::Builder::from(&shared)
                .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
                // A custom endpoint rarely has a host name for each bucket.
                .force_path_style(shared.endpoint_url().is_some());
            aws_sdk_s3::Client::from_conf(config.build())
        });
        client.clone()
    }

    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        let new = || aws_sdk_sqs::Client::new(&self.config("AWS_ENDPOINT_URL_SQS"));
        self.clients.sqs.get_or_init(new).clone()
    }

    pub fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        let config = || self.config("AWS_ENDPOINT_URL_SECRETS_MANAGER");
        let new = || aws_sdk_secretsmanager::Client::new(&config());
        self.clients.secrets.get_or_init(new).clone()
    }

    /// For `ops`, which asks STS who the operator is. Another endpoint is allowed only if DynamoDB
    /// is local too: otherwise a variable could make an operator someone else.
    pub fn sts_config(&self) -> SdkConfig {
        let is_local = self
            .endpoint(DYNAMODB_ENDPOINT)
            .is_some_and(|endpoint| is_loopback(&endpoint));
        let mut config = self.shared.clone().into_builder();
        config.set_endpoint_url(self.endpoint(STS_ENDPOINT).filter(|_| is_local));
        config.build()
    }

    /// The same clients with a wrapped connector, for example by a guard.
    #[must_use]
    pub fn through(&self, wrap: impl FnOnce(SharedHttpConnector) -> SharedHttpConnector) -> Self {
        let connector = wrap(self.connector.clone());
        let mut shared = self.shared.clone().into_builder();
        shared.set_http_client(Some(client_over(connector.clone())));
        Self {
            shared: shared.build(),
            connector,
            env: self.env.clone(),
            clients: Arc::default(),
        }
    }

    fn config(&self, endpoint: &str) -> SdkConfig {
        let mut config = self.shared.clone().into_builder();
        config.set_endpoint_url(self.endpoint(endpoint));
        config.build()
    }

    fn endpoint(&self, variable: &str) -> Option<String> {
        self.env
            .optional(variable)
            .or_else(|| self.env.optional("AWS_ENDPOINT_URL"))
    }
}

fn is_loopback(endpoint: &str) -> bool {
    let Ok(url) = Url::parse(endpoint) else {
        return false;
    };
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// HTTP client of credential providers, which set their own timeouts.
pub fn https(env: &Env) -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(TLS)
        .tls_context(trust(env))
        .build_https()
}

fn connector(env: &Env) -> SharedHttpConnector {
    let settings = HttpConnectorSettings::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .build();
    let connector = Connector::builder()
        .tls_provider(TLS)
        .tls_context(trust(env))
        .connector_settings(settings);
    SharedHttpConnector::new(connector.build())
}

/// One for all: the SDK would build one for each service and setting, each reading the trust roots
/// again.
fn client_over(connector: SharedHttpConnector) -> SharedHttpClient {
    http_client_fn(move |_, _| connector.clone())
}

/// Amazon's roots, or those in `SSL_CERT_FILE`, as behind a proxy that opens TLS.
fn trust(env: &Env) -> TlsContext {
    let roots = match env.optional("SSL_CERT_FILE") {
        Some(_) => TrustStore::default(),
        None => TrustStore::empty().with_pem_certificate(AMAZON_ROOTS),
    };
    // Building checks nothing; the default is the machine's roots.
    TlsContext::builder()
        .with_trust_store(roots)
        .build()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STS: &str = "http://127.0.0.1:9999";

    fn env(dynamodb: &[(&str, &str)]) -> Env {
        let settings = [
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "af-south-1"),
            (STS_ENDPOINT, STS),
        ];
        let settings = settings.iter().chain(dynamodb);
        settings
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect()
    }

    #[test]
    fn operators_wait_longer_for_a_call_than_functions() {
        let wait = |aws: Result<Aws, ConfigError>| {
            let aws = aws.expect("all variables");
            aws.shared.timeout_config()?.operation_attempt_timeout()
        };
        let env = env(&[]);
        let waits = [Aws::for_function(&env), Aws::for_operator(&env)].map(wait);
        assert_eq!(waits, [3, 30].map(|wait| Some(Duration::from_secs(wait))));
    }

    #[test]
    fn sts_is_awss_own_unless_dynamodb_is_on_this_machine() {
        let endpoint = |dynamodb: &[(&str, &str)]| {
            let aws = Aws::for_function(&env(dynamodb)).expect("all variables");
            aws.sts_config().endpoint_url().map(str::to_owned)
        };
        for local in [
            "http://127.0.0.1:8000",
            "http://localhost:8000",
            "http://[::1]:8000",
        ] {
            assert_eq!(
                endpoint(&[(DYNAMODB_ENDPOINT, local)]).as_deref(),
                Some(STS),
                "{local}"
            );
        }
        assert_eq!(endpoint(&[]), None);
        for remote in [
            "https://dynamodb.af-south-1.amazonaws.com",
            "https://127.0.0.1.example.com",
            "https://127.0.0.1@example.com",
            "https://localhost.example.com",
            "127.0.0.1:8000",
        ] {
            assert_eq!(endpoint(&[(DYNAMODB_ENDPOINT, remote)]), None, "{remote}");
        }
    }
}
