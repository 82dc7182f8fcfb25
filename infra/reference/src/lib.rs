//! The published contract of the API: one description in OpenAPI, and pages made from it.
//!
//! - [`openapi`] is the description, put together from the types that the service itself is made of;
//! - [`older`] turns it into the form that older generators read;
//! - [`Reference`] has all that a deployment serves, each file rendered when it is first asked for.

mod description;
pub mod older;

pub use description::describe as openapi;
