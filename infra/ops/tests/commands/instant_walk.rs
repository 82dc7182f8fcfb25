//! Instant prizes from plan to proof, with entries over HTTP that win.

use std::time::Duration;

use serde_json::{Value, json};
use service_tests::campaign::{body, fresh_key};
use service_tests::http::request;
use service_tests::text::{list_of, parse_json, text_of};

use crate::instant::{LIVE, NOTICE, chai_with_prizes, plan, python, reveal};
use crate::support::Stack;

/// Each entry has its own phone and code, a minute after the one before.
struct Entrants {
    stack: Stack,
    authorization: String,
    codes: Vec<String>,
    next: usize,
}

impl Entrants {
    async fn new() -> Self {
        let stack = Stack::empty().await;
        stack.apply(chai_with_prizes()).await;
        let codes = stack.arg("codes.csv");
        let mint = format!("code mint {LIVE} --count 40 --output {codes}");
        stack.fine(mint).await;
        let issued = stack.json(format!("key issue {LIVE}")).await;
        let codes = stack.read("codes.csv");
        Self {
            authorization: format!("Bearer {}", text_of(&issued["key"])),
            codes: codes.lines().skip(1).map(str::to_owned).collect(),
            next: 0,
            stack,
        }
    }

    /// The entries that won.
    async fn enter(&mut self, count: usize) -> Vec<Value> {
        let base_url = self.stack.ready_file()["base_url"].clone();
        let url = format!("{}/api/v1/submissions", text_of(&base_url));
        let mut won = Vec::new();
        for _ in 0..count {
            self.stack.clock.advance(Duration::from_secs(60));
            let entry = body(&format!("07120000{:02}", self.next), &self.codes[self.next]);
            self.next += 1;
            let sending = request("POST", url.clone());
            let sending = sending.header("authorization", &self.authorization);
            let reply = sending
                .header("idempotency-key", fresh_key())
                .json(&entry)
                .await;
            let reply = parse_json(&reply.text);
            assert_eq!(reply["state"], "accepted", "{reply}");
            won.extend((!reply["instant_win"].is_null()).then_some(reply));
        }
        won
    }
}

#[tokio::test]
async fn instant_prizes_are_won_and_proved() {
    let mut entrants = Entrants::new().await;
    let folder = plan(&entrants.stack, LIVE, "plan");
    entrants.stack.fine(folder).await;
    entrants.stack.clock.advance(NOTICE);
    entrants.stack.fine(format!("instant arm {LIVE}")).await;
    assert!(entrants.enter(2).await.is_empty(), "nothing is due yet");

    // The first day is over.
    entrants.stack.clock.advance(Duration::from_hours(30));
    let first = entrants.enter(12).await;
    assert!((6..=9).contains(&first.len()), "{first:?}");
    let revoke = format!(
        "submission revoke {} --why mistake",
        text_of(&first[0]["ref"])
    );
    for operator in ["asha", "juma"] {
        entrants.stack.run_by(operator, &revoke).await.fine();
    }
    let stop = format!("instant stop {LIVE} --why checks");
    entrants.stack.fine(&stop).await;
    assert!(entrants.enter(2).await.is_empty(), "it is stopped");
    entrants
        .stack
        .fine(format!("instant start {LIVE} --why checked"))
        .await;
    entrants.stack.clock.advance(Duration::from_hours(24));
    let rest = entrants.enter(8).await;
    assert_eq!(first.len() + rest.len(), 10, "one was given back");
    let shown = entrants.stack.json(format!("instant show {LIVE}")).await;
    assert_eq!(shown["prizes"][0]["due"], 8);

    let stack = &entrants.stack;
    stack.fine(&stop).await;
    for operator in ["asha", "juma"] {
        let reveal = reveal(stack, LIVE, "proof");
        stack.run_by(operator, reveal).await.fine();
    }
    let held = stack
        .json(format!("instant verify {}", stack.arg("proof")))
        .await;
    assert_eq!(held["rows"], 22, "those of the plan's days");
    let given = list_of(&held["prizes"]).iter().map(|prize| &prize["given"]);
    assert_eq!(given.collect::<Vec<_>>(), [&json!(8), &json!(1)]);
    let said = python(stack, "proof");
    assert!(
        said.contains("FOLLOWS: 22 entries with 9 prizes of 9"),
        "{said}"
    );
    let rows = stack.read("proof/rows.csv");
    let revoked = rows.lines().filter(|row| !row.ends_with(','));
    assert_eq!(revoked.count(), 1);
    for secret in ["712000", text_of(&first[0]["ref"])] {
        assert_lacks!(rows, secret);
    }
}
