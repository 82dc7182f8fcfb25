//! The partners that judge codes: one HTTPS request each, to a public address, within a limit.
//!
//! - [`client`]: the request and its limits
//! - [`endpoint`]: where a partner is, and the headers that its requests can have
//! - [`address`]: which addresses are public
//! - [`answer`]: what came of it
//!
//! What a request holds and how a reply is read is in [`crate::domain::partner`]. Nothing here logs, and
//! no error holds a body: code, phone and the partner's words stay between the two.

pub mod address;
pub mod answer;
pub mod client;
pub mod endpoint;
