//! The objects of requests and replies, by name.

mod campaign;
mod code_check;
mod error;
mod receipt;
mod requests;
mod submission;

use serde_json::{Map, Value};

pub(super) use self::campaign::slug;

/// Every schema, by name.
pub(super) fn all() -> Map<String, Value> {
    let groups = [
        campaign::schemas(),
        code_check::schemas(),
        submission::schemas(),
        receipt::schemas(),
        requests::schemas(),
        error::schemas(),
    ];
    groups.into_iter().flatten().map(|(name, schema)| (name.to_owned(), schema)).collect()
}
