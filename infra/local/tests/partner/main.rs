//! The partner client against the simulated partner and misbehaving servers.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

mod addresses;
mod requests;
mod simulator;

use std::time::Duration;

use common::domain::partner::PartnerRequest;
use common::domain::{PartnerRules, PartnerVerdict};
use common::upstream::http_client::Addresses;
use common::upstream::partner::client::Partner;
use common::upstream::partner::error::PartnerError;
use serde_json::json;

/// Longer than a good reply takes.
const LONG: Duration = Duration::from_secs(8);

fn rules(url: &str) -> PartnerRules {
    let rules = json!({
        "url": url,
        "body": { "reference": "{{reference}}", "code": "{{code}}", "phone": "{{phone}}" },
        "reply": { "code": "/status", "message": "/text", "entries": "/entries", "prize": "/prize" },
        "outcomes": {
            "0": "entered", "1": "instant_win", "20": "invalid", "21": "already_used", "22": "entry_limit",
            "23": "blocked",
        },
    });
    serde_json::from_value(rules).expect("rules")
}

fn request(reference: &str, code: &str) -> PartnerRequest {
    PartnerRequest {
        reference: reference.to_owned(),
        code: code.to_owned(),
        phone: "+255712345678".to_owned(),
        campaign: "demo".to_owned(),
        livemode: true,
    }
}

async fn ask_within(url: &str, limit: Duration) -> Result<PartnerVerdict, PartnerError> {
    let client = Partner::new(Addresses::Any);
    client
        .ask(&rules(url), None, &request("sub-1", "OKAY0001"), limit)
        .await
}

async fn error(url: &str) -> PartnerError {
    ask_within(url, LONG).await.expect_err(url)
}
