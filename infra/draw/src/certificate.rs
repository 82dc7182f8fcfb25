//! The certificate: a page that repeats a draw, or a plan of instant prizes, in the browser,
//! without requests.

use serde::{Serialize, Serializer};
use serde_json::json;

use crate::beacon::Chain;
use crate::page::{content_security_digest, escaped, fill};

/// 16 MB, the most that a phone opens. With more rows, the reader chooses the published file.
pub const MAX_EMBEDDED_ROWS: u64 = 200_000;

/// Parts of both pages.
const PARTS: [(&str, &str); 3] = [
    ("head", include_str!("../certificate/head.html")),
    ("compare", include_str!("../certificate/compare.html")),
    ("end", include_str!("../certificate/end.html")),
];
const PAGE: &str = include_str!("../certificate/page.html");
const STYLE: &str = include_str!("../certificate/page.css");
const SCRIPT: &str = concat!(
    include_str!("../certificate/verify.js"),
    include_str!("../certificate/show.js"),
    include_str!("../certificate/page.js")
);
const PLAN_PAGE: &str = include_str!("../certificate/instant.html");
const PLAN_SCRIPT: &str = concat!(
    include_str!("../certificate/verify.js"),
    include_str!("../certificate/verify_instant.js"),
    include_str!("../certificate/show.js"),
    include_str!("../certificate/instant.js")
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
        let names = [self.campaign, self.brand];
        filled(PAGE, SCRIPT, names, self, entries)
    }
}

/// The page of a revealed plan of instant prizes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlanCertificate<'a> {
    pub campaign: &'a str,
    pub brand: &'a str,
    pub header: &'a str,
    pub commitment: &'a str,
    pub secret: &'a str,
    pub result: &'a str,
    #[serde(serialize_with = "times")]
    pub chain: &'a Chain,
}

impl PlanCertificate<'_> {
    pub fn html(&self, rows: Option<&str>) -> String {
        let names = [self.campaign, self.brand];
        filled(PLAN_PAGE, PLAN_SCRIPT, names, self, rows)
    }
}

fn filled(
    page: &str,
    script: &str,
    [campaign, brand]: [&str; 2],
    data: &impl Serialize,
    entries: Option<&str>,
) -> String {
    // Text must not end the script element.
    let data = json!(data).to_string().replace('<', "\\u003c");
    fill(
        &fill(page, &PARTS),
        &[
            ("script", script),
            ("style", STYLE),
            ("script-digest", &content_security_digest(script)),
            ("style-digest", &content_security_digest(STYLE)),
            ("campaign", &escaped(campaign)),
            ("brand", &escaped(brand)),
            ("draw", &data),
            ("entries", entries.unwrap_or_default()),
        ],
    )
}
