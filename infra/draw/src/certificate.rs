//! The certificate: one page without outside requests that computes a draw again in its reader's browser.

use serde::Serialize;
use serde_json::json;

use crate::page::{content_security_digest, escaped, fill};

/// Up to here a certificate should carry the list of entries: 16 MB, which a phone still opens. Above, its reader chooses
/// the published file.
pub const MAX_EMBEDDED_ROWS: u64 = 200_000;

const PAGE: &str = include_str!("../certificate/page.html");
const STYLE: &str = include_str!("../certificate/page.css");
const SCRIPT: &str = concat!(
    include_str!("../certificate/verify.js"),
    include_str!("../certificate/page.js")
);

/// The published files, and what the page says around them. The page holds the files as they are, and verifies them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Certificate<'a> {
    /// The campaign's name for people. Not part of the proof, like the brand.
    pub campaign: &'a str,
    /// The brand's name for people.
    pub brand: &'a str,
    /// `header.json`
    pub header: &'a str,
    /// `commitment.txt`
    pub commitment: &'a str,
    /// `result.json`
    pub result: &'a str,
    /// `log.json`
    pub log: &'a str,
    /// The times of a chain other than drand's quicknet, whose times the page knows.
    pub chain: Option<ChainTimes>,
}

/// The times of a chain's rounds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChainTimes {
    /// Time of the first round, in seconds since 1970.
    pub genesis_time: i64,
    /// Seconds between two rounds.
    pub period: u32,
}

impl Certificate<'_> {
    /// The page. `entries` is `entries.csv`; without it, the page's reader chooses the file.
    pub fn html(&self, entries: Option<&str>) -> String {
        // JSON that does not end the script element that it is in.
        let draw = json!(self).to_string().replace('<', "\\u003c");
        fill(
            PAGE,
            &[
                ("script", SCRIPT),
                ("style", STYLE),
                ("script-digest", &content_security_digest(SCRIPT)),
                ("style-digest", &content_security_digest(STYLE)),
                ("campaign", &escaped(self.campaign)),
                ("brand", &escaped(self.brand)),
                ("draw", &draw),
                ("entries", entries.unwrap_or_default()),
            ],
        )
    }
}
