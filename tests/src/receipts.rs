//! Campaigns with receipts, requests that create and upload them, and settling by hand.

use std::time::Duration;

use crate::text::text_of;
use aws_sdk_dynamodb::types::AttributeValue;
use common::aws::settle_queue::SettleMessage;
use common::domain::campaign::{Campaign, CodePolicy};
use common::domain::ids::SubmissionId;
use common::domain::receipt::rules::{Branch, OnNoMatch, Product, ProductRange, ReceiptRules};
use common::domain::scope::Environment;
use common::domain::settling::Dependency;
use common::domain::submission::Submission;
use common::runtime::event_handler::EventHandler;
use common::runtime::sqs_batch::{SqsBatchResponse, SqsEvent, SqsMessage};
use common::store::submissions::{self, DueSubmission};
use serde_json::{Value, json};
use settle_partners::SettlePartners;
use settle_receipts::SettleReceipts;

use crate::campaign::TestCampaign;
use crate::http::{Reply, RequestBuilder, request_to_storage};
use crate::service::Service;

/// The time on every receipt of the simulated tax authority.
pub const TIME: &str = "10:15:30";

/// Two products and two branches, the simulated shops 01 and 02.
pub fn rules() -> ReceiptRules {
    let product = |key: &str, text: &str, entries| Product {
        key: key.to_owned(),
        range: "Classic".to_owned(),
        label: key.to_owned(),
        name: text.to_owned(),
        color: None,
        image: None,
        matches: vec![text.to_owned()],
        entries,
    };
    let branch = |key: &str, serial: &str| Branch {
        key: key.to_owned(),
        name: key.to_owned(),
        city: "Dar es Salaam".to_owned(),
        merchant: "Duka Kuu".to_owned(),
        tin: "100147181".to_owned(),
        serials: vec![serial.to_owned()],
    };
    ReceiptRules {
        required: true,
        typed: true,
        on_no_match: OnNoMatch::Review,
        max_entries: ReceiptRules::DEFAULT_MAX_ENTRIES,
        ranges: vec![ProductRange {
            name: "Classic".to_owned(),
            tag: None,
        }],
        products: vec![
            product("chai-250", "CHAI BORA 250", 1),
            product("chai-500", "CHAI BORA 500", 2),
        ],
        branches: vec![
            branch("kko", "03TZ343001520"),
            branch("mwz", "03TZ343001521"),
        ],
        draw_period: None,
    }
}

/// Takes receipts and no codes.
pub fn receipts_alone(campaign: &mut Campaign) {
    campaign.code = CodePolicy::None;
    campaign.receipt = Some(rules());
}

/// Takes codes with receipts.
pub fn code_and_receipt(campaign: &mut Campaign) {
    campaign.receipt = Some(rules());
}

impl TestCampaign {
    pub fn receipt(&self, key: &str, body: &Value) -> RequestBuilder {
        self.with_key(key, "POST", "/api/v1/receipts").json(body)
    }

    /// Creates a typed receipt; returns its id.
    pub async fn typed(&self, key: &str, code: &str, time: &str) -> String {
        let reply = self
            .receipt(key, &json!({ "type": "typed", "code": code, "time": time }))
            .await;
        assert_eq!(
            (reply.status.as_u16(), reply.field("state")),
            (200, json!("uploaded")),
            "{}",
            reply.text
        );
        id_of(&reply)
    }

    /// Creates and uploads a photo; returns the receipt's id.
    pub async fn photo(&self, key: &str, photo: &[u8], qr_payload: Option<&str>) -> String {
        let reply = self.receipt(key, &announced(photo, qr_payload)).await;
        let uploaded = upload(&reply, photo.to_vec()).await;
        assert_eq!(uploaded.status, 200, "{}", uploaded.text);
        id_of(&reply)
    }

    /// A submission with a receipt, and with `code` unless empty.
    pub fn with_receipt(
        &self,
        key: &str,
        phone: &str,
        code: &str,
        receipt_id: &str,
    ) -> RequestBuilder {
        let mut body = json!({ "phone": phone, "consent": true, "receipt_id": receipt_id });
        if !code.is_empty() {
            body["code"] = json!(code);
        }
        self.with_body(key, &body)
    }

    /// Writes a value that this build cannot read.
    pub async fn make_unreadable(&self, id: &str) {
        let table = self.service.variable("SUBMISSIONS_TABLE");
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let update = self.service.dynamodb().update_item().table_name(table);
        let id: SubmissionId = id.parse().expect("an id");
        let key = submissions::key(&self.scope(Environment::Live), id.reference());
        let update = update.key("id", text(&key));
        let update = update.update_expression("SET standing = :newer");
        let update = update.expression_attribute_values(":newer", text("of a newer build"));
        update.send().await.expect("the table");
    }

    /// The record of a live submission.
    pub async fn record(&self, id: &str) -> Submission {
        self.record_in(Environment::Live, id).await
    }

    pub async fn record_in(&self, environment: Environment, id: &str) -> Submission {
        let submissions = self.service.tables.store.submissions();
        let id = id.parse().expect("an id");
        let found = submissions.get(&self.scope(environment), id).await;
        found.expect("it answers").expect("it is there")
    }

    /// The message that asks to settle a live submission.
    pub fn message(&self, id: &str) -> SettleMessage {
        SettleMessage::new(&self.live_scope(), id.parse().expect("an id"))
    }

    /// The reply's submission, now.
    pub async fn shown(&self, reply: &Reply) -> Reply {
        self.read(&self.live_key, &id_of(reply)).await
    }

    pub async fn read(&self, key: &str, id: &str) -> Reply {
        self.with_key(key, "GET", &format!("/api/v1/submissions/{id}"))
            .await
    }
}

/// The body that creates a photo receipt.
pub fn announced(photo: &[u8], qr_payload: Option<&str>) -> Value {
    let mut body =
        json!({ "type": "photo", "content_type": "image/jpeg", "size_bytes": photo.len() });
    if let Some(payload) = qr_payload {
        body["qr_payload"] = json!(payload);
    }
    body
}

pub fn upload(reply: &Reply, photo: Vec<u8>) -> RequestBuilder {
    let target = reply.field("upload");
    let mut put = request_to_storage("PUT", text_of(&target["url"]).to_owned());
    for (name, value) in target["headers"].as_object().expect("headers") {
        put = put.header(name, value.as_str().expect("text"));
    }
    put.raw(photo)
}

pub fn id_of(reply: &Reply) -> String {
    reply
        .field("id")
        .as_str()
        .unwrap_or_else(|| panic!("no id in {}", reply.text))
        .to_owned()
}

/// Starts like a JPEG without an image.
pub fn hardly_a_photo() -> Vec<u8> {
    b"\xff\xd8\xff\xe0 not much of a photo".to_vec()
}

/// Settles by hand.
pub struct Settler {
    service: Service,
    receipts: SettleReceipts,
    partners: SettlePartners,
}

impl Settler {
    pub fn new(service: &Service) -> Self {
        Self {
            service: service.clone(),
            receipts: service.function("settle-receipts"),
            partners: service.function("settle-partners"),
        }
    }

    /// Runs every due step; returns their number.
    pub async fn settle_due(&self) -> usize {
        let mut settled = 0;
        for dependency in Dependency::ALL {
            settled += self.settle_due_with(dependency).await;
        }
        settled
    }

    pub async fn settle_due_with(&self, dependency: Dependency) -> usize {
        let due = self.due_with(dependency).await;
        let mut left = due.clone();
        while !left.is_empty() {
            for due in &left {
                let message = SettleMessage::new(&due.scope, due.submission_id);
                let reply = self.deliver_to(dependency, &message).await;
                assert_eq!(reply, SqsBatchResponse::default(), "no message fails");
            }
            // Some may have waited for a turn.
            left = self.due_with(dependency).await;
            left.retain(|still| due.contains(still));
        }
        due.len()
    }

    pub async fn due(&self) -> Vec<DueSubmission> {
        let mut due = Vec::new();
        for dependency in Dependency::ALL {
            due.extend(self.due_with(dependency).await);
        }
        due
    }

    async fn due_with(&self, dependency: Dependency) -> Vec<DueSubmission> {
        let submissions = self.service.tables.store.submissions();
        submissions
            .due(dependency, self.service.clock.now(), 100)
            .await
            .expect("the index")
    }

    /// Delivers to the function that settles receipts.
    pub async fn deliver(&self, message: &SettleMessage) -> SqsBatchResponse {
        self.deliver_to(Dependency::TaxAuthority, message).await
    }

    /// Delivers to the dependency's function.
    pub async fn deliver_to(
        &self,
        dependency: Dependency,
        message: &SettleMessage,
    ) -> SqsBatchResponse {
        let reply = match dependency {
            Dependency::TaxAuthority => self.receipts.handle(event(message)).await,
            Dependency::Partner => self.partners.handle(event(message)).await,
        };
        reply.expect("a reply")
    }

    /// Advances the clock, and runs what is due.
    pub async fn settle_after(&self, span: Duration) -> usize {
        self.service.clock.advance(span);
        self.settle_due().await
    }
}

fn event(message: &SettleMessage) -> SqsEvent {
    let mut record = SqsMessage::default();
    record.message_id = Some("1".to_owned());
    record.body = Some(serde_json::to_string(message).expect("JSON"));
    let mut event = SqsEvent::default();
    event.records.push(record);
    event
}

/// Takes photos but no typed receipts.
pub fn without_typing(rules: ReceiptRules) -> ReceiptRules {
    ReceiptRules {
        typed: false,
        ..rules
    }
}
