//! What every function of the Campaign Entry Service shares.
//!
//! A request goes through these modules from top to bottom:
//!
//! - [`lambda`] receives API Gateway's event and hands it on;
//! - [`http`] reads the request, lets [`gate`] find out whom the key lets in, calls the function's
//!   operation, and renders what it answers, errors included;
//! - [`domain`] holds the rules: no I/O, no clock, no randomness;
//! - [`judge`] finds out what a code is, by arithmetic and by the table;
//! - [`store`] holds the tables, one file for each, and the transactions across them.
//!
//! Beside them: [`error`], the one list of what can go wrong; [`config`], variables; [`clock`] and
//! [`entropy`], the only places that read the time and ask for randomness; [`cache`]; [`telemetry`].

pub mod cache;
pub mod clock;
pub mod config;
pub mod domain;
pub mod entropy;
pub mod error;
pub mod gate;
pub mod http;
pub mod judge;
pub mod lambda;
pub mod store;
pub mod telemetry;
