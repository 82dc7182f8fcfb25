//! What an operator can do, and the command line for it. The `ops` program, the local stack and tests use it.
//!
//! [`run`] takes arguments and returns an exit code. Below it:
//!
//! - `cli` defines the command line; `commands` runs each command; `confirm` asks first; `terminal` prints the report;
//! - [`campaign_file`] reads campaigns from YAML, [`mod@column`] lists from CSV; both report every problem with its line;
//! - [`campaigns`], [`keys`], [`codes`], [`submissions`], [`settle`], [`receipts`] and [`phones`] do the work on the
//!   stack's [`tables`], which [`connection`] opens;
//! - [`corrections`] revokes and reopens settled submissions; [`approvals`] has the rule of two people; [`people`] finds,
//!   exports and erases a person; `atomic_file` writes a file as a whole or not at all, and `export` writes
//!   entries into files;
//! - [`review`] has what the review screen needs: it shows one submission after the other;
//! - [`audit`] records who does what; `write_guard` refuses writes that are not recorded; `identity` is who the operator is;
//! - [`draws`] freezes entries and draws winners so that anyone can check it;
//! - [`numbers`] reads what is counted, and compares it with a count of all records; [`pace`] is how fast what waits is
//!   settled;
//! - [`smoke`] calls every endpoint of a deployment;
//! - `view` makes the tables and lines for people from the JSON for programs;
//! - [`failure`] is the error of a command; [`mod@format`] formats numbers and times.
//!
//! `ops console` is a separate crate, which uses this library; [`run`] gets it as a [`ServeConsole`].

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
pub mod corrections;
pub mod draws;
mod export;
pub mod failure;
pub mod format;
mod identity;
pub mod keys;
pub mod numbers;
pub mod pace;
pub mod people;
mod person_file;
pub mod phones;
mod problem;
pub mod receipts;
pub mod review;
mod run;
pub mod settle;
pub mod smoke;
pub mod submissions;
pub mod tables;
mod terminal;
mod view;
mod write_guard;

pub use cli::command;
pub use draws::chain::{CHAIN_VARIABLE, RELAY_VARIABLE};
pub use draws::files::{EVIDENCE_VARIABLE, OPENINGS_VARIABLE};
pub use run::{ConsoleSettings, ServeConsole, run};
pub use terminal::{EXIT_FAILURE, EXIT_OK, EXIT_USAGE, Terminal};
