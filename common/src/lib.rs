//! Shared by all functions of the Campaign Entry Service.
//!
//! A request passes through these modules from top to bottom:
//!
//! - [`runtime`] receives Lambda's events: API requests, storage events, SQS and stream batches, the schedule;
//! - [`http`] parses requests and renders replies;
//! - [`app`] combines rules, tables and clients: authentication, code verification, partners, settlement;
//! - [`domain`] holds the rules: no I/O, no clock, no randomness;
//! - [`store`] holds the tables, one file for each kind of record, and the transactions across them;
//! - [`aws`] holds the other AWS clients: photo storage, queues, secrets;
//! - [`upstream`] holds the clients of external systems: partners and the tax authority.
//!
//! Beside these: [`error`], the list of all errors; [`config`], environment variables; [`clock`] and [`random`], the only
//! sources of time and randomness; [`cache`]; [`telemetry`].

// Every other crate builds on this one.
#![warn(missing_docs)]

pub mod app;
pub mod aws;
pub mod cache;
pub mod clock;
pub mod config;
pub mod domain;
pub mod error;
pub mod http;
pub mod random;
pub mod runtime;
pub mod store;
pub mod telemetry;
pub mod upstream;
