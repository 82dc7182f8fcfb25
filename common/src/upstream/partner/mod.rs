//! The partners that judge codes: one HTTPS request each, to a public address, within a limit.
//!
//! - [`client`]: the request and its limits
//! - [`endpoint`]: where a partner is, and the headers that its requests can have
//! - [`error`]: why there is no answer that counts
//!
//! What a request holds and how a reply is read is in [`crate::domain::partner`]. Nothing here logs, and
//! no error holds a body: code, phone and the partner's words stay between the two.

pub mod client;
pub mod endpoint;
pub mod error;
