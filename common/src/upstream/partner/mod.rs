//! Nothing here logs, and no error contains a body: code, phone and the partner's words stay
//! private.

pub mod client;
pub mod error;
pub mod partner_url;
