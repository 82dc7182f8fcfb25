//! A partner outside that judges a campaign's codes: how it is asked, and how its replies are read.
//!
//! - [`template`]: what is sent to it
//! - [`reply`]: what it says, and what of that counts; [`mod@pointer`] finds it
//!
//! How requests are made is in [`crate::upstream::partner`].

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
use reply::{PartnerVerdict, Unreadable};
use template::Template;

/// A campaign's `partner` block.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerRules {
    /// Where the partner is asked, such as `https://partner.example/redeem`.
    pub url: String,
    /// How.
    #[serde(default)]
    pub method: Method,
    /// Headers of its own, which are no secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The header that proves who asks.
    #[serde(default)]
    pub secret: Option<PartnerSecret>,
    /// How long an answer is waited for, 1 to [`PartnerRules::MAX_TIMEOUT_SECONDS`].
    #[serde(default = "PartnerRules::most_seconds")]
    pub timeout_seconds: u32,
    /// The most requests that ask it at a time, 1 to [`PartnerRules::MAX_IN_FLIGHT`]. What the queue asks is not counted.
    #[serde(default = "PartnerRules::default_max_in_flight")]
    pub max_in_flight: u32,
    /// In which form codes are compared, and sent.
    #[serde(default)]
    pub code: CodeForm,
    /// What is sent.
    pub body: Option<Template>,
    /// Where in a reply its parts are.
    pub reply: ReplyPointers,
    /// What each of the partner's codes, as text, means.
    pub outcomes: BTreeMap<String, MessageKey>,
}

impl PartnerRules {
    /// The longest an answer is waited for, in seconds: a caller waits as long, and API Gateway not
    /// much longer.
    pub const MAX_TIMEOUT_SECONDS: u32 = 8;

    /// How many requests ask at a time, unless the campaign says otherwise: with eight seconds each, they are a small
    /// part of an account's concurrency.
    pub const DEFAULT_MAX_IN_FLIGHT: u32 = 50;

    /// The most requests that can be let ask at a time: as many as a new account's functions do at once.
    pub const MAX_IN_FLIGHT: u32 = 1_000;

    fn default_max_in_flight() -> u32 {
        Self::DEFAULT_MAX_IN_FLIGHT
    }

    fn most_seconds() -> u32 {
        Self::MAX_TIMEOUT_SECONDS
    }

    /// How long an answer is waited for.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.clamp(1, Self::MAX_TIMEOUT_SECONDS).into())
    }

    /// Reads the body of a reply. Never panics, whatever it holds.
    ///
    /// # Errors
    /// When it is not what was agreed with the partner, so that it cannot count as an answer.
    pub fn read(&self, body: &[u8]) -> Result<PartnerVerdict, Unreadable> {
        reply::read(&self.reply, &self.outcomes, body)
    }

    /// Whether a partner's code can mean this: a decision that is final, and not about a receipt.
    pub fn can_mean(key: MessageKey) -> bool {
        // What passes by itself refuses nobody for good.
        let passes =
            matches!(key, MessageKey::ServiceUnavailable | MessageKey::RateLimited | MessageKey::CodeHeld);
        Self::accepts(key) || (key.refuses() && !key.blames_receipt() && !passes)
    }

    /// Whether it means that the consumer is in.
    pub fn accepts(key: MessageKey) -> bool {
        matches!(key, MessageKey::Entered | MessageKey::InstantWin)
    }
}

impl fmt::Debug for PartnerRules {
    /// Leaves out the values of headers and the query of the URL: somebody may have put a secret there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split_once('?').map_or(self.url.as_str(), |(url, _)| url);
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

/// The methods that a partner can be asked with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// `POST`.
    #[default]
    Post,
    /// `PUT`.
    Put,
    /// `GET`; the body is sent with it all the same.
    Get,
}

impl Method {
    /// Its name in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Get => "GET",
        }
    }
}

/// Which header carries a secret, and where the secret is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerSecret {
    /// The header's name.
    pub header: String,
    /// The secret's name, never the secret.
    pub name: String,
}

/// What a partner is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct PartnerRequest {
    /// The submission's id: asking twice with it is asking once.
    pub reference: String,
    /// The code in the form in which it is compared: see [`PartnerRules::code`].
    pub code: String,
    /// The consumer's phone, E.164.
    pub phone: String,
    /// The campaign's slug.
    pub campaign: String,
    /// Whether it is meant seriously.
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

    use super::reply::Upstream;
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
        assert_eq!((rules.method, rules.timeout_seconds, &rules.secret), (Method::Post, 8, &None));
        assert_eq!((rules.timeout(), rules.max_in_flight), (Duration::from_secs(8), 50));
    }

    #[test]
    fn rules_and_words_survive_storage() {
        let body = json!({ "a": ["{{code}}", 7, -1.5, true, null, "", {}, [], i64::MIN] });
        let rules = PartnerRules { body: Some(body.try_into().expect("a template")), ..rules() };
        let stored: Item = to_item(&rules).expect("an item");
        assert_eq!(from_item::<PartnerRules>(stored).expect("rules"), rules);
        for words in [json!({ "code": -3, "message": "x" }), json!({ "code": "3", "message": null })] {
            let upstream: Upstream = serde_json::from_value(words.clone()).expect("words");
            let stored: Item = to_item(&upstream).expect("an item");
            let read: Upstream = from_item(stored).expect("words");
            assert_eq!((serde_json::to_value(&read).expect("JSON"), read), (words, upstream));
        }
    }

    #[test]
    fn methods_have_their_names_in_http() {
        assert_eq!([Method::Post, Method::Put, Method::Get].map(Method::as_str), ["POST", "PUT", "GET"]);
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
        assert!(!printed.contains("hush") && printed.contains("X-Client"), "{printed}");
        assert!(printed.contains("r1") && printed.contains("livemode: true"), "{printed}");
    }

    #[test]
    fn a_code_means_a_decision_about_a_code() {
        let can_mean: Vec<_> = MessageKey::ALL.iter().filter(|key| PartnerRules::can_mean(**key)).collect();
        assert!(can_mean.contains(&&MessageKey::InstantWin) && can_mean.contains(&&MessageKey::AlreadyUsed));
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
