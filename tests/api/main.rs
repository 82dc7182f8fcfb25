//! The API from outside, over HTTP: a module for each path, and for what all of them share.

mod authentication;
mod conventions;
mod crowd;
mod deployment_secret;
mod described;
mod events;
mod fleet;
mod internal_errors;
mod key_ceiling;
mod key_changes;
mod limits_left;
mod permissions;
mod problems;
mod records;
mod reference;
mod settling;
mod start_up;
mod template;
mod unknown_paths;
mod v1;
