//! An external partner that verifies a campaign's codes: requests to it and replies from it.
//!
//! - [`template`]: the body of a request
//! - [`reply`]: the parts of a reply that count; [`mod@pointer`] finds them
//! - [`outcome`]: what follows for the submission from a reply, or from none
//!
//! `upstream::partner` sends the requests.

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

/// A campaign's `partner` block.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerRules {
    /// The partner's URL, such as `https://partner.example/redeem`.
    pub url: String,
    #[serde(default)]
    pub method: Method,
    /// The partner's own headers. They are not secret.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The header that carries our secret.
    #[serde(default)]
    pub secret: Option<PartnerSecret>,
    /// The timeout of a request in seconds, 1 to [`PartnerRules::MAX_TIMEOUT_SECONDS`].
    #[serde(default = "PartnerRules::most_seconds")]
    pub timeout_seconds: u32,
    /// The maximum number of consumers' requests in flight at the partner, 1 to [`PartnerRules::MAX_IN_FLIGHT`].
    /// Requests from the queue do not count.
    #[serde(default = "PartnerRules::default_max_in_flight")]
    pub max_in_flight: u32,
    /// The form in which codes are compared and sent.
    #[serde(default)]
    pub code: CodeForm,
    pub body: Option<Template>,
    /// Where to find the parts of a reply.
    pub reply: ReplyPointers,
    /// The meaning of each of the partner's codes, which are taken as text.
    pub outcomes: BTreeMap<String, MessageKey>,
}

impl PartnerRules {
    /// The longest timeout in seconds. The caller waits as long, and API Gateway not much longer.
    pub const MAX_TIMEOUT_SECONDS: u32 = 8;

    /// The longest timeout, which bounds what a request to a partner may take, preparations included.
    pub const MAX_TIMEOUT: Duration =
        Duration::from_secs(1).saturating_mul(Self::MAX_TIMEOUT_SECONDS);

    /// Requests in flight, unless the campaign sets another number: at eight seconds each, a small part of an account's
    /// concurrency.
    pub const DEFAULT_MAX_IN_FLIGHT: u32 = 50;

    /// The highest configurable number of requests in flight: the concurrency of a new account's functions.
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

    /// Reads the body of a reply. Never panics on any bytes.
    ///
    /// # Errors
    /// When it does not follow the agreement with the partner, so it does not count as an answer.
    pub fn read(&self, body: &[u8]) -> Result<PartnerVerdict, InvalidReply> {
        reply::read(&self.reply, &self.outcomes, body)
    }

    /// True if a partner's code can have this meaning: a final decision, and not about a receipt.
    pub fn can_mean(key: MessageKey) -> bool {
        // These are temporary, so they must not reject permanently.
        let passes = matches!(
            key,
            MessageKey::ServiceUnavailable | MessageKey::RateLimited | MessageKey::CodeHeld
        );
        Self::accepts(key) || (key.rejects() && !key.blames_receipt() && !passes)
    }

    /// True if the key accepts the consumer.
    pub fn accepts(key: MessageKey) -> bool {
        matches!(key, MessageKey::Entered | MessageKey::InstantWin)
    }
}

impl fmt::Debug for PartnerRules {
    /// Leaves out the values of headers and the query of the URL: there may be a secret in them.
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

/// The HTTP methods of requests to partners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// `POST`.
    #[default]
    Post,
    /// `PUT`.
    Put,
    /// `GET`, also with a body.
    Get,
}

impl Method {
    /// The method's name in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Get => "GET",
        }
    }
}

/// The header of a secret, and the secret's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerSecret {
    /// The name of the header that carries the secret.
    pub header: String,
    /// The secret's name in Secrets Manager, not its value.
    pub name: String,
}

/// The content of a request to a partner.
#[derive(Clone, PartialEq, Eq)]
pub struct PartnerRequest {
    /// The submission's id: the partner treats requests with the same id as one.
    pub reference: String,
    /// The code in its compared form: see [`PartnerRules::code`].
    pub code: String,
    /// The consumer's phone, E.164.
    pub phone: String,
    /// The campaign's slug, for `{{campaign}}`.
    pub campaign: String,
    /// `true` for live submissions, `false` for tests.
    pub livemode: bool,
}

impl fmt::Debug for PartnerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartnerRequest")
            .field("reference", &self.reference)
            .field("code", &format_args!("***"))
            .field("phone", &format_args!("***"))
            .field("campaign", &self.campaign)
            .field("livemode", &self.livemode)
            .finish()
    }
}

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
        assert!(
            printed.contains("r1") && printed.contains("livemode: true"),
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
