//! The state of a code: who holds or has redeemed it.

use sha2::{Digest, Sha256};

use super::ids::EntrantId;
use super::ids::SubmissionId;
use super::scope::Scope;

/// The key of a code's record in its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeKey {
    /// A minted code, by its serial number.
    Minted(u64),
    /// A code printed elsewhere.
    Imported {
        /// The code's digest by [`CodeBook::digest`](super::codebook::CodeBook::digest).
        digest: String,
        /// The expected batch. Not part of the record's key.
        batch: String,
    },
    /// Digest of a code that a partner verifies.
    Partner(String),
    /// Digest of a sentinel and an entrant: sentinels work for every phone, so phones do not compete.
    Sentinel(String),
}

impl CodeKey {
    pub fn sentinel(identity: &str, entrant: &EntrantId) -> Self {
        let digest = Sha256::new()
            .chain_update(entrant.as_str())
            .chain_update(identity)
            .finalize();
        Self::Sentinel(hex::encode(digest))
    }

    /// True if both keys name the same record, whatever batch they expect.
    pub fn is_same_record(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Imported { digest, .. }, Self::Imported { digest: other, .. }) => {
                digest == other
            }
            (Self::Minted(_) | Self::Imported { .. } | Self::Partner(_) | Self::Sentinel(_), _) => {
                self == other
            }
        }
    }

    /// The key as stored in the table.
    pub fn in_scope(&self, scope: &Scope) -> String {
        match self {
            Self::Minted(serial) => scope.key(format_args!("minted#{serial}")),
            Self::Imported { digest, .. } => scope.key(format_args!("imported#{digest}")),
            Self::Partner(digest) => scope.key(format_args!("partner#{digest}")),
            Self::Sentinel(digest) => scope.key(format_args!("sentinel#{digest}")),
        }
    }

    /// Parses a stored key. An imported code's batch stays empty: only its record has it.
    pub fn parse(scope: &Scope, key: &str) -> Option<Self> {
        let (kind, rest) = key.strip_prefix(&scope.key(""))?.split_once('#')?;
        match kind {
            "minted" => rest.parse().ok().map(Self::Minted),
            "imported" => Some(Self::Imported {
                digest: rest.to_owned(),
                batch: String::new(),
            }),
            "partner" => Some(Self::Partner(rest.to_owned())),
            "sentinel" => Some(Self::Sentinel(rest.to_owned())),
            _ => None,
        }
    }
}

/// The record of a code that was used or imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRecord {
    /// The submission that has the code.
    pub hold: Option<CodeHold>,
    /// The batch of an imported code.
    pub batch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeHold {
    pub entrant: EntrantId,
    /// The submission that holds or has redeemed the code.
    pub submission_id: SubmissionId,
    /// True once the submission is accepted; false while it only holds the code.
    pub redeemed: bool,
}

/// The result of looking up a code's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeLookup {
    /// The code needs no record, and none is known to block it.
    #[default]
    NoRecord,
    /// The code needs a record and has none.
    RecordMissing,
    Found(CodeRecord),
}

impl CodeLookup {
    /// The result for a record, or for its absence.
    pub fn new(key: &CodeKey, record: Option<CodeRecord>) -> Self {
        match (key, record) {
            (_, Some(record)) => Self::Found(record),
            (CodeKey::Imported { .. }, None) => Self::RecordMissing,
            (CodeKey::Minted(_) | CodeKey::Partner(_) | CodeKey::Sentinel(_), None) => {
                Self::NoRecord
            }
        }
    }

    /// The batch in an imported code's record.
    pub fn imported_batch(&self) -> Option<&str> {
        match self {
            Self::Found(record) => record.batch.as_deref(),
            Self::NoRecord | Self::RecordMissing => None,
        }
    }
}
