//! The tax authority's receipt portal. There is no official look-up API, so anything unexpected
//! becomes an outcome for an operator, never a guess.
//!
//! - [`client`]: the request, its redirects and limits
//! - [`page`]: from a page to its [`answer::LookupAnswer`], by [`markup`] and [`found`]
//!
//! [`crate::domain::receipt`] has the content of QR codes and records.

pub mod answer;
pub mod client;
pub mod found;
pub mod markup;
pub mod page;
