//! Tests of the commands against an embedded DynamoDB, one module for each.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

#[macro_use(assert_contains, assert_lacks)]
extern crate service_tests;

mod audit;
mod campaign;
mod campaign_changes;
mod campaign_facts;
mod campaign_files;
mod code;
mod code_import;
mod code_state;
mod complaint;
mod console;
mod correction;
mod decision;
mod draw;
mod draw_verify;
mod draw_walk;
mod export;
mod instant;
mod instant_walk;
mod key;
mod numbers;
mod person;
mod person_file;
mod phone;
mod prize;
mod review;
mod reviewing;
mod roles;
#[path = "../../../draw/tests/draw/sample.rs"]
#[expect(
    dead_code,
    reason = "a part is for forged draws, which the library refuses"
)]
mod sample;
mod secret;
mod smoke;
mod submission;
mod support;
mod test_data;
mod unknown_attributes;
mod unreadable;
mod usage;
mod walk;
mod webhook;
