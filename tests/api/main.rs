//! The API from outside, over HTTP: a module for each path.

mod v1;
