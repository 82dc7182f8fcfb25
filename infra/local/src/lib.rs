//! The whole service on one machine, for developers, testers and the tests.
//!
//! - [`stack`] starts everything on free loopback ports and stops it;
//! - [`gateway`] emulates API Gateway; behind it runs the code that Lambda runs;
//! - [`dynamodb`] with [`tables`] as deployed, [`s3`], [`sqs`], [`secrets`], [`sts`] are embedded;
//! - [`workers`] pass events of storage, queues, [`streams`] and schedule to functions;
//! - [`tax_portal`] with receipts of some [`shops`], [`partner`] by the same [`simulator`], and
//!   draws' [`beacon`](mod@beacon) are simulated;
//! - [`demo`] loads demo campaigns; [`first_screen`] tells how to try them, [`ready_file`] tells
//!   programs;
//! - [`try_page`] is a consumer's page for them, with its brand's server.

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
