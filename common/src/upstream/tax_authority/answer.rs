//! The answer to a look-up.

use std::fmt;

use serde::Serialize;

use crate::domain::receipt::record::FiscalRecord;
use crate::upstream::http_client::TransportError;

/// The answer to a look-up. Debug prints neither the receipt's code nor its time.
#[derive(Debug, PartialEq, Eq)]
pub enum LookupAnswer {
    /// The requested receipt.
    Found(Box<FiscalRecord>),
    /// The receipt exists, with another time.
    WrongTime,
    /// The authority does not have the receipt yet: shops upload late.
    NotFoundYet,
    /// The authority throttled us.
    Throttled,
    /// The portal did not accept our Referer as a receipt's page: our own fault.
    RefererRefused,
    /// The look-up failed this time.
    Unavailable(PortalError),
    /// An answer that we cannot read; an operator has to look at it.
    Unexpected(Box<UnexpectedPage>),
}

impl LookupAnswer {
    pub fn kind(&self) -> AnswerKind {
        match self {
            Self::Found(_) => AnswerKind::Found,
            Self::WrongTime => AnswerKind::WrongTime,
            Self::NotFoundYet => AnswerKind::NotFoundYet,
            Self::Throttled => AnswerKind::Throttled,
            Self::RefererRefused => AnswerKind::RefererRefused,
            Self::Unavailable(_) => AnswerKind::Unavailable,
            Self::Unexpected(_) => AnswerKind::UnexpectedPage,
        }
    }

    /// The stable name of its kind, for metrics.
    pub fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerKind {
    /// See [`LookupAnswer::Found`].
    Found,
    /// See [`LookupAnswer::WrongTime`].
    WrongTime,
    /// See [`LookupAnswer::NotFoundYet`].
    NotFoundYet,
    /// See [`LookupAnswer::Throttled`].
    Throttled,
    /// See [`LookupAnswer::RefererRefused`].
    RefererRefused,
    /// See [`LookupAnswer::Unavailable`].
    Unavailable,
    /// See [`LookupAnswer::Unexpected`].
    UnexpectedPage,
}

impl AnswerKind {
    /// The stable name, for metrics and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::WrongTime => "wrong_time",
            Self::NotFoundYet => "not_found_yet",
            Self::Throttled => "throttled",
            Self::RefererRefused => "referer_refused",
            Self::Unavailable => "trouble",
            Self::UnexpectedPage => "unexpected_page",
        }
    }
}

/// Why a look-up failed this time. Prints neither the receipt's code nor its time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortalError {
    /// There was no complete reply.
    #[error("no complete reply of the portal")]
    Transport(#[from] TransportError),
    /// The look-up as a whole took too long.
    #[error("the look-up took too long")]
    Deadline,
    /// More redirects than a receipt's page takes.
    #[error("the portal redirects again and again")]
    TooManyRedirects,
    /// A redirect without a usable location.
    #[error("the portal redirects nowhere")]
    BadRedirect,
    /// An HTTP status that none of its pages have.
    #[error("the portal answered with status {0}")]
    Status(u16),
    /// An unknown page at an unknown path.
    #[error("the portal sent an unknown page")]
    UnknownPage,
    /// The page of another receipt: the portal mixed up look-ups.
    #[error("the portal sent another receipt")]
    OtherReceipt,
}

impl PortalError {
    /// The stable name, for metrics and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Transport(TransportError::Timeout) => "read_timeout",
            Self::Transport(error) => error.as_str(),
            Self::Deadline => "deadline",
            Self::TooManyRedirects => "too_many_redirects",
            Self::BadRedirect => "bad_redirect",
            Self::Status(_) => "status",
            Self::UnknownPage => "unknown_page",
            Self::OtherReceipt => "other_receipt",
        }
    }
}

/// An answer that cannot be read, for an operator to look at.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct UnexpectedPage {
    /// The path of the page, without query; a receipt's code and time in it are masked.
    pub final_path: String,
    pub status: u16,
    /// The visible text, at most [`UnexpectedPage::MAX_EXCERPT_CHARS`], without the customer's personal data.
    pub excerpt: String,
    /// The unexpected part, in words.
    pub why: &'static str,
}

impl UnexpectedPage {
    /// The longest excerpt, in characters.
    pub const MAX_EXCERPT_CHARS: usize = 2_000;
}

impl fmt::Debug for UnexpectedPage {
    /// Leaves out the excerpt: it contains the receipt's code and time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnexpectedPage")
            .field("final_path", &self.final_path)
            .field("status", &self.status)
            .field("why", &self.why)
            .finish_non_exhaustive()
    }
}
