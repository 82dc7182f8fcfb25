//! Instant prizes from plan to proof, with entries over HTTP that win.

use std::time::Duration;

use common::domain::win::WinStatus;
use serde_json::{Value, json};
use service_tests::campaign::{body, fresh_key};
use service_tests::http::request;
use service_tests::moments::sweep;
use service_tests::text::{fields, list_of, parse_json, text_of};

mod orders;

use crate::instant::{LIVE, NOTICE, START, STOP, chai_with_prizes, plan, python, reveal};
use crate::support::{Stack, live};

/// Callers of a campaign with [`crate::instant`]'s prizes.
struct Entrants {
    stack: Stack,
    url: String,
    authorization: String,
    codes: Vec<String>,
    next: usize,
}

impl Entrants {
    /// With a plan that is open, 160 minutes before its first day.
    async fn of_open_plan(stack: Stack) -> Self {
        stack.apply(chai_with_prizes()).await;
        let codes = stack.mint(200).await;
        let issued = stack.json(format!("key issue {LIVE}")).await;
        stack.fine(plan(&stack, LIVE, "plan")).await;
        stack.clock.advance(NOTICE);
        stack.fine(format!("instant arm {LIVE}")).await;
        let base_url = stack.ready_file()["base_url"].clone();
        Self {
            url: format!("{}/api/v1/submissions", text_of(&base_url)),
            authorization: format!("Bearer {}", text_of(&issued["key"])),
            codes,
            next: 0,
            stack,
        }
    }

    /// The reply to an entry of this phone with this code.
    async fn entry(&self, phone: usize, code: usize) -> Value {
        let entry = body(&format!("0712000{phone:03}"), &self.codes[code]);
        let sending = request("POST", self.url.clone());
        let sending = sending.header("authorization", &self.authorization);
        let sending = sending.header("idempotency-key", fresh_key());
        let reply = parse_json(&sending.json(&entry).await.text);
        assert_eq!(reply["state"], "accepted", "{reply}");
        reply
    }

    /// Entries of one phone each, a minute apart; returns those that won.
    async fn enter(&mut self, count: usize) -> Vec<Value> {
        let mut won = Vec::new();
        for _ in 0..count {
            self.stack.clock.advance(Duration::from_secs(60));
            let reply = self.entry(self.next, self.next).await;
            self.next += 1;
            won.extend((!reply["instant_win"].is_null()).then_some(reply));
        }
        won
    }

    async fn given(&self) -> Vec<u32> {
        let state = self.stack.tables().plans.state(&live()).await;
        let state = state.expect("it answers").expect("a state");
        state.given[..2].to_vec()
    }

    /// Winners by moment that still have their prize, by prize.
    async fn held(&self) -> Vec<u32> {
        let wins = self.stack.tables().wins().list(&live()).await;
        let wins = wins.expect("it answers");
        let held = |prize| {
            let held = wins.iter().filter(|win| {
                win.status() != WinStatus::Revoked
                    && win.moment.is_some_and(|moment| moment.prize == prize)
            });
            u32::try_from(held.count()).expect("few")
        };
        vec![held(0), held(1)]
    }

    async fn revoke(&self, won: &Value) {
        self.stack.by_two(revocation(won)).await;
    }

    /// What `ops instant verify` says of the plan's files.
    async fn proved(&self) -> Value {
        let stack = &self.stack;
        stack.fine(STOP).await;
        stack.by_two(reveal(stack, LIVE, "proof")).await;
        let verify = format!("instant verify {}", stack.arg("proof"));
        stack.json(verify).await
    }
}

fn revocation(won: &Value) -> String {
    format!("submission revoke {} --why mistake", text_of(&won["ref"]))
}

#[tokio::test]
async fn instant_prizes_are_won_and_proved() {
    let mut entrants = Entrants::of_open_plan(Stack::empty().await).await;
    assert!(entrants.enter(2).await.is_empty(), "nothing is due yet");

    // The first day is over.
    entrants.stack.clock.advance(Duration::from_hours(30));
    sweep(&entrants.stack.env, &entrants.stack.clock).await;
    let first = entrants.enter(12).await;
    assert!((6..=9).contains(&first.len()), "{first:?}");
    let given = entrants.given().await;
    entrants.revoke(&first[0]).await;
    let less = entrants.given().await;
    assert_eq!(
        less.iter().sum::<u32>() + 1,
        given.iter().sum::<u32>(),
        "the counter goes down"
    );
    entrants.stack.fine(STOP).await;
    assert!(entrants.enter(2).await.is_empty(), "it is stopped");
    entrants.stack.fine(START).await;
    let next = entrants.enter(1).await;
    assert_eq!(next[0]["instant_win"], first[0]["instant_win"]);
    entrants.stack.clock.advance(Duration::from_hours(24));
    sweep(&entrants.stack.env, &entrants.stack.clock).await;
    let rest = entrants.enter(8).await;
    assert_eq!(first.len() + 1 + rest.len(), 10, "one was given back");
    let shown = entrants.stack.json(format!("instant show {LIVE}")).await;
    assert_eq!(shown["prizes"][0]["due"], 8);
    let logged: Vec<_> = list_of(&shown["days"])
        .iter()
        .map(|day| fields(day, "day sha256"))
        .collect();

    let held = entrants.proved().await;
    let stack = &entrants.stack;
    assert_eq!(held["rows"], 23, "those of the plan's days");
    let given = list_of(&held["prizes"]).iter().map(|prize| &prize["given"]);
    assert_eq!(given.collect::<Vec<_>>(), [&json!(8), &json!(1)]);
    let days = list_of(&held["days"]).iter();
    let days: Vec<_> = days.map(|day| fields(day, "day sha256")).collect();
    assert_eq!((days.len(), days), (2, logged));
    assert_eq!(held["not_logged"], json!([]));
    assert_eq!(held["won_after_days"], rest.len());
    let said = python(stack, "proof");
    assert_lacks!(said, "Not logged within a day");
    assert!(
        said.contains("FOLLOWS: 23 entries with 9 prizes of 9"),
        "{said}"
    );
    let rows = stack.read("proof/rows.csv");
    let revoked = rows.lines().filter(|row| !row.ends_with(','));
    assert_eq!(revoked.count(), 1);
    for secret in ["712000", text_of(&first[0]["ref"])] {
        assert_lacks!(rows, secret);
    }
}

#[tokio::test]
async fn entry_accepted_again_by_people_has_no_prize() {
    let mut entrants = Entrants::of_open_plan(Stack::empty().await).await;
    entrants.stack.clock.advance(Duration::from_hours(30));
    let winner = entrants.enter(1).await.remove(0);
    entrants.revoke(&winner).await;
    let (reference, stack) = (text_of(&winner["ref"]), &entrants.stack);
    for command in ["reopen", "settle --accept"] {
        stack.clock.advance(Duration::from_secs(60));
        let (what, options) = command.split_once(' ').unwrap_or((command, ""));
        let command = format!("submission {what} {reference} {options} --why mistake");
        for operator in ["asha", "juma"] {
            stack.run_by(operator, &command).await;
        }
    }
    let shown = request(
        "GET",
        format!("{}/{}", entrants.url, text_of(&winner["id"])),
    );
    let shown = shown.header("authorization", &entrants.authorization).await;
    let shown = parse_json(&shown.text);
    assert_eq!(fields(&shown, "state instant_win"), "accepted null");
    assert_eq!(entrants.given().await, [0, 0]);
    let next = entrants.enter(1).await;
    assert_eq!(next[0]["instant_win"], winner["instant_win"]);
    assert_eq!(entrants.given().await, entrants.held().await);
    entrants.enter(8).await;
    assert_eq!(entrants.proved().await["holds"], true);
}
