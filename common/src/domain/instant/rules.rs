use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::plan::Caps;

/// The curve that every plan knows, of 24 parts: few prizes at night, most in the evening.
pub const DEFAULT_CURVE: (&str, [u32; 24]) = (
    "default",
    [
        1, 1, 1, 1, 1, 2, 4, 8, 10, 10, 10, 10, 12, 12, 10, 10, 10, 14, 18, 20, 20, 14, 6, 3,
    ],
);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstantRules {
    pub prizes: Vec<String>,
    pub caps: Caps,
    pub curves: BTreeMap<String, Vec<u32>>,
    pub days: Vec<InstantDays>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstantDays {
    /// As written, such as `2026-12-24` or `2026-12-24T08:00`.
    pub from: String,
    /// A day is included.
    pub to: String,
    pub curve: String,
    pub prizes: Vec<u32>,
}
