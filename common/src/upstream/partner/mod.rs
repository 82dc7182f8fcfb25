//! Requests to partners that verify codes: one each, over HTTPS to a public address, with a
//! timeout. [`crate::domain::partner`] has the contents.
//!
//! Nothing here logs, and no error contains a body: code, phone and the partner's words stay
//! private.

pub mod client;
pub mod error;
pub mod partner_url;
