//! The partner's client over HTTP: against the simulated partner, and against servers that are none.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod addresses;
mod requests;
mod simulator;

use std::time::Duration;

use common::domain::partner::{PartnerRules, Question};
use common::upstream::partner::answer::{NoAnswer, PartnerAnswer};
use common::upstream::partner::client::{Addresses, Partner};
use serde_json::json;

/// Longer than any answer that comes takes.
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

fn question(reference: &str, code: &str) -> Question {
    Question {
        reference: reference.to_owned(),
        code: code.to_owned(),
        phone: "+255712345678".to_owned(),
        campaign: "demo".to_owned(),
        livemode: true,
    }
}

async fn ask_within(url: &str, limit: Duration) -> PartnerAnswer {
    let client = Partner::new(Addresses::AnyForLocal);
    client.ask(&rules(url), None, &question("sub-1", "OKAY0001"), limit).await
}

/// Why there is no answer at this URL.
async fn no_answer(url: &str) -> NoAnswer {
    no_answer_within(url, LONG).await
}

async fn no_answer_within(url: &str, limit: Duration) -> NoAnswer {
    match ask_within(url, limit).await {
        PartnerAnswer::NoAnswer(why) => why,
        PartnerAnswer::Verdict(verdict) => panic!("{verdict:?}"),
    }
}
