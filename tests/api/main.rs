//! Black-box tests over HTTP: a module for each path, and for each rule of all paths.

#[macro_use(assert_contains, assert_lacks)]
extern crate service_tests;

mod authentication;
mod conventions;
mod counting;
mod deployment_secret;
mod events;
mod fleet;
mod internal_errors;
mod key_changes;
mod key_rate_limit;
mod load;
mod log_query;
mod manuals;
mod openapi_coverage;
mod permissions;
mod plan_days;
mod process;
mod rate_limit_headers;
mod records;
mod reference;
mod retention;
mod settling;
mod start_up;
mod template;
mod throttled_table;
mod unit_tests;
mod unknown_attributes;
mod unknown_paths;
mod unreadable_events;
mod v1;
mod validation_errors;
mod webhooks;
