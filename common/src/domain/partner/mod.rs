//! An external partner that verifies a campaign's codes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::code::CodeForm;
use super::message::MessageKey;

pub mod outcome;
pub mod pointer;
pub mod reply;
pub mod template;

use pointer::ReplyPointers;
use reply::{InvalidReply, PartnerVerdict};
use template::Template;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerRules {
    pub url: String,
    #[serde(default)]
    pub method: Method,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    pub secret: Option<PartnerSecret>,
    #[serde(default = "PartnerRules::most_seconds")]
    pub timeout_seconds: u32,
    /// Limit on consumers' requests; those from the queue are not counted.
    #[serde(default = "PartnerRules::default_max_in_flight")]
    pub max_in_flight: u32,
    #[serde(default)]
    pub code: CodeForm,
    pub body: Option<Template>,
    pub reply: ReplyPointers,
    pub outcomes: BTreeMap<String, MessageKey>,
}

impl PartnerRules {
    /// The caller waits as long; API Gateway allows little more.
    pub const MAX_TIMEOUT_SECONDS: u32 = 8;

    pub const MAX_TIMEOUT: Duration =
        Duration::from_secs(1).saturating_mul(Self::MAX_TIMEOUT_SECONDS);

    /// A small part of an account's concurrency, at eight seconds each.
    pub const DEFAULT_MAX_IN_FLIGHT: u32 = 50;

    /// Concurrency of a new account.
    pub const MAX_IN_FLIGHT: u32 = 1_000;

    fn default_max_in_flight() -> u32 {
        Self::DEFAULT_MAX_IN_FLIGHT
    }

    fn most_seconds() -> u32 {
        Self::MAX_TIMEOUT_SECONDS
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(
            self.timeout_seconds
                .clamp(1, Self::MAX_TIMEOUT_SECONDS)
                .into(),
        )
    }

    /// Never panics. A body that breaks the agreement does not count as an answer.
    pub fn read(&self, body: &[u8]) -> Result<PartnerVerdict, InvalidReply> {
        reply::read(&self.reply, &self.outcomes, body)
    }

    /// True for final decisions that are not about a receipt.
    pub fn can_mean(key: MessageKey) -> bool {
        // Temporary ones must not reject for good.
        let passes = matches!(
            key,
            MessageKey::ServiceUnavailable | MessageKey::RateLimited | MessageKey::CodeHeld
        );
        Self::accepts(key) || (key.rejects() && !key.blames_receipt() && !passes)
    }

    pub fn accepts(key: MessageKey) -> bool {
        matches!(key, MessageKey::Entered | MessageKey::InstantWin)
    }
}

impl fmt::Debug for PartnerRules {
    /// Header values and the URL's query may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self
            .url
            .split_once('?')
            .map_or(self.url.as_str(), |(url, _)| url);
        f.debug_struct("PartnerRules")
            .field("url", &url)
            .field("method", &self.method)
            .field("headers", &self.headers.keys())
            .field("secret", &self.secret)
            .field("timeout_seconds", &self.timeout_seconds)
            .field("max_in_flight", &self.max_in_flight)
            .field("reply", &self.reply)
            .field("outcomes", &self.outcomes)
            .finish_non_exhaustive()
    }
}

text_enum! {
    #[derive(Default)]
    pub enum Method {
        #[default]
        Post = "POST",
        Put = "PUT",
        /// May have a body.
        Get = "GET",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerSecret {
    pub header: String,
    /// Name in Secrets Manager.
    pub name: String,
}

#[derive(Clone, PartialEq, Eq)]
pub struct PartnerRequest {
    /// Submission id: the partner treats requests with the same id as one.
    pub reference: String,
    pub code: String,
    /// E.164.
    pub phone: String,
    pub campaign: String,
    pub livemode: bool,
}

masked_debug!(PartnerRequest);

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use aws_sdk_dynamodb::types::AttributeValue;
    use serde_dynamo::aws_sdk_dynamodb_1::{from_item, to_item};
    use serde_json::json;

    use super::reply::PartnerMessage;
    use super::*;

    type Item = HashMap<String, AttributeValue>;

    fn rules() -> PartnerRules {
        let rules = json!({
            "url": "https://partner.example/redeem?token=hush",
            "headers": { "X-Client": "hush" },
            "body": { "code": "{{code}}" },
            "reply": { "code": "/status" },
            "outcomes": { "0": "entered", "20": "invalid" },
        });
        serde_json::from_value(rules).expect("rules")
    }

    #[test]
    fn what_is_left_out_is_the_usual() {
        let rules = rules();
        assert_eq!(
            (rules.method, rules.timeout_seconds, &rules.secret),
            (Method::Post, 8, &None)
        );
        assert_eq!(
            (rules.timeout(), rules.max_in_flight),
            (Duration::from_secs(8), 50)
        );
    }

    #[test]
    fn rules_and_words_survive_storage() {
        let body = json!({ "a": ["{{code}}", 7, -1.5, true, null, "", {}, [], i64::MIN] });
        let rules = PartnerRules {
            body: Some(body.try_into().expect("a template")),
            ..rules()
        };
        let stored: Item = to_item(&rules).expect("an item");
        assert_eq!(from_item::<PartnerRules>(stored).expect("rules"), rules);
        for words in [
            json!({ "code": -3, "message": "x" }),
            json!({ "code": "3", "message": null }),
        ] {
            let upstream: PartnerMessage = serde_json::from_value(words.clone()).expect("words");
            let stored: Item = to_item(&upstream).expect("an item");
            let read: PartnerMessage = from_item(stored).expect("words");
            assert_eq!(
                (serde_json::to_value(&read).expect("JSON"), read),
                (words, upstream)
            );
        }
    }

    #[test]
    fn methods_have_their_names_in_http() {
        assert_eq!(
            [Method::Post, Method::Put, Method::Get].map(Method::as_str),
            ["POST", "PUT", "GET"]
        );
    }

    #[test]
    fn nothing_private_prints() {
        let request = PartnerRequest {
            reference: "r1".to_owned(),
            code: "hush1".to_owned(),
            phone: "hush2".to_owned(),
            campaign: "demo".to_owned(),
            livemode: true,
        };
        let printed = format!("{:?} {request:?}", rules());
        assert!(
            !printed.contains("hush") && printed.contains("X-Client"),
            "{printed}"
        );
    }

    #[test]
    fn a_code_means_a_decision_about_a_code() {
        let can_mean: Vec<_> = MessageKey::ALL
            .iter()
            .filter(|key| PartnerRules::can_mean(**key))
            .collect();
        assert!(
            can_mean.contains(&&MessageKey::InstantWin)
                && can_mean.contains(&&MessageKey::AlreadyUsed)
        );
        for key in [
            MessageKey::ServiceUnavailable,
            MessageKey::Checking,
            MessageKey::ReceiptReceived,
            MessageKey::ReceiptNotFound,
        ] {
            assert!(!PartnerRules::can_mean(key), "{key}");
        }
    }
}

#[cfg(test)]
mod outcome_tests;
