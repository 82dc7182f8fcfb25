//! The rules, without I/O, clock or randomness: time and ids are arguments.

pub mod address;
pub mod admission;
pub mod audit;
pub mod campaign;
pub mod cipher;
pub mod code;
pub mod code_list;
pub mod code_record;
pub mod codebook;
pub mod contact_log;
pub mod digest;
pub mod draw;
pub mod entrant;
pub mod ids;
pub mod instant;
pub mod key_encryption;
pub mod leased_quota;
pub mod message;
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
pub mod statistics;
pub mod submission;
pub mod timestamp;
pub mod unicode;
pub mod webhook;
pub mod win;

pub use self::admission::CodeStatus;
pub use self::campaign::{Campaign, CodePolicy, PersonalData, PhoneLimits};
pub use self::code::Code;
pub use self::code_record::{CodeHold, CodeKey, CodeLookup};
pub use self::entrant::{Entrant, PhoneChecks, WrongCodes};
pub use self::ids::{EntrantId, IdempotencyKey, ReceiptId, Reference, SubmissionId};
pub use self::message::{Language, MessageKey};
pub use self::partner::PartnerRules;
pub use self::partner::outcome::{FaultOwner, PartnerOutcome, Unanswered};
pub use self::partner::reply::{InvalidReply, PartnerMessage, PartnerVerdict};
pub use self::phone::Phone;
pub use self::rate_limit_status::RateLimitStatus;
pub use self::receipt::checks::PhotoFault;
pub use self::receipt::judgement::ReceiptSummary;
pub use self::receipt::payload::{ReceiptKey, ReceiptTime, VerificationCode};
pub use self::receipt::photo::{PhotoType, StoredPhoto};
pub use self::receipt::record::{FiscalItem, FiscalRecord, Quantity, VoidMark};
pub use self::receipt::{Receipt, ReceiptState, Source};
pub use self::retry::{PartnerProgress, RetryContext, RetrySpeedup};
pub use self::scope::{CampaignSlug, Environment, Scope};
pub use self::settling::{Anomaly, Assignee, Dependency, PendingSettlement, Progress};
pub use self::sliding_window::SlidingWindow;
pub use self::submission::transition::{AlreadySettled, Findings, Transition};
pub use self::submission::{DisplayStatus, OperatorDecision, State, Submission, SubmissionStatus};
pub use self::timestamp::Timestamp;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {0}")]
pub struct Invalid(pub &'static str);
