//! The API from outside, over HTTP: a module for each path, and for what all of them share.

mod authentication;
mod conventions;
mod crowd;
mod described;
mod events;
mod internal_errors;
mod key_ceiling;
mod limits_left;
mod permissions;
mod problems;
mod reference;
mod settling;
mod start_up;
mod template;
mod unknown_paths;
mod v1;
