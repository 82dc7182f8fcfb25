//! AWS clients: region, credentials and endpoints from the environment, and nothing else.
//!
//! Walking the whole provider chain would cost a function more than the rest of a start-up.

pub mod deployment_secret;
pub mod photos;
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
use aws_sdk_dynamodb::config::{BehaviorVersion, Region, SharedHttpClient, StalledStreamProtectionConfig};
use aws_sdk_s3::config::RequestChecksumCalculation;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorSettings, SharedHttpConnector, http_client_fn,
};
use aws_types::SdkConfig;
use http_body_util::BodyExt;

use crate::config::{ConfigError, Env};
use crate::store::StoreError;
use crate::telemetry;

/// Long enough for a TCP and TLS handshake inside one region.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Every service answers in milliseconds; after this the connection is taken for dead.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// All tries of one call, so that a function answers before its caller gives up.
const CALL_TIMEOUT: Duration = Duration::from_secs(9);

/// A start-up waits no longer for a connection, which the first call can open as well. A first packet that is
/// lost is sent again after a second.
const OPEN_TIMEOUT: Duration = Duration::from_millis(1_500);

/// TLS by rustls over ring, which asks for no entropy at start.
const TLS: Provider = Provider::Rustls(CryptoMode::Ring);

const DYNAMODB_ENDPOINT: &str = "AWS_ENDPOINT_URL_DYNAMODB";

/// Every root that AWS's endpoints lead to, as <https://www.amazontrust.com/repository/> lists them.
/// Reading and parsing the hundred and more that a machine trusts takes longer than all the rest of a
/// start-up.
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon-roots.pem");

/// The clients of all services, and what they share. A service has the environment's endpoint, where it names
/// one. A client is made when it is first asked for: making one is a good part of a start-up.
#[derive(Clone)]
pub struct Aws {
    shared: SdkConfig,
    connector: SharedHttpConnector,
    env: Env,
    clients: Arc<Clients>,
}

#[derive(Default)]
struct Clients {
    dynamodb: OnceLock<aws_sdk_dynamodb::Client>,
    s3: OnceLock<aws_sdk_s3::Client>,
    secrets: OnceLock<aws_sdk_secretsmanager::Client>,
    sqs: OnceLock<aws_sdk_sqs::Client>,
}

impl Aws {
    /// The connection of a function, whose credentials stand in the environment.
    ///
    /// # Errors
    /// Names the variable that is missing.
    pub fn for_function(env: &Env) -> Result<Self, ConfigError> {
        let credentials = Credentials::new(
            env.required("AWS_ACCESS_KEY_ID")?,
            env.required("AWS_SECRET_ACCESS_KEY")?,
            env.optional("AWS_SESSION_TOKEN"),
            None,
            "environment",
        );
        let region = Region::new(env.required("AWS_REGION")?);
        Ok(Self::new(env, region, SharedCredentialsProvider::new(credentials)))
    }

    /// The connection of somebody who has credentials already.
    pub fn new(env: &Env, region: Region, credentials: SharedCredentialsProvider) -> Self {
        let timeouts = TimeoutConfig::builder()
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(CALL_TIMEOUT)
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
        Self { shared, connector, env: env.clone(), clients: Arc::default() }
    }

    /// The client of DynamoDB. It sends the same token on every try of a transaction, so that a try whose
    /// answer was lost is not applied twice.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let client = self.clients.dynamodb.get_or_init(|| {
            let mut config = aws_sdk_dynamodb::config::Builder::from(&self.shared);
            config.set_endpoint_url(self.endpoint(DYNAMODB_ENDPOINT));
            aws_sdk_dynamodb::Client::from_conf(config.build())
        });
        client.clone()
    }

    /// Opens a connection to DynamoDB, which the first call then finds open. Waits for it no longer than a second
    /// and a half. When it cannot be opened, the first call will find out.
    pub async fn open_dynamodb(&self) {
        let opening = tokio::time::timeout(OPEN_TIMEOUT, self.ask_whether_dynamodb_is_there());
        if let Err(cause) = opening.await.unwrap_or_else(|elapsed| Err(elapsed.into())) {
            let error = StoreError::new("opening a connection to DynamoDB", cause);
            tracing::warn!(error = telemetry::cause(&error), "the first call has to open its connection");
        }
    }

    /// Sends what a load balancer sends to learn whether DynamoDB is there. It needs no signature and no
    /// permission, and no table is looked at for its answer.
    async fn ask_whether_dynamodb_is_there(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let request = HttpRequest::get(self.dynamodb_url())?;
        let reply = self.connector.call(request).await?;
        // A connection can be used again once its answer was read.
        reply.into_body().collect().await.map(drop)
    }

    /// Where DynamoDB is, in the partition of the commercial regions. In another, the first call has to open the
    /// connection.
    fn dynamodb_url(&self) -> String {
        let regional = || {
            let region = self.shared.region().map(ToString::to_string).unwrap_or_default();
            format!("https://dynamodb.{region}.amazonaws.com/")
        };
        self.endpoint(DYNAMODB_ENDPOINT).unwrap_or_else(regional)
    }

    /// The client of S3. Whoever uploads sends no checksum, so none is asked for.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        let client = self.clients.s3.get_or_init(|| {
            let endpoint = self.endpoint("AWS_ENDPOINT_URL_S3");
            let mut config = aws_sdk_s3::config::Builder::from(&self.shared)
                .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
                // An endpoint of one's own rarely has a name for each bucket.
                .force_path_style(endpoint.is_some());
            config.set_endpoint_url(endpoint);
            aws_sdk_s3::Client::from_conf(config.build())
        });
        client.clone()
    }

    /// The client of SQS.
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        let client = self.clients.sqs.get_or_init(|| {
            let mut config = aws_sdk_sqs::config::Builder::from(&self.shared);
            config.set_endpoint_url(self.endpoint("AWS_ENDPOINT_URL_SQS"));
            aws_sdk_sqs::Client::from_conf(config.build())
        });
        client.clone()
    }

    /// The client of Secrets Manager.
    pub fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        let client = self.clients.secrets.get_or_init(|| {
            let mut config = aws_sdk_secretsmanager::config::Builder::from(&self.shared);
            config.set_endpoint_url(self.endpoint("AWS_ENDPOINT_URL_SECRETS_MANAGER"));
            aws_sdk_secretsmanager::Client::from_conf(config.build())
        });
        client.clone()
    }

    fn endpoint(&self, variable: &str) -> Option<String> {
        self.env.optional(variable).or_else(|| self.env.optional("AWS_ENDPOINT_URL"))
    }
}

/// How AWS is reached, for those who look for credentials: each of the places they can come from has time limits
/// of its own.
pub fn https(env: &Env) -> SharedHttpClient {
    aws_smithy_http_client::Builder::new().tls_provider(TLS).tls_context(trust(env)).build_https()
}

/// What opens the connections of all services, and keeps those that can be used again.
fn connector(env: &Env) -> SharedHttpConnector {
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT).build();
    let connector =
        Connector::builder().tls_provider(TLS).tls_context(trust(env)).connector_settings(settings);
    SharedHttpConnector::new(connector.build())
}

/// A client over one connector, whatever a service's settings say of connecting: the SDK's own makes one for
/// every service and every setting, and each reads the roots of trust again.
fn client_over(connector: SharedHttpConnector) -> SharedHttpClient {
    http_client_fn(move |_, _| connector.clone())
}

/// Whom to take for AWS: those that Amazon's roots speak for, or, when `SSL_CERT_FILE` names others,
/// those in it, as behind a proxy that opens TLS.
fn trust(env: &Env) -> TlsContext {
    let roots = match env.optional("SSL_CERT_FILE") {
        Some(_) => TrustStore::default(),
        None => TrustStore::empty().with_pem_certificate(AMAZON_ROOTS),
    };
    // Building it checks nothing; the default is the machine's own roots.
    TlsContext::builder().with_trust_store(roots).build().unwrap_or_default()
}
