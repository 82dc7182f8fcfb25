//! Settling, step by step: what the functions that settle submissions share.
//!
//! - [`batch`] takes the messages that SQS delivers, and says which have to be delivered again;
//! - [`worker`] begins a step, so that no other worker does, and writes down what follows from its outcome.

pub mod batch;
pub mod worker;
