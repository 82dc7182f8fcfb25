pub mod http_client;
#[cfg(test)]
mod http_client_tests;
pub mod partner;
pub mod tax_authority;
pub mod webhook;
