use serde::Serialize;

use crate::domain::DisplayStatus;
use crate::http::schema::{Day, Reference, TimeZone, Uuid};

/// Latest submissions of a phone. For an unknown phone the list is empty.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "SubmissionList")]
pub struct LookupObject<'a> {
    /// Submissions, newest first, at most 50. A submission of the last second may still be missing.
    #[schemars(length(max = 50))]
    pub submissions: Vec<LookupEntry<'a>>,
    /// Sum of the entries of all accepted submissions, always up to date.
    #[schemars(range(max = MAX_EXACT))]
    pub total_entries: u64,
    /// Campaign's time zone, in which `date` is counted.
    #[schemars(with = "TimeZone")]
    pub timezone: &'a str,
}

/// One submission of a phone.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "SubmissionListEntry")]
pub struct LookupEntry<'a> {
    /// Submission id.
    #[schemars(with = "Uuid")]
    pub id: String,
    /// Reference shown to the consumer.
    #[schemars(with = "Reference")]
    #[serde(rename = "ref")]
    pub reference: String,
    /// Day of creation, in the campaign's time zone.
    #[schemars(with = "Day")]
    pub date: String,
    /// Status to show.
    pub display_status: DisplayStatus,
    /// Message for it, in the request's language.
    #[schemars(length(max = 320))]
    pub message: &'a str,
    /// Entries earned.
    pub entries: u32,
}

/// JavaScript's largest exact integer: sums stay exact in every language that reads JSON.
const MAX_EXACT: u64 = 9_007_199_254_740_991;
