//! The tax authority's receipt portal. There is no official look-up API, so the unexpected becomes
//! an outcome for an operator, never a guess.
//!
//! [`client`] has the request, [`page`] makes an [`answer::LookupAnswer`] of its page, by
//! [`markup`] and [`found`].

pub mod answer;
pub mod client;
pub mod found;
pub mod markup;
pub mod page;
