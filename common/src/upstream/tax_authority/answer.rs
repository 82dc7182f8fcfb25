//! What came of a look-up.

use std::fmt;

use serde::Serialize;

use crate::domain::receipt::record::FiscalRecord;
use crate::upstream::http_client::TransportError;

/// What came of a look-up. Nothing in it prints the receipt's code or time.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The receipt asked for.
    Found(Box<FiscalRecord>),
    /// There is such a receipt, with another time on it.
    WrongTime,
    /// Not with the authority yet: shops upload late.
    NotFoundYet,
    /// We asked too often.
    Throttled,
    /// The request was not taken for one from a receipt's page: our own fault.
    RefererRefused,
    /// It did not work this time.
    Trouble(PortalError),
    /// An answer that we do not know how to read: somebody has to look at it.
    Unexpected(Box<UnexpectedPage>),
}

impl Answer {
    /// Which kind of answer it is.
    pub fn kind(&self) -> AnswerKind {
        match self {
            Self::Found(_) => AnswerKind::Found,
            Self::WrongTime => AnswerKind::WrongTime,
            Self::NotFoundYet => AnswerKind::NotFoundYet,
            Self::Throttled => AnswerKind::Throttled,
            Self::RefererRefused => AnswerKind::RefererRefused,
            Self::Trouble(_) => AnswerKind::Trouble,
            Self::Unexpected(_) => AnswerKind::UnexpectedPage,
        }
    }

    /// The stable name of its kind, for metrics.
    pub fn as_str(&self) -> &'static str {
        self.kind().as_str()
    }
}

/// The kinds of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerKind {
    /// See [`Answer::Found`].
    Found,
    /// See [`Answer::WrongTime`].
    WrongTime,
    /// See [`Answer::NotFoundYet`].
    NotFoundYet,
    /// See [`Answer::Throttled`].
    Throttled,
    /// See [`Answer::RefererRefused`].
    RefererRefused,
    /// See [`Answer::Trouble`].
    Trouble,
    /// See [`Answer::Unexpected`].
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
            Self::Trouble => "trouble",
            Self::UnexpectedPage => "unexpected_page",
        }
    }
}

/// Why a look-up did not work this time. It prints neither the receipt's code nor its time.
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
    /// A redirect that leads nowhere.
    #[error("the portal redirects nowhere")]
    BadRedirect,
    /// An HTTP status that is no page's.
    #[error("the portal answered with status {0}")]
    Status(u16),
    /// A page that is none of the known ones, at a path that is none of the known ones.
    #[error("the portal sent an unknown page")]
    UnknownPage,
    /// The page of another receipt: look-ups were mixed up there.
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

/// An answer that could not be read, for an operator to look at.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct UnexpectedPage {
    /// Where it was, without query; a receipt's code and time in it are replaced.
    pub final_path: String,
    /// Its HTTP status.
    pub status: u16,
    /// What it said to a reader, at most [`UnexpectedPage::MAX_EXCERPT_CHARS`], without the
    /// shopper's own data.
    pub excerpt: String,
    /// What about it was not expected.
    pub why: &'static str,
}

impl UnexpectedPage {
    /// The longest excerpt, in characters.
    pub const MAX_EXCERPT_CHARS: usize = 2_000;
}

impl fmt::Debug for UnexpectedPage {
    /// Leaves out the excerpt, which holds the receipt's code and time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnexpectedPage")
            .field("final_path", &self.final_path)
            .field("status", &self.status)
            .field("why", &self.why)
            .finish_non_exhaustive()
    }
}
