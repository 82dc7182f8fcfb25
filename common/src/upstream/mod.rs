//! Those outside who are asked.

mod connection;
pub mod fetch;
pub mod partner;
pub mod tax_authority;

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("TLS could not be set up")]
pub struct TlsError(#[source] tokio_rustls::rustls::Error);
