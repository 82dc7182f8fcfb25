//! Shared by all functions of the Campaign Entry Service.
//!
//! The layers, from top to bottom; a module uses only those below:
//!
//! - [`runtime`] receives Lambda's events: API requests, storage events, SQS and stream batches,
//!   the schedule;
//! - [`app`] combines rules, tables and clients;
//! - [`http`] parses requests and renders replies;
//! - [`upstream`] has the clients of partners and the tax authority;
//! - [`store`] has the tables, a file for each kind of record, and transactions;
//! - [`aws`] has the other AWS clients: photo storage, queues, secrets;
//! - [`telemetry`] writes logs and metrics;
//! - [`error`], [`config`] (environment variables), [`cache`], [`lock`]; only [`clock`] and
//!   [`random`] read time and randomness;
//! - [`domain`] has the rules, without I/O, clock and randomness.

#[macro_use]
mod text;

pub mod app;
pub mod aws;
pub mod cache;
pub mod clock;
pub mod config;
pub mod domain;
pub mod error;
pub mod http;
pub mod lock;
pub mod random;
pub mod runtime;
pub mod store;
pub mod telemetry;
pub mod upstream;
