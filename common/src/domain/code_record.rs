use sha2::{Digest, Sha256};

use super::{EntrantId, Scope, SubmissionId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeKey {
    Minted(u64),
    Imported {
        /// [`CodeBook::digest`](super::codebook::CodeBook::digest).
        digest: String,
        /// Not part of the record's key.
        batch: String,
    },
    Partner(String),
    /// Digest of sentinel and entrant: sentinels work for every phone at once.
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

    /// The batch may differ.
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

    pub fn in_scope(&self, scope: &Scope) -> String {
        match self {
            Self::Minted(serial) => scope.key(format_args!("minted#{serial}")),
            Self::Imported { digest, .. } => scope.key(format_args!("imported#{digest}")),
            Self::Partner(digest) => scope.key(format_args!("partner#{digest}")),
            Self::Sentinel(digest) => scope.key(format_args!("sentinel#{digest}")),
        }
    }

    /// The batch of an imported code stays empty: only its record has it.
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeRecord {
    pub hold: Option<CodeHold>,
    pub batch: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeHold {
    pub entrant: EntrantId,
    pub submission_id: SubmissionId,
    pub redeemed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeLookup {
    #[default]
    NoRecord,
    RecordMissing,
    Found(CodeRecord),
}

impl CodeLookup {
    pub fn new(key: &CodeKey, record: Option<CodeRecord>) -> Self {
        match (key, record) {
            (_, Some(record)) => Self::Found(record),
            (CodeKey::Imported { .. }, None) => Self::RecordMissing,
            (CodeKey::Minted(_) | CodeKey::Partner(_) | CodeKey::Sentinel(_), None) => {
                Self::NoRecord
            }
        }
    }

    pub fn imported_batch(&self) -> Option<&str> {
        match self {
            Self::Found(record) => record.batch.as_deref(),
            Self::NoRecord | Self::RecordMissing => None,
        }
    }
}
