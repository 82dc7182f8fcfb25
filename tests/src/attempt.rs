//! A valid submission that a test breaks in one place; the refusal has no effect.

use serde_json::{Value, json};

use crate::campaign::{TestCampaign, body, fresh_key, phone};
use crate::http::{Reply, RequestBuilder};

pub struct Attempt<'a> {
    campaign: &'a TestCampaign,
    number: u32,
    pub key: String,
}

impl<'a> Attempt<'a> {
    /// `number` picks phone and code; attempts of one test need different ones.
    pub fn new(campaign: &'a TestCampaign, number: u32) -> Self {
        Self {
            campaign,
            number,
            key: fresh_key(),
        }
    }

    pub fn body(&self) -> Value {
        body(
            &phone(self.number),
            &self.campaign.code(u64::from(self.number)),
        )
    }

    pub fn body_with(&self, field: &str, value: Value) -> Value {
        let mut body = self.body();
        body[field] = value;
        body
    }

    pub fn with_key(&self, api_key: &str) -> RequestBuilder {
        self.campaign
            .with_key(api_key, "POST", "/api/v1/submissions")
            .header("idempotency-key", &self.key)
            .json(&self.body())
    }

    pub fn good(&self) -> RequestBuilder {
        self.with_key(&self.campaign.test_key)
    }

    /// Sends `bad`, then shows that the phone has no submission, and the valid request enters under
    /// the same Idempotency-Key.
    pub async fn assert_rejected_without_effect(&self, bad: RequestBuilder) -> Reply {
        let refused = bad.await;
        assert!(refused.status.is_client_error(), "{}", refused.text);
        // An own address: the limit on look-ups never applies.
        let address = format!("10.{}.1.1", self.number);
        let lookup = self
            .campaign
            .lookup(&phone(self.number))
            .header("svc-client-ip", address)
            .await;
        assert_eq!(
            lookup.field("submissions"),
            json!([]),
            "after {}",
            refused.text
        );
        let entered = self.good().await;
        assert_eq!(
            entered.field("message_key"),
            "entered",
            "after {}",
            refused.text
        );
        assert_eq!(entered.field("replayed"), false, "after {}", refused.text);
        assert_eq!(
            entered.header("idempotent-replayed"),
            None,
            "after {}",
            refused.text
        );
        refused
    }
}
