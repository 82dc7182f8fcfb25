pub mod auth;
pub mod code_verifier;
pub mod job;
pub mod lookup_throttle;
pub mod partner_gateway;
pub mod request_limits;
pub mod settlement;
pub mod uploads;
