//! What the black-box tests stand on: one stack for all of them, campaigns of their own, and an HTTP
//! client that hides nothing.
//!
//! - [`attempt`] is a request to enter that can be spoilt, and shows that a spoilt one left nothing;
//! - [`campaign`] makes a campaign with keys and codes, as an operator would;
//! - [`contract`] is the API's description, which every reply is checked against;
//! - [`partners`] lets a partner judge its codes, [`receipts`] makes it one of receipts, and settles step by step;
//! - [`fault_injection`] cuts the calls of a process, [`proxy`] plays faults of the database, [`secrets`] of Secrets Manager;
//! - [`fleet`] runs a function in many environments, each an [`environment`] as on Lambda, with an [`event`] of the gateway;
//! - [`deployment`] is fleets of all functions that settle and enter, and the [`queue`]s and the schedule between them;
//! - [`iam_guard`] lets no function make a call that its role, of which [`roles`] knows, does not allow it;
//! - [`load`] is many clients amid faults drawn by [`random`], and what has to be true afterwards;
//! - [`http`] sends requests and shows replies, with what differs from run to run replaced;
//! - [`template`] reads the deployment's templates.

pub mod attempt;
pub mod campaign;
pub mod contract;
pub mod deployment;
pub mod environment;
pub mod event;
pub mod fault_injection;
pub mod fleet;
mod forward;
pub mod http;
pub mod iam_guard;
pub mod load;
pub mod partners;
pub mod proxy;
pub mod queue;
pub mod random;
pub mod receipts;
pub mod roles;
pub mod secrets;
pub mod service;
mod serving;
pub mod template;
mod throttling;
