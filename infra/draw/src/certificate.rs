//! The certificate: a page that repeats a draw in the browser, without requests.

use serde::{Serialize, Serializer};
use serde_json::json;

use crate::beacon::Chain;
use crate::page::{content_security_digest, escaped, fill};

/// 16 MB, the most that a phone opens. With more rows, the reader chooses the published file.
pub const MAX_EMBEDDED_ROWS: u64 = 200_000;

const PAGE: &str = include_str!("../certificate/page.html");
const STYLE: &str = include_str!("../certificate/page.css");
const SCRIPT: &str = concat!(
    include_str!("../certificate/verify.js"),
    include_str!("../certificate/page.js")
);

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Certificate<'a> {
    pub campaign: &'a str,
    pub brand: &'a str,
    pub header: &'a str,
    pub commitment: &'a str,
    pub result: &'a str,
    pub log: &'a str,
    #[serde(serialize_with = "times")]
    pub chain: &'a Chain,
}

/// The page knows quicknet's.
fn times<S: Serializer>(chain: &&Chain, serializer: S) -> Result<S::Ok, S::Error> {
    let times = json!({
        "genesis_time": chain.genesis().timestamp(),
        "period": chain.period_seconds(),
    });
    (!chain.is_quicknet())
        .then_some(times)
        .serialize(serializer)
}

impl Certificate<'_> {
    pub fn html(&self, entries: Option<&str>) -> String {
        // Text must not end the script element.
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
