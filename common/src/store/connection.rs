//! The DynamoDB client of a function: region, credentials and endpoint from the environment, and
//! nothing else. Walking the whole provider chain would cost more than the rest of a start-up.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region, SharedHttpClient, StalledStreamProtectionConfig};
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};

use crate::config::{ConfigError, Env};

/// Long enough for a TCP and TLS handshake inside one region.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// DynamoDB answers in milliseconds; after this the connection is taken for dead.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// All tries of one call, so that a function answers before its caller gives up.
const CALL_TIMEOUT: Duration = Duration::from_secs(9);

/// Every root that AWS's endpoints lead to, as <https://www.amazontrust.com/repository/> lists them.
/// Reading and parsing the hundred and more that a machine trusts takes longer than all the rest of a
/// start-up.
const AMAZON_ROOTS: &[u8] = include_bytes!("amazon-roots.pem");

/// The client of a function.
///
/// # Errors
/// Names the variable that is missing.
pub fn dynamodb(env: &Env) -> Result<Client, ConfigError> {
    let credentials = Credentials::new(
        env.required("AWS_ACCESS_KEY_ID")?,
        env.required("AWS_SECRET_ACCESS_KEY")?,
        env.optional("AWS_SESSION_TOKEN"),
        None,
        "environment",
    );
    let region = Region::new(env.required("AWS_REGION")?);
    Ok(client(env, region, SharedCredentialsProvider::new(credentials)))
}

/// A client that sends the same token on every try of a transaction, so that a try whose answer was
/// lost is not applied twice. The endpoint is the environment's, where it names one.
pub fn client(env: &Env, region: Region, credentials: SharedCredentialsProvider) -> Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .operation_timeout(CALL_TIMEOUT)
        .build();
    let mut config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(region)
        .credentials_provider(credentials)
        .http_client(https(env))
        .retry_config(RetryConfig::standard())
        .timeout_config(timeouts)
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    config.set_endpoint_url(
        env.optional("AWS_ENDPOINT_URL_DYNAMODB").or_else(|| env.optional("AWS_ENDPOINT_URL")),
    );
    Client::from_conf(config.build())
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
