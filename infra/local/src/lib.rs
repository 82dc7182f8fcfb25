//! The whole service on one machine, for developers, testers and the tests.
//!
//! - [`stack`] starts everything on free loopback ports and stops it again;
//! - [`gateway`] is API Gateway: it turns each HTTP request into an event and each reply back;
//! - [`dynamodb`] is the embedded database, with [`tables`] as the deployed service has them; [`s3`], [`sqs`]
//!   and [`secrets`] are embedded as well;
//! - [`workers`] hand the events of storage, queue and schedule to their functions;
//! - [`tax_portal`] simulates the tax authority, which has the receipts of some [`shops`];
//! - [`partner`] simulates a partner that judges codes;
//! - [`demo`] loads the demo campaigns; [`first_screen`] prints how to try them, [`ready_file`] tells programs;
//! - [`try_page`] is a consumer's page for them, with the server that a brand would put behind it.
//!
//! What runs behind the gateway is the functions themselves, the same code that Lambda runs.

pub mod demo;
pub mod dynamodb;
pub mod first_screen;
pub mod gateway;
pub mod loopback;
pub mod partner;
pub mod ready_file;
pub mod s3;
pub mod secrets;
pub mod shops;
pub mod sqs;
pub mod stack;
pub mod tables;
pub mod tax_portal;
pub mod try_page;
pub mod workers;
