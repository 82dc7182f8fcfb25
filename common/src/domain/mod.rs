//! The rules: no I/O, no clock, no randomness. Time and ids come in as arguments.

/// Stores a type as the text that it is parsed from.
macro_rules! stored_as_text {
    ($type:ident, |$value:ident| $text:expr) => {
        impl TryFrom<String> for $type {
            type Error = <Self as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from($value: $type) -> Self {
                $text
            }
        }
    };
}

/// Keeps a secret or personal data out of logs.
macro_rules! masked_debug {
    ($type:ident) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("***")
            }
        }
    };
}

pub mod admission;
pub mod audit;
pub mod campaign;
pub mod cipher;
pub mod code;
pub mod code_list;
pub mod code_record;
pub mod codebook;
pub mod draw;
pub mod entrant;
pub mod ids;
pub mod key_encryption;
pub mod leased_quota;
pub mod message;
pub mod numbers;
pub mod partner;
pub mod phone;
pub mod phone_protection;
pub mod rate_limit_status;
pub mod receipt;
pub mod resolved_code;
pub mod retry;
pub mod scope;
pub mod settling;
pub mod sliding_window;
pub mod submission;
pub mod timestamp;
pub mod unicode;
