//! A partner's reply, parsed strictly: a guess would redeem or reject permanently. Debug hides
//! texts.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pointer::{Pointer, ReplyPointers};
use crate::domain::MessageKey;

pub const MAX_ENTRIES: u32 = 10_000;
pub const MAX_PRIZE_CHARS: usize = 120;
/// Longer ones are cut.
pub const MAX_MESSAGE_CHARS: usize = 500;
pub const MAX_CODE_CHARS: usize = 64;

#[derive(Clone, PartialEq, Eq)]
pub struct PartnerVerdict {
    /// See [`super::PartnerRules::can_mean`].
    pub outcome: MessageKey,
    pub entries: Option<u32>,
    pub prize: Option<String>,
    pub upstream: PartnerMessage,
}

impl fmt::Debug for PartnerVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartnerVerdict")
            .field("outcome", &self.outcome)
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}

/// The partner's own reply. It can change without notice.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Upstream")]
pub struct PartnerMessage {
    /// Partner's code.
    #[schemars(with = "Option<UpstreamCode>")]
    pub code: UpstreamCode,
    /// Partner's message.
    #[schemars(length(max = MAX_MESSAGE_CHARS))]
    pub message: Option<String>,
}

masked_debug!(PartnerMessage);

/// A partner's code, as it was sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub enum UpstreamCode {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(#[schemars(length(max = MAX_CODE_CHARS))] String),
}

masked_debug!(UpstreamCode);

/// Holds the partner's words once its code was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidReply {
    NotJson,
    /// Missing, or neither a text nor a whole number.
    Code,
    UnknownCode(PartnerMessage),
    Entries(PartnerMessage),
    Prize(PartnerMessage),
}

impl InvalidReply {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::Code => "code_unreadable",
            Self::UnknownCode(_) => "code_unknown",
            Self::Entries(_) => "entries_unreadable",
            Self::Prize(_) => "prize_unreadable",
        }
    }

    pub fn upstream(&self) -> Option<&PartnerMessage> {
        match self {
            Self::NotJson | Self::Code => None,
            Self::UnknownCode(upstream) | Self::Entries(upstream) | Self::Prize(upstream) => {
                Some(upstream)
            }
        }
    }
}

pub(super) fn read(
    pointers: &ReplyPointers,
    outcomes: &BTreeMap<String, MessageKey>,
    body: &[u8],
) -> Result<PartnerVerdict, InvalidReply> {
    let document: Value = serde_json::from_slice(body).map_err(|_| InvalidReply::NotJson)?;
    let (name, code) = pointers
        .code
        .find(&document)
        .and_then(code)
        .ok_or(InvalidReply::Code)?;
    let find =
        |pointer: &Option<Pointer>| pointer.as_ref().and_then(|pointer| pointer.find(&document));
    // The message decides nothing, so a wrong type is ignored.
    let message = find(&pointers.message).and_then(Value::as_str);
    let upstream = PartnerMessage {
        code,
        message: message.map(|text| cut(text, MAX_MESSAGE_CHARS)),
    };
    let Some(outcome) = outcomes.get(&name).copied() else {
        return Err(InvalidReply::UnknownCode(upstream));
    };
    let Ok(entries) = find(&pointers.entries).map(entries).transpose() else {
        return Err(InvalidReply::Entries(upstream));
    };
    let Ok(prize) = find(&pointers.prize).map(prize).transpose() else {
        return Err(InvalidReply::Prize(upstream));
    };
    Ok(PartnerVerdict {
        outcome,
        entries,
        prize: prize.flatten(),
        upstream,
    })
}

fn code(value: &Value) -> Option<(String, UpstreamCode)> {
    match value {
        Value::String(text) => Some((text.clone(), UpstreamCode::Text(cut(text, MAX_CODE_CHARS)))),
        Value::Number(number) => {
            let number = number.as_i64()?;
            Some((number.to_string(), UpstreamCode::Number(number)))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

struct NotAgreed;

fn entries(value: &Value) -> Result<u32, NotAgreed> {
    let entries = value.as_u64().and_then(|number| u32::try_from(number).ok());
    entries
        .filter(|entries| *entries <= MAX_ENTRIES)
        .ok_or(NotAgreed)
}

fn prize(value: &Value) -> Result<Option<String>, NotAgreed> {
    let prize: String = without_controls(value.as_str().ok_or(NotAgreed)?).collect();
    let prize = prize.trim();
    // A truncated prize would be another prize.
    if prize.chars().count() > MAX_PRIZE_CHARS {
        return Err(NotAgreed);
    }
    Ok((!prize.is_empty()).then(|| prize.to_owned()))
}

fn cut(text: &str, most_chars: usize) -> String {
    without_controls(text).take(most_chars).collect()
}

fn without_controls(text: &str) -> impl Iterator<Item = char> {
    text.chars().map(|c| if c.is_control() { ' ' } else { c })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn pointer(text: &str) -> Pointer {
        text.to_owned().try_into().expect(text)
    }

    fn read_bytes(body: &[u8]) -> Result<PartnerVerdict, InvalidReply> {
        let pointers = ReplyPointers {
            code: pointer("/status"),
            message: Some(pointer("/text")),
            entries: Some(pointer("/more/entries")),
            prize: Some(pointer("/prize")),
        };
        let outcomes = [
            ("0", MessageKey::Entered),
            ("1", MessageKey::InstantWin),
            ("used", MessageKey::AlreadyUsed),
        ];
        read(
            &pointers,
            &outcomes.map(|(code, key)| (code.to_owned(), key)).into(),
            body,
        )
    }

    fn read_json(body: &Value) -> Result<PartnerVerdict, InvalidReply> {
        read_bytes(body.to_string().as_bytes())
    }

    fn refused(body: &Value) -> &'static str {
        read_json(body).expect_err("it cannot be read").as_str()
    }

    #[test]
    fn what_a_partner_says_does_not_print() {
        let reply =
            json!({ "status": "used", "text": "hush", "more": { "entries": 42 }, "prize": "hush" });
        let verdict = read_json(&reply).expect("a verdict");
        let printed = format!("{verdict:?}");
        assert!(
            printed.contains("AlreadyUsed") && printed.contains("42"),
            "{printed}"
        );
        assert!(!printed.contains("hush"), "{printed}");
        assert_eq!(
            format!("{:?} {:?}", verdict.upstream, verdict.upstream.code),
            "*** ***"
        );
    }

    #[test]
    fn a_whole_reply_is_read() {
        let verdict = read_json(&json!({
            "status": 1, "text": "Hongera", "more": { "entries": 3 }, "prize": " A mug ", "else": [1],
        }))
        .expect("a verdict");
        let upstream = PartnerMessage {
            code: UpstreamCode::Number(1),
            message: Some("Hongera".to_owned()),
        };
        assert_eq!(
            serde_json::to_value(&upstream).expect("JSON"),
            json!({ "code": 1, "message": "Hongera" })
        );
        let prize = Some("A mug".to_owned());
        let expected = PartnerVerdict {
            outcome: MessageKey::InstantWin,
            entries: Some(3),
            prize,
            upstream,
        };
        assert_eq!(verdict, expected);
    }

    #[test]
    fn only_the_code_has_to_be_there() {
        for (code, outcome) in [
            (json!(0), MessageKey::Entered),
            (json!("0"), MessageKey::Entered),
            (json!("used"), MessageKey::AlreadyUsed),
        ] {
            for body in [
                json!({ "status": code }),
                json!({ "status": code, "text": null, "prize": "", "more": 7 }),
            ] {
                let verdict = read_json(&body).expect("a verdict");
                assert_eq!(
                    (verdict.outcome, verdict.entries, verdict.prize),
                    (outcome, None, None)
                );
                assert_eq!(
                    serde_json::to_value(&verdict.upstream).expect("JSON"),
                    json!({ "code": code, "message": null })
                );
            }
        }
    }

    #[test]
    fn a_reply_is_one_json_document() {
        for body in [
            "",
            "<html>",
            "{\"status\":0}{\"status\":0}",
            "{\"status\":0} x",
            "{\"status\":0",
            "\u{feff}{}",
        ] {
            assert_eq!(
                read_bytes(body.as_bytes()),
                Err(InvalidReply::NotJson),
                "{body}"
            );
        }
        assert_eq!(
            read_bytes(b"{\"status\":\"\xff\"}"),
            Err(InvalidReply::NotJson)
        );
        assert_eq!(read_bytes(&vec![b'['; 60_000]), Err(InvalidReply::NotJson));
    }

    #[test]
    fn a_code_is_text_or_a_whole_number() {
        for code in [
            json!(null),
            json!(0.0),
            json!(true),
            json!({}),
            json!([0]),
            json!(u64::MAX),
            json!(1e300),
        ] {
            assert_eq!(
                refused(&json!({ "status": code })),
                "code_unreadable",
                "{code}"
            );
        }
        for body in [json!({}), json!(0), json!([]), json!(null)] {
            assert_eq!(refused(&body), "code_unreadable", "{body}");
        }
    }

    #[test]
    fn a_code_that_the_table_does_not_know_is_no_answer() {
        for code in [
            json!(-1),
            json!(99),
            json!(""),
            json!("00"),
            json!(" 0"),
            json!("USED"),
        ] {
            let why = read_json(&json!({ "status": code, "text": "?" })).expect_err("unknown");
            assert_eq!(why.as_str(), "code_unknown");
            let upstream = why
                .upstream()
                .map(|upstream| serde_json::to_value(upstream).expect("JSON"));
            assert_eq!(upstream, Some(json!({ "code": code, "message": "?" })));
        }
    }

    #[test]
    fn entries_are_a_whole_number_and_a_prize_is_a_short_text() {
        for entries in [
            json!("2"),
            json!(-1),
            json!(1.0),
            json!(10_001),
            json!([]),
            json!(false),
        ] {
            assert_eq!(
                refused(&json!({ "status": 0, "more": { "entries": entries } })),
                "entries_unreadable"
            );
        }
        let most =
            read_json(&json!({ "status": 0, "more": { "entries": 10_000 } })).expect("a verdict");
        assert_eq!(most.entries, Some(10_000));
        for prize in [json!(5), json!({}), json!("x".repeat(121))] {
            assert_eq!(
                refused(&json!({ "status": 1, "prize": prize })),
                "prize_unreadable"
            );
        }
        assert!(read_json(&json!({ "status": 1, "prize": "é".repeat(120) })).is_ok());
    }

    #[test]
    fn long_words_are_cut_and_never_print() {
        let verdict = read_json(&json!({ "status": 0, "text": "é".repeat(501), "prize": "hush" }))
            .expect("a verdict");
        let message = verdict.upstream.message.as_deref().unwrap_or_default();
        assert_eq!(message.chars().count(), 500);
        assert!(!format!("{verdict:?} {:?}", verdict.upstream).contains(['é', 'h']));
        let code = read_json(&json!({ "status": "x".repeat(900) })).expect_err("unknown");
        assert!(
            code.upstream()
                .is_some_and(|upstream| upstream.code == UpstreamCode::Text("x".repeat(64)))
        );
    }

    #[test]
    fn control_characters_become_spaces_wherever_words_are_kept() {
        let verdict = read_json(
            &json!({ "status": 1, "text": "Hongera\u{0}\r\nsana\u{85}", "prize": "\u{7}A\tmug\n" }),
        );
        let verdict = verdict.expect("a verdict");
        assert_eq!(verdict.upstream.message.as_deref(), Some("Hongera   sana "));
        assert_eq!(verdict.prize.as_deref(), Some("A mug"));
        let unknown = read_json(&json!({ "status": "a\u{1b}b" })).expect_err("unknown");
        let code = unknown.upstream().map(|upstream| upstream.code.clone());
        assert_eq!(code, Some(UpstreamCode::Text("a b".to_owned())));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_bytes(&body);
        }

        #[test]
        fn anything_like_a_reply_is_read_or_refused(
            status in "([0-9]{1,25}|-?[0-9]\\.[0-9]|\"[a-z0-9]{0,3}\"|null|\\{\\})",
            rest in "([a-z\":,{}\\[\\] 0-9]{0,40})",
        ) {
            let _ = read_bytes(format!("{{\"status\":{status},{rest}}}").as_bytes());
            let known = read_bytes(format!("{{\"status\":{status}}}").as_bytes());
            let is_known = ["0", "1", "\"0\"", "\"1\"", "\"used\""].contains(&status.as_str());
            prop_assert_eq!(known.is_ok(), is_known);
        }
    }
}
