//! The library of the black-box tests: stacks, campaigns and an HTTP client.
//!
//! - [`service`] starts stacks; [`campaign`] sets up a campaign with keys and codes;
//! - [`http`] sends requests and shows replies;
//! - [`contract`] checks every reply against the API description;
//! - [`attempt`] shows that a refused submission has no effect;
//! - [`partners`] and [`receipts`] turn on a campaign's partner and receipts; `receipts` also
//!   settles step by step;
//! - [`counting`] counts changes and compares numbers with records;
//! - [`interceptor`] counts, delays, denies and fails calls, also as in [`database_faults`];
//! - [`iam_guard`] rejects calls outside the function's role, which [`roles`] reads from the
//!   template;
//! - [`operator_roles`] does the same for operators, and answers as AWS does;
//! - [`environment`] runs a function as a process that gets [`event`]s, [`fleet`] many of them, and
//!   [`deployment`] several fleets with [`queue`]s and schedule;
//! - [`text`] has what tests look for in texts and JSON;
//! - [`load`] runs many clients with [`random`] faults, and checks the records;
//! - [`moments`] opens a plan of winning moments;
//! - [`webhooks`] has a receiver of events, and publishes and delivers by hand;
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
pub mod moments;
pub mod operator_roles;
pub mod partners;
pub mod queue;
pub mod random;
pub mod receipts;
pub mod roles;
pub mod service;
pub mod serving;
pub mod template;
pub mod text;
pub mod webhooks;
