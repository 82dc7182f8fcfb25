//! The connection to AWS: region, credentials and endpoints from the environment, and nothing else.
//! Walking the whole provider chain would cost a function more than the rest of a start-up.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region, SharedHttpClient, StalledStreamProtectionConfig};
use aws_sdk_s3::config::RequestChecksumCalculation;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_types::SdkConfig;

use crate::config::{ConfigError, Env};

/// Long enough for a TCP and TLS handshake inside one region.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Every service answers in milliseconds; after this the connection is taken for dead.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// All tries of one call, so that a function answers before its caller gives up.
const CALL_TIMEOUT: Duration = Duration::from_secs(9);

/// Every root that AWS's endpoints lead to, as <https://www.amazontrust.com/repository/> lists them.
/// Reading and parsing the hundred and more that a machine trusts takes longer than all the rest of a
/// start-up.
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon-roots.pem");

/// What the clients of all services share. A service has the environment's endpoint, where it names one.
#[derive(Clone)]
pub struct Aws {
    shared: SdkConfig,
    env: Env,
}

impl Aws {
    /// The connection of a function, whose credentials stand in the environment.
    ///
    /// # Errors
    /// Names the variable that is missing.
    pub fn of_function(env: &Env) -> Result<Self, ConfigError> {
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
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(CALL_TIMEOUT)
            .build();
        let shared = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(region)
            .credentials_provider(credentials)
            .http_client(https(env))
            .retry_config(RetryConfig::standard())
            .timeout_config(timeouts)
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Self { shared, env: env.clone() }
    }

    /// A client of DynamoDB. It sends the same token on every try of a transaction, so that a try whose
    /// answer was lost is not applied twice.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let mut config = aws_sdk_dynamodb::config::Builder::from(&self.shared);
        config.set_endpoint_url(self.endpoint("AWS_ENDPOINT_URL_DYNAMODB"));
        aws_sdk_dynamodb::Client::from_conf(config.build())
    }

    /// A client of S3. Whoever uploads sends no checksum, so none is asked for.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        let endpoint = self.endpoint("AWS_ENDPOINT_URL_S3");
        let mut config = aws_sdk_s3::config::Builder::from(&self.shared)
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            // An endpoint of one's own rarely has a name for each bucket.
            .force_path_style(endpoint.is_some());
        config.set_endpoint_url(endpoint);
        aws_sdk_s3::Client::from_conf(config.build())
    }

    /// A client of SQS.
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        let mut config = aws_sdk_sqs::config::Builder::from(&self.shared);
        config.set_endpoint_url(self.endpoint("AWS_ENDPOINT_URL_SQS"));
        aws_sdk_sqs::Client::from_conf(config.build())
    }

    /// A client of Secrets Manager.
    pub fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        let mut config = aws_sdk_secretsmanager::config::Builder::from(&self.shared);
        config.set_endpoint_url(self.endpoint("AWS_ENDPOINT_URL_SECRETS_MANAGER"));
        aws_sdk_secretsmanager::Client::from_conf(config.build())
    }

    fn endpoint(&self, variable: &str) -> Option<String> {
        self.env.optional(variable).or_else(|| self.env.optional("AWS_ENDPOINT_URL"))
    }
}

/// The one way to reach AWS: TLS by rustls over ring, trusting Amazon's own roots.
pub fn https(env: &Env) -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .tls_context(trust(env))
        .build_https()
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
