//! The operator's command line: what it does, for its own binary, the local stack and tests.
//!
//! [`run`] takes arguments and returns an exit code. Below it:
//!
//! - `cli` says what can be asked for; `commands` does it and reports; `console` shows the report;
//! - [`campaign_file`] reads campaigns from YAML and names every problem by its line;
//! - [`campaigns`], [`keys`], [`codes`], [`submissions`], [`settle`], [`receipts`] and [`phones`] do the
//!   work on the stack's [`tables`], which [`connection`] reaches; [`secret`] rotates the deployment's secret;
//! - [`migrate`] brings records of the first release into the form of this one;
//! - [`smoke`] walks through every operation of a deployment;
//! - [`failure`] is why a command did not do what it was asked to.

pub mod campaign_file;
pub mod campaigns;
mod cli;
pub mod codes;
mod commands;
pub mod connection;
mod console;
pub mod failure;
pub mod keys;
pub mod migrate;
pub mod phones;
mod problem;
pub mod receipts;
mod run;
pub mod secret;
pub mod settle;
pub mod smoke;
pub mod submissions;
pub mod tables;
mod words;

pub use console::{Console, FINE, REFUSED, USAGE};
pub use run::run;
