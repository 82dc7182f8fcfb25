//! What every function of the Campaign Entry Service shares.
//!
//! A request goes through these modules from top to bottom:
//!
//! - [`lambda`] receives API Gateway's event and hands it on;
//! - [`http`] reads the request, lets [`auth`] find out whose key it is, calls the function's
//!   operation, and renders what it answers, errors included;
//! - [`domain`] holds the rules: no I/O, no clock, no randomness;
//! - [`judge`] finds out what a code is, by arithmetic and by the table;
//! - [`store`] holds the tables, one file for each, and the transactions across them;
//! - [`photos`] is the storage of receipt photos, [`settle_queue`] the queues of what can be settled;
//! - [`upstream`] holds those outside who are asked: the partners and the tax authority and, by [`partner_gateway`] with its
//!   [`secrets`], partners.
//!
//! Background work runs in [`background`]: events of storage, queue and schedule. [`settlement`] is what the
//! functions that settle share.
//!
//! Beside them: [`error`], the one list of what can go wrong; [`config`], variables; [`connection`], the
//! way to AWS; [`deployment_secret`], which the keys of code books are encrypted under; [`clock`] and [`entropy`], the only places that read the time and ask for randomness;
//! [`cache`]; [`telemetry`].

pub mod auth;
pub mod background;
pub mod cache;
pub mod clock;
pub mod config;
pub mod connection;
pub mod deployment_secret;
pub mod domain;
pub mod entropy;
pub mod error;
pub mod http;
pub mod judge;
pub mod lambda;
pub mod partner_gateway;
pub mod photos;
pub mod secrets;
pub mod settle_queue;
pub mod settlement;
pub mod store;
pub mod telemetry;
pub mod uploads;
pub mod upstream;
