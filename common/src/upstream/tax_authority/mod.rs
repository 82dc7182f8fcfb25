//! The tax authority's receipt portal: all knowledge of its requests and pages. There is no official look-up API, so
//! anything unexpected becomes an outcome for an operator, never a guess.
//!
//! - [`client`]: the request, its redirects and its limits
//! - [`page`]: from a page to its [`answer::LookupAnswer`]; [`markup`] and [`found`] are its two steps
//!
//! [`crate::domain::receipt`] has the content of its QR codes and records.

pub mod answer;
pub mod client;
pub mod found;
pub mod markup;
pub mod page;
