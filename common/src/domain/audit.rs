//! Changes and disclosures by operators. Each row has the hash of the row before it, so that no
//! change, removal or move goes unnoticed.
//!
//! A row's hash is the SHA-256, in lower-case hexadecimal, of its canonical form: a JSON array in UTF-8 without white
//! space, in which only `"`, `\` and control characters are escaped:
//!
//! `[1,sequence,"time","who","by","action","campaign","environment","subject","why","details","hash of the row before"]`
//!
//! 1 is the version of this form. The time is RFC 3339 in UTC with milliseconds, the details are
//! JSON text as stored, absent values are `null`. The first row follows 64 zeros. In Python:
//! `sha256(json.dumps(array, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()`.

mod check;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Timestamp;

pub use self::check::{AuditBreak, AuditCheck, AuditFinding, VerifiedAudit};

const FORM: u8 = 1;

/// No field holds a phone, a code, a key or a secret.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// ARN of the AWS identity.
    pub who: String,
    pub by: Option<String>,
    pub action: String,
    /// `None` if the action concerns no single one.
    pub campaign: Option<String>,
    pub environment: Option<String>,
    pub subject: Option<String>,
    pub why: Option<String>,
    /// A JSON object, kept as text because the hash covers every character.
    pub details: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Counted from 1.
    pub sequence: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub entry: AuditEntry,
    pub previous: String,
    /// Covers `previous` and everything else in the row.
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    pub last_day: String,
    pub last_sequence: u64,
    pub last_hash: String,
}

impl AuditRow {
    pub fn after(head: Option<&AuditHead>, entry: AuditEntry, now: Timestamp) -> Self {
        let sequence = head.map_or(0, |head| head.last_sequence).saturating_add(1);
        Self::numbered(sequence, head, entry, now)
    }

    /// Items written without `ops` have the numbers between.
    pub fn numbered(
        sequence: u64,
        head: Option<&AuditHead>,
        entry: AuditEntry,
        now: Timestamp,
    ) -> Self {
        let previous = head.map_or_else(before_the_first, |head| head.last_hash.clone());
        let mut row = Self {
            sequence,
            at: now,
            entry,
            previous,
            hash: String::new(),
        };
        row.hash = row.computed_hash();
        row
    }

    /// UTC.
    pub fn day(&self) -> String {
        self.at.day_in(chrono_tz::UTC)
    }

    pub fn head(&self) -> AuditHead {
        AuditHead {
            last_day: self.day(),
            last_sequence: self.sequence,
            last_hash: self.hash.clone(),
        }
    }

    fn computed_hash(&self) -> String {
        let AuditEntry {
            who,
            by,
            action,
            campaign,
            environment,
            subject,
            why,
            details,
        } = &self.entry;
        let (sequence, at, previous) = (self.sequence, self.at.to_string(), &self.previous);
        let form = (
            FORM,
            sequence,
            at,
            who,
            by,
            action,
            campaign,
            environment,
            subject,
            why,
            details,
            previous,
        );
        hex::encode(Sha256::digest(
            serde_json::to_string(&form).unwrap_or_default(),
        ))
    }
}

fn before_the_first() -> String {
    "0".repeat(64)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAuditRow {
    pub day: String,
    /// 0 if the key has no valid number.
    pub sequence: u64,
    /// `None` if it cannot be read.
    pub row: Option<AuditRow>,
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const AT: Timestamp = Timestamp::from_millis(1_772_323_200_000);

    pub(super) fn entry(action: &str) -> AuditEntry {
        AuditEntry {
            who: "arn:aws:iam::000000000000:user/asha".to_owned(),
            by: None,
            action: action.to_owned(),
            campaign: Some("chai-bora-2026".to_owned()),
            environment: None,
            subject: Some("0a1b2c3d4e5f".to_owned()),
            why: Some("lost \"laptop\", é\u{1}\n".to_owned()),
            details: r#"{"per_minute":30}"#.to_owned(),
        }
    }

    /// Computed by the line of Python above. A change breaks every log.
    #[test]
    fn a_hash_never_changes() {
        let first = AuditRow::after(None, entry("key.revoke"), AT);
        assert_eq!(
            first.hash,
            "aa1dbaac6e97654b59a56c0bec83f6bbee5e4e008d29452a5a43aed88ac13b23"
        );
        assert_eq!(first.previous, "0".repeat(64));
    }
}
