//! The tax authority's receipt portal. There is no official look-up API, so the unexpected becomes
//! an outcome for an operator, never a guess.

pub mod answer;
pub mod client;
pub mod found;
pub mod markup;
pub mod page;
