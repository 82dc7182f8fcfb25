//! The rules: no I/O, no clock, no randomness. Time and ids come in as arguments.

pub mod admission;
pub mod audit;
pub mod campaign;
pub mod cipher;
pub mod code;
pub mod code_list;
pub mod codebook;
pub mod draw;
pub mod entrant;
pub mod entrant_id;
pub mod ids;
pub mod key_encryption;
pub mod leased_quota;
pub mod message;
pub mod numbers;
pub mod partner;
pub mod phone;
pub mod rate_limit_status;
pub mod receipt;
pub mod retry;
pub mod scope;
pub mod settling;
pub mod sliding_window;
pub mod submission;
pub mod timestamp;
pub mod unicode;
