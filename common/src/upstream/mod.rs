//! Those outside who are asked.

mod connection;
pub mod fetch;
pub mod partner;
pub mod tax_authority;
