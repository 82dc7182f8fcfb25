//! Clients of the partners that verify codes: one HTTPS request each, to a public address, with a timeout.
//!
//! - [`client`]: the request and its limits
//! - [`partner_url`]: the partner's URL, and the headers of its requests
//! - [`error`]: why there is no answer that counts
//!
//! [`crate::domain::partner`] has the content of requests and replies. Nothing here logs, and no error contains a body:
//! code, phone and the partner's words stay between service and partner.

pub mod client;
pub mod error;
pub mod partner_url;
