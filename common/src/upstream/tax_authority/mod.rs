//! The tax authority's receipt portal: everything that knows what its requests and pages look like. There
//! is no official look-up API, so whatever is not as expected ends in an outcome that an operator sees,
//! never in a guess.
//!
//! - [`client`]: the request, its redirects and its limits
//! - [`page`]: which [`answer::Answer`] a page is; [`markup`] and [`found`] are its two steps
//!
//! What its QR codes and records say is in [`crate::domain::receipt`].

pub mod answer;
pub mod client;
pub mod found;
pub mod markup;
pub mod page;
