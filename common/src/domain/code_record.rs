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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CampaignSlug;

    fn imported(digest: &str, batch: &str) -> CodeKey {
        CodeKey::Imported {
            digest: digest.to_owned(),
            batch: batch.to_owned(),
        }
    }

    #[test]
    fn key_of_the_table_gives_the_codes_key_back() {
        let slug: CampaignSlug = "demo".parse().expect("a slug");
        let [test, live] = slug.scopes();
        for (key, stored) in [
            (CodeKey::Minted(7), "demo#test#minted#7"),
            (imported("d1", ""), "demo#test#imported#d1"),
            (CodeKey::Partner("d2".to_owned()), "demo#test#partner#d2"),
            (CodeKey::Sentinel("d3".to_owned()), "demo#test#sentinel#d3"),
        ] {
            assert_eq!(key.in_scope(&test), stored);
            assert_eq!(CodeKey::parse(&live, stored), None);
            assert_eq!(CodeKey::parse(&test, stored), Some(key));
        }
        for other in ["demo#test#other#7", "demo#test#minted#x", "demo#test#7"] {
            assert_eq!(CodeKey::parse(&test, other), None, "{other}");
        }
    }

    #[test]
    fn same_record_has_the_same_key_in_any_batch() {
        for (one, other, expected) in [
            (imported("d1", "a"), imported("d1", "b"), true),
            (imported("d1", "a"), imported("d2", "a"), false),
            (CodeKey::Minted(1), CodeKey::Minted(1), true),
            (CodeKey::Minted(1), CodeKey::Minted(2), false),
        ] {
            assert_eq!(one.is_same_record(&other), expected, "{one:?}, {other:?}");
        }
    }

    #[test]
    fn only_a_found_record_has_an_imported_batch() {
        let record = CodeRecord {
            hold: None,
            batch: Some("a".to_owned()),
        };
        for (record, batch) in [(Some(record), Some("a")), (None, None)] {
            let lookup = CodeLookup::new(&imported("d1", ""), record);
            assert_eq!(lookup.imported_batch(), batch);
        }
    }
}
