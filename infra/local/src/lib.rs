//! The whole service on one machine, for developers, testers and the tests.
//!
//! - [`stack`] starts everything on free loopback ports and stops it again;
//! - [`gateway`] emulates API Gateway;
//! - [`dynamodb`] is the embedded database, with [`tables`] as deployed; [`s3`], [`sqs`],
//!   [`secrets`] and [`sts`] are embedded as well;
//! - [`workers`] pass the events of storage, queues, [`streams`] and schedule to their functions;
//! - [`tax_portal`] simulates the tax authority, which has the receipts of some [`shops`];
//! - [`partner`] simulates a partner that validates codes, by the same [`simulator`]; [`beacon`](mod@beacon) the public
//!   randomness of draws;
//! - [`demo`] loads the demo campaigns; [`first_screen`] prints how to try them, [`ready_file`]
//!   writes it for programs;
//! - [`try_page`] is a consumer's page for them, with its brand's server.
//!
//! Behind the gateway runs the same code that Lambda runs.

mod aws_json;
pub mod beacon;
pub mod demo;
pub mod dynamodb;
pub mod first_screen;
pub mod gateway;
pub mod loopback;
pub mod partner;
pub mod private_file;
pub mod ready_file;
pub mod s3;
pub mod secrets;
pub mod shops;
pub mod simulator;
pub mod sqs;
pub mod stack;
pub mod streams;
pub mod sts;
pub mod tables;
pub mod tax_portal;
pub mod template;
pub mod try_page;
pub mod workers;
