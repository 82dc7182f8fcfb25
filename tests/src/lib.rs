//! The library of the black-box tests: stacks, campaigns and an HTTP client.
//!
//! - [`service`] starts stacks; [`campaign`] sets up a campaign with keys and codes;
//! - [`http`] sends requests and shows replies, with placeholders for values that differ from run to run;
//! - [`contract`] checks every reply against the API description;
//! - [`attempt`] shows that a refused submission has no effect;
//! - [`partners`] and [`receipts`] turn on a campaign's partner and receipts; `receipts` also settles step by step;
//! - [`counting`] counts changes step by step, and compares the numbers with the records;
//! - [`interceptor`] counts, delays, holds and denies calls, and makes them fail, also as in [`database_faults`];
//! - [`iam_guard`] rejects calls that the function's role does not allow, as read from the template by [`roles`];
//! - [`operator_roles`] does the same for operators, and answers as AWS does;
//! - [`environment`] runs a function as a process that gets [`event`]s as on Lambda, [`fleet`] many of them, and
//!   [`deployment`] fleets of several functions with their [`queue`]s and schedule;
//! - [`load`] runs many clients with faults drawn by [`random`], and checks the records afterwards;
//! - [`template`] parses the deployment's templates.

pub mod attempt;
pub mod campaign;
pub mod contract;
pub mod counting;
pub mod database_faults;
pub mod deployment;
pub mod environment;
pub mod event;
pub mod fleet;
mod forward;
pub mod http;
pub mod iam_guard;
pub mod interceptor;
pub mod load;
pub mod operator_roles;
pub mod partners;
pub mod queue;
pub mod random;
pub mod receipts;
pub mod roles;
pub mod service;
mod serving;
pub mod template;
