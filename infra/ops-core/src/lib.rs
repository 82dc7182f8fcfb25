//! An operator's actions and their command line, for the `ops` program, the local stack and tests.
//!
//! [`run`] takes arguments and returns an exit code. Below it:
//!
//! - `cli` defines the command line; `commands` runs it; `confirm` asks; `terminal` prints;
//! - [`campaign_file`] reads campaigns from YAML, [`mod@column`] lists from CSV;
//! - [`campaigns`], [`keys`], [`codes`], [`submissions`], [`settle`] and [`phones`]
//!   work on the stack's [`tables`], which [`connection`] opens;
//! - [`corrections`] revokes and reopens settled submissions; [`approvals`] has the rule of two
//!   people; [`people`] finds, exports and erases a person; `export` writes entries into files,
//!   each an `atomic_file`;
//! - [`review`] serves the review screen, one submission after the other;
//! - [`mod@roles`] tells what the operator may do;
//! - [`audit`] records who does what; `write_guard` refuses unrecorded writes; `identity` is the
//!   operator's;
//! - [`webhooks`] adds and tests endpoints of brands' servers, and sends events again;
//! - [`prizes`] has the log of instant prizes; [`contact_log`] the steps of all winners;
//! - [`draws`] freezes entries and draws winners so that anyone can check it;
//! - [`statistics`] reads and verifies the statistics; [`pace`] estimates a backlog's time;
//! - [`smoke`] calls every endpoint of a deployment;
//! - `view` turns JSON into tables and lines for people;
//! - [`mod@failure`] is the error of a command; [`mod@format`] formats numbers and times.
//!
//! `ops console` is a separate crate; [`run`] gets it as a [`ServeConsole`].

pub mod approvals;
mod atomic_file;
pub mod audit;
pub mod campaign_file;
pub mod campaigns;
mod cli;
pub mod codes;
pub mod column;
mod commands;
mod confirm;
pub mod connection;
pub mod contact_log;
pub mod corrections;
pub mod draws;
pub mod export;
pub mod failure;
pub mod format;
mod identity;
mod instant;
pub mod keys;
pub mod pace;
pub mod people;
mod person_file;
pub mod phones;
mod prelude;
pub mod prizes;
mod problem;
pub mod review;
pub mod roles;
mod run;
pub mod settle;
pub mod smoke;
pub mod statistics;
pub mod submissions;
pub mod tables;
mod terminal;
mod view;
pub mod webhooks;
mod write_guard;
mod zip_file;

pub use cli::command;
pub use cli::{Moment, TimeOfDay};
pub use draws::chain::{CHAIN_VARIABLE, RELAY_VARIABLE};
pub use draws::files::{EVIDENCE_VARIABLE, OPENINGS_VARIABLE};
pub use run::{ConsoleSettings, ServeConsole, run};
pub use terminal::{EXIT_FAILURE, EXIT_OK, EXIT_USAGE, LastLine, Terminal};
