//! Receipts: consumers' proofs of purchase, and their verdicts.

mod basket;
pub mod checks;
pub mod judgement;
pub mod payload;
pub mod photo;
pub mod record;
pub mod rules;
pub mod schedule;
pub mod sentinel;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::payload::{ReceiptKey, ReceiptTime, VerificationCode};
use self::photo::{PhotoType, StoredPhoto};
use self::sentinel::ReceiptSentinel;
use super::ids::{ReceiptId, SubmissionId};
use super::scope::Scope;
use super::timestamp::Timestamp;

#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub receipt_id: ReceiptId,
    pub scope: Scope,
    pub source: Source,
    pub arrived: Option<StoredPhoto>,
    pub attached_to: Option<SubmissionId>,
    pub created_at: Timestamp,
}

/// Code and time are the only secret of a look-up, so Debug hides them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    Photo {
        content_type: PhotoType,
        size_bytes: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        qr_payload: Option<String>,
    },
    Typed {
        code: String,
        time: ReceiptTime,
    },
}

/// Current state of a receipt. New values may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptState {
    /// The photo has not arrived in storage yet.
    AwaitingUpload,
    /// The photo is there, or the receipt was typed. Ready for a submission.
    Uploaded,
    /// A submission uses the receipt. No other submission can.
    Attached,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupSource {
    Sentinel(ReceiptSentinel),
    Known(ReceiptKey),
    Photo,
    Malformed,
}

impl Receipt {
    pub fn is_typed(&self) -> bool {
        matches!(self.source, Source::Typed { .. })
    }

    pub fn state(&self) -> ReceiptState {
        match (&self.source, &self.arrived, self.attached_to) {
            (_, _, Some(_)) => ReceiptState::Attached,
            (Source::Photo { .. }, None, None) => ReceiptState::AwaitingUpload,
            (Source::Photo { .. }, Some(_), None) | (Source::Typed { .. }, _, None) => {
                ReceiptState::Uploaded
            }
        }
    }
}

impl Source {
    pub fn sentinel(&self) -> Option<ReceiptSentinel> {
        match self {
            Self::Photo { qr_payload, .. } => {
                qr_payload.as_deref().and_then(ReceiptSentinel::parse)
            }
            Self::Typed { code, .. } => ReceiptSentinel::parse(code),
        }
    }

    /// The photo is read if its QR code has no time.
    pub fn lookup_source(&self) -> LookupSource {
        if let Some(sentinel) = self.sentinel() {
            return LookupSource::Sentinel(sentinel);
        }
        match self {
            Self::Photo { qr_payload, .. } => {
                match qr_payload.as_deref().and_then(ReceiptKey::from_payload) {
                    Some(claim) if claim.time.is_some() => LookupSource::Known(claim),
                    Some(_) | None => LookupSource::Photo,
                }
            }
            Self::Typed { code, time } => match VerificationCode::parse_typed(code) {
                Some(code) => LookupSource::Known(ReceiptKey {
                    code,
                    time: Some(*time),
                }),
                None => LookupSource::Malformed,
            },
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Photo {
                content_type,
                size_bytes,
                ..
            } => f
                .debug_struct("Photo")
                .field("content_type", content_type)
                .field("size_bytes", size_bytes)
                .finish_non_exhaustive(),
            Self::Typed { .. } => f.write_str("Typed(***)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Environment;

    fn photo(qr_payload: Option<&str>) -> Source {
        let qr_payload = qr_payload.map(str::to_owned);
        Source::Photo {
            content_type: PhotoType::Jpeg,
            size_bytes: 7,
            qr_payload,
        }
    }

    fn typed(code: &str) -> Source {
        Source::Typed {
            code: code.to_owned(),
            time: ReceiptTime::from_typed("9:05").expect("a time"),
        }
    }

    #[test]
    fn a_qr_code_without_a_time_sends_us_to_the_photo() {
        assert!(matches!(
            photo(Some("https://verify.tra.go.tz/AB12CD3456_101530")).lookup_source(),
            LookupSource::Known(_)
        ));
        for payload in [
            Some("https://verify.tra.go.tz/AB12CD3456"),
            Some("https://evil.example/x"),
            None,
        ] {
            assert_eq!(
                photo(payload).lookup_source(),
                LookupSource::Photo,
                "{payload:?}"
            );
        }
    }

    #[test]
    fn what_no_receipt_can_say_is_impossible_and_not_asked() {
        assert!(matches!(
            typed("ab12 cd3456").lookup_source(),
            LookupSource::Known(_)
        ));
        assert_eq!(typed("********").lookup_source(), LookupSource::Malformed);
    }

    #[test]
    fn a_receipt_is_typed_or_a_photo() {
        let receipt = |source| Receipt {
            receipt_id: ReceiptId::from_random([1; 16]),
            scope: Scope {
                campaign: "demo".parse().expect("a slug"),
                environment: Environment::Live,
            },
            source,
            arrived: None,
            attached_to: None,
            created_at: Timestamp::from_millis(0),
        };
        assert!(receipt(typed("AB12CD3456")).is_typed());
        assert!(!receipt(photo(None)).is_typed());
    }

    #[test]
    fn a_receipt_is_a_sentinel_by_its_code_or_its_payload() {
        assert!(matches!(
            typed("test0verified").lookup_source(),
            LookupSource::Sentinel(_)
        ));
        assert!(matches!(
            photo(Some("TEST0REVIEW")).lookup_source(),
            LookupSource::Sentinel(_)
        ));
    }

    #[test]
    fn neither_code_nor_time_prints() {
        let shown = format!(
            "{:?} {:?}",
            typed("AB12CD3456"),
            photo(Some("AB12CD3456_101530"))
        );
        assert!(!shown.contains("AB12") && !shown.contains("09"), "{shown}");
        assert!(shown.contains("Typed") && shown.contains("Jpeg"), "{shown}");
    }
}
