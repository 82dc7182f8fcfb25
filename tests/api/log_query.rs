//! The runbook's query for all log lines about a submission.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use common::aws::settle_queue::SettleMessage;
use common::domain::campaign::Campaign;
use local::stack::Options;
use serde_json::{Value, json};
use service_tests::campaign::{TestCampaign, body, fresh_key, phone};
use service_tests::environment::Environment as Process;
use service_tests::event;
use service_tests::interceptor::{Disturbance, Interceptor};
use service_tests::partners::judged_by;
use service_tests::random::Random;
use service_tests::receipts::{TIME, receipts_alone};
use service_tests::service::Service;
use service_tests::serving::serve;
use service_tests::template::file_text;
use service_tests::text::{parse_json, text_of};

use crate::process::start;

/// A field, and the id that it must have.
type Condition = (String, String);

/// A line has to meet one of these.
fn conditions() -> Vec<Condition> {
    let page = file_text("infra/docs/runbook.md");
    let query = page
        .lines()
        .find_map(|line| line.strip_prefix("filter subject = "));
    let query = format!("subject = {}", query.expect("a query"));
    let condition = |text: &str| {
        let (field, id) = text.split_once(" = ").expect("a condition");
        (field.to_owned(), id.trim_matches('"').to_owned())
    };
    query.split(" or ").map(condition).collect()
}

/// Functions over a database whose table of limits, leases and turns can be throttled.
struct Functions {
    service: Service,
    proxy: Interceptor,
    _database: Service,
    lines: Vec<Value>,
    ids: Vec<(&'static str, String)>,
}

impl Functions {
    async fn start() -> Self {
        let database = Service::without_background();
        let options = Options {
            background: false,
            speedup: 10_000,
            ..Options::default()
        };
        let (service, proxy) = database.intercepted_beside(options).await;
        Self {
            service,
            proxy,
            _database: database,
            lines: Vec::new(),
            ids: Vec::new(),
        }
    }

    async fn campaign(&self, change: impl FnOnce(&mut Campaign)) -> TestCampaign {
        TestCampaign::changed(&self.service, change).await
    }

    async fn process(&self, function: &str) -> Process {
        start(function, &self.service.variables_of(function)).await
    }

    fn throttle(&self) -> impl Fn() + Send + Sync + use<> {
        let throttled_table = Some(self.service.variable("COORDINATION_TABLE"));
        let disturbance = Disturbance {
            throttled_percent: 100,
            throttled_table,
            ..Disturbance::default()
        };
        let proxy = self.proxy.clone();
        move || proxy.disturb(Random::new(7), disturbance.clone())
    }

    /// Hands over an event and keeps the logged lines. Returns the answer and the last line, which
    /// is the request's or job's.
    async fn invoke(&mut self, process: &mut Process, event: &Value) -> (Value, Value) {
        let answer = process.invoke(event).await.expect("an answer");
        self.proxy.disturb_no_more();
        loop {
            let line = parse_json(&process.next_line().await);
            self.lines.push(line.clone());
            if line["message"] == "request" || line["message"] == "job" {
                return (answer, line);
            }
        }
    }

    async fn send(
        &mut self,
        process: &mut Process,
        path: &str,
        body: &Value,
        key: &str,
    ) -> (Value, String) {
        let event = event::posted(path, body, &fresh_key(), key);
        let (answer, _) = self.invoke(process, &event).await;
        let reply = event::reply(&answer);
        assert_eq!(reply.status, 200, "{}", reply.text);
        let request_id = reply.header("x-request-id").expect("an id").to_owned();
        (serde_json::from_str(&reply.text).expect("JSON"), request_id)
    }

    async fn submit(&mut self, campaign: &TestCampaign, body: &Value) -> SettleMessage {
        let mut process = self.process("create-submission").await;
        let path = "/api/v1/submissions";
        let (submission, request_id) = self
            .send(&mut process, path, body, &campaign.live_key)
            .await;
        let text = |name: &str| text_of(&submission[name]).to_owned();
        self.ids.extend([
            ("SUBMISSION-ID", text("id")),
            ("REFERENCE", text("ref")),
            ("REQUEST-ID", request_id),
        ]);
        campaign.message(&text("id"))
    }

    /// Delivers a message until its step was due; returns the outcome.
    async fn settle(&mut self, process: &mut Process, message: &SettleMessage) -> Value {
        let event = event::of_queue(
            "1",
            "a-handle",
            &serde_json::to_string(message).expect("JSON"),
        );
        loop {
            let (_, job) = self.invoke(process, &event).await;
            if job["outcome"] != "not_due" {
                return job["outcome"].clone();
            }
        }
    }

    /// Checks that the query finds every line, these warnings among them.
    fn assert_all_found(&self, warnings: &[&str]) {
        let conditions = conditions();
        let is_met = |line: &Value, (field, name): &Condition| {
            self.ids
                .iter()
                .any(|(id_name, id)| id_name == name && line[field] == id.as_str())
        };
        for line in &self.lines {
            assert!(
                conditions.iter().any(|condition| is_met(line, condition)),
                "it misses {line}"
            );
        }
        for warning in warnings {
            assert!(
                self.lines.iter().any(|line| line["message"] == *warning),
                "no line says {warning}"
            );
        }
    }
}

#[tokio::test]
async fn query_finds_every_line_of_a_receipt_until_its_acceptance() {
    let mut functions = Functions::start().await;
    let campaign = functions.campaign(receipts_alone).await;
    let mut process = functions.process("create-receipt").await;
    let typed = json!({ "type": "typed", "code": "GOOD010001", "time": TIME });
    let path = "/api/v1/receipts";
    let (receipt, _) = functions
        .send(&mut process, path, &typed, &campaign.live_key)
        .await;
    let receipt_id = text_of(&receipt["id"]).to_owned();
    let submission = json!({ "phone": phone(1), "consent": true, "receipt_id": receipt_id });
    functions.ids.push(("RECEIPT-ID", receipt_id));
    let message = functions.submit(&campaign, &submission).await;
    let mut process = functions.process("settle-receipts").await;
    functions.throttle()();
    assert_eq!(functions.settle(&mut process, &message).await, "failed");
    assert_eq!(functions.settle(&mut process, &message).await, "accepted");
    functions.assert_all_found(&["no campaign was chosen"]);
}

#[tokio::test]
async fn it_finds_every_line_of_a_code_whose_partner_fails_twice() {
    let mut functions = Functions::start().await;
    // Table throttled before the partner answers; partner accepts.
    let answers = [(true, false), (false, false), (true, true)];
    let (answers, throttle) = (
        Arc::new(Mutex::new(VecDeque::from(answers))),
        Arc::new(functions.throttle()),
    );
    let answer = move || {
        let (throttles, accepts) = answers
            .lock()
            .expect("not poisoned")
            .pop_front()
            .expect("three requests");
        if throttles {
            throttle();
        }
        let accepted =
            Json(json!({ "status": 0, "text": "Accepted", "entries": 1, "prize": null }));
        std::future::ready(if accepts {
            accepted.into_response()
        } else {
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        })
    };
    let url = serve(Router::new().route("/redeem", post(answer))).await;
    let campaign = functions.campaign(judged_by(url + "/redeem")).await;
    let message = functions
        .submit(&campaign, &body(&phone(1), "OKAY-1"))
        .await;
    let mut process = functions.process("settle-partners").await;
    assert_eq!(functions.settle(&mut process, &message).await, "status");
    assert_eq!(functions.settle(&mut process, &message).await, "entered");
    functions.assert_all_found(&[
        "a partner's lease was not released",
        "a circuit breaker missed a failure",
        "a circuit breaker missed an answer",
    ]);
}
