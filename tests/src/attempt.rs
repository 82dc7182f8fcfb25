//! An attempt to enter that tests spoil in one way or another: it must leave nothing behind.

use serde_json::{Value, json};

use crate::campaign::{TestCampaign, body, fresh_key, phone};
use crate::http::{Reply, RequestBuilder};

/// A phone, a code and an Idempotency-Key that nobody used before.
pub struct Attempt<'a> {
    campaign: &'a TestCampaign,
    number: u32,
    pub key: String,
}

impl<'a> Attempt<'a> {
    /// The attempt of this number: each has a phone and a code of its own.
    pub fn new(campaign: &'a TestCampaign, number: u32) -> Self {
        Self { campaign, number, key: fresh_key() }
    }

    /// The body with which it enters.
    pub fn body(&self) -> Value {
        body(&phone(self.number), &self.campaign.code(u64::from(self.number)))
    }

    /// The body with one field changed.
    pub fn body_with(&self, field: &str, value: Value) -> Value {
        let mut body = self.body();
        body[field] = value;
        body
    }

    /// The request with this key that enters.
    pub fn with_key(&self, api_key: &str) -> RequestBuilder {
        self.campaign
            .with_key(api_key, "POST", "/api/v1/submissions")
            .header("idempotency-key", &self.key)
            .json(&self.body())
    }

    /// The request with the test key that enters.
    pub fn good(&self) -> RequestBuilder {
        self.with_key(&self.campaign.test_key)
    }

    /// Sends the request spoilt, then shows that this left nothing behind: the phone has no submission,
    /// and the request as it should be enters, with the same Idempotency-Key.
    pub async fn assert_rejected_without_effect(&self, bad: RequestBuilder) -> Reply {
        let refused = bad.send().await;
        assert!(refused.status.is_client_error(), "{}", refused.text);
        // Counted by itself, however many attempts a test makes.
        let address = format!("10.{}.1.1", self.number);
        let lookup = self.campaign.lookup(&phone(self.number)).header("svc-client-ip", address).send().await;
        assert_eq!(lookup.field("submissions"), json!([]), "after {}", refused.text);
        let entered = self.good().send().await;
        assert_eq!(entered.field("message_key"), "entered", "after {}", refused.text);
        assert_eq!(entered.field("replayed"), false, "after {}", refused.text);
        assert_eq!(entered.header("idempotent-replayed"), None, "after {}", refused.text);
        refused
    }
}
