//! Partners: a campaign's rules, and replies.

use std::sync::LazyLock;

use common::domain::partner::pointer::Pointer;
use common::domain::partner::reply::{InvalidReply, PartnerMessage, PartnerVerdict, UpstreamCode};
use common::domain::partner::reply::{
    MAX_CODE_CHARS, MAX_ENTRIES, MAX_MESSAGE_CHARS, MAX_PRIZE_CHARS,
};
use common::domain::partner::template::Template;
use common::domain::partner::{PartnerRequest, PartnerRules};
use common::upstream::partner::partner_url::{PartnerUrl, header_name, header_value};
use serde_json::{Value, json};

use super::text;

static RULES: LazyLock<PartnerRules> = LazyLock::new(|| {
    let rules = json!({
        "url": "https://partner.example/redeem",
        "body": { "reference": "{{reference}}", "code": "{{code}}" },
        "reply": { "code": "/status", "message": "/text", "entries": "/more/entries", "prize": "/prizes/0" },
        "outcomes": { "0": "entered", "1": "instant_win", "20": "invalid", "used": "already_used" },
    });
    serde_json::from_value(rules).expect("rules")
});

/// A reply is parsed the same twice, within its bounds, and printing it shows nothing.
pub(super) fn reply(input: &[u8]) {
    check_reply(&RULES, input);
}

fn check_reply(rules: &PartnerRules, body: &[u8]) {
    let read = rules.read(body);
    assert_eq!(rules.read(body), read);
    if let Ok(document) = serde_json::from_slice::<Value>(body) {
        assert_eq!(
            rules.read(document.to_string().as_bytes()),
            read,
            "spaces changed the answer"
        );
    } else {
        assert_eq!(read, Err(InvalidReply::NotJson));
    }
    match &read {
        Ok(verdict) => check_verdict(rules, verdict),
        Err(why) => {
            assert!(!why.as_str().is_empty());
            if let Some(upstream) = why.upstream() {
                check_upstream(upstream);
            }
        }
    }
}

fn check_verdict(rules: &PartnerRules, verdict: &PartnerVerdict) {
    assert!(
        rules
            .outcomes
            .values()
            .any(|outcome| *outcome == verdict.outcome)
    );
    assert!(verdict.entries.is_none_or(|entries| entries <= MAX_ENTRIES));
    if let Some(prize) = &verdict.prize {
        assert!(
            prize == prize.trim() && !prize.is_empty() && is_fit(prize, MAX_PRIZE_CHARS),
            "{prize:?}"
        );
    }
    check_upstream(&verdict.upstream);
    let bare = PartnerVerdict {
        prize: None,
        upstream: PartnerMessage {
            code: UpstreamCode::Number(0),
            message: None,
        },
        ..verdict.clone()
    };
    assert_eq!(
        format!("{verdict:?}"),
        format!("{bare:?}"),
        "the partner's words print"
    );
}

/// True if a partner's text may appear in a reply.
fn is_fit(words: &str, most_chars: usize) -> bool {
    words.chars().count() <= most_chars && !words.contains(char::is_control)
}

fn check_upstream(upstream: &PartnerMessage) {
    if let UpstreamCode::Text(code) = &upstream.code {
        assert!(is_fit(code, MAX_CODE_CHARS), "{code:?}");
    }
    assert!(
        upstream
            .message
            .as_ref()
            .is_none_or(|message| is_fit(message, MAX_MESSAGE_CHARS))
    );
    assert_eq!(format!("{upstream:?} {:?}", upstream.code), "*** ***");
    let stored = serde_json::to_value(upstream).expect("JSON");
    assert_eq!(
        &serde_json::from_value::<PartnerMessage>(stored).expect("words"),
        upstream
    );
}

/// Stored rules survive a round trip, keep secrets, render and parse.
pub(super) fn rules(input: &[u8]) {
    let Ok(rules) = serde_json::from_slice::<PartnerRules>(input) else {
        return;
    };
    let stored = serde_json::to_value(&rules).expect("JSON");
    assert_eq!(
        serde_json::from_value::<PartnerRules>(stored).expect("rules"),
        rules
    );
    assert!(
        (1..=u64::from(PartnerRules::MAX_TIMEOUT_SECONDS)).contains(&rules.timeout().as_secs())
    );
    let printed = format!("{rules:?}");
    let query = rules.url.split_once('?').map(|(_, query)| query);
    for secret in rules.headers.values().map(String::as_str).chain(query) {
        // Short secrets occur by chance.
        assert!(secret.len() < 24 || !printed.contains(secret), "{printed}");
    }
    if let Some(body) = &rules.body {
        template(body);
    }
    url(rules.url.as_bytes());
    check_reply(&rules, input);
    check_reply(
        &rules,
        br#"{"status":"0","text":"t","more":{"entries":1},"prizes":["p"]}"#,
    );
}

fn template(template: &Template) {
    let request = PartnerRequest {
        reference: "r".to_owned(),
        code: "{{phone}}".to_owned(),
        phone: "p".to_owned(),
        campaign: "c".to_owned(),
        livemode: true,
    };
    let rendered = template.render(&request);
    let printed = rendered.to_string();
    for placeholder in ["{{reference}}", "{{code}}", "{{campaign}}", "{{livemode}}"] {
        assert!(!printed.contains(placeholder), "{printed}");
    }
    assert!(
        same_shape(&Value::from(template.clone()), &rendered),
        "{printed}"
    );
}

/// True if documents differ in texts only.
fn same_shape(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| same_shape(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| same_shape(one, other)))
        }
        (Value::String(_), Value::String(_) | Value::Bool(_)) => true,
        _ => one == other,
    }
}

/// Valid URLs, header names, values and pointers work in requests.
pub(super) fn url(input: &[u8]) {
    let text = text(input);
    if let Ok(endpoint) = PartnerUrl::parse(&text) {
        assert_eq!(PartnerUrl::parse(&text), Ok(endpoint.clone()));
        let scheme = text
            .split_once("://")
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        assert_eq!(
            scheme.as_deref(),
            Some(if endpoint.is_https() { "https" } else { "http" })
        );
        assert!(
            text.is_ascii() && !text.contains(|c: char| c.is_control() || c == ' '),
            "{text:?}"
        );
        // Hosts here are not public.
        assert!(
            !endpoint.is_loopback()
                || endpoint.is_forbidden()
                || text.to_ascii_lowercase().contains("localhost")
        );
    }
    if let Ok(name) = header_name(&text) {
        assert_eq!(name.as_str(), text.to_ascii_lowercase());
    }
    if let Ok(value) = header_value(&text) {
        assert_eq!(value.as_bytes(), text.as_bytes());
    }
    if let Ok(pointer) = Pointer::try_from(text.clone().into_owned()) {
        let stored = serde_json::to_value(&pointer).expect("JSON");
        assert_eq!(stored, Value::String(text.into_owned()));
    }
}
