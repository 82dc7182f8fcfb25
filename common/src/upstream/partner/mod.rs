//! Clients of the partners that verify codes: one HTTPS request each, to a public address, with a
//! timeout. [`crate::domain::partner`] has the content of requests and replies.
//!
//! Nothing here logs, and no error contains a body: code, phone and the partner's words stay between
//! service and partner.

pub mod client;
pub mod error;
pub mod partner_url;
