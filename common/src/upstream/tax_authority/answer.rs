//! What came of a look-up.

use std::fmt;

use serde::Serialize;

use crate::domain::receipt::record::FiscalRecord;
use crate::upstream::connection::Fault;

/// What came of a look-up. Nothing in it prints the receipt's code or time.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    Trouble(Trouble),
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

/// Why a look-up did not work this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// No TCP connection, or no address for the host's name.
    Connect,
    /// The host did not take the connection or the TLS handshake in time.
    ConnectTimeout,
    /// No TLS: the certificate is not trusted, or the handshake failed.
    Tls,
    /// Nothing came for too long.
    ReadTimeout,
    /// The look-up as a whole took too long.
    Deadline,
    /// The connection broke, or what came over it was not HTTP.
    Broken,
    /// The body is larger than any receipt's page.
    TooLarge,
    /// More redirects than a receipt's page takes.
    TooManyRedirects,
    /// A redirect that leads nowhere.
    BadRedirect,
    /// An HTTP status that is no page's.
    Status(u16),
    /// A page that is none of the known ones, at a path that is none of the known ones.
    UnknownPage,
    /// The page of another receipt: look-ups were mixed up there.
    OtherReceipt,
}

impl Trouble {
    /// The stable name, for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::Tls => "tls",
            Self::ReadTimeout => "read_timeout",
            Self::Deadline => "deadline",
            Self::Broken => "broken",
            Self::TooLarge => "too_large",
            Self::TooManyRedirects => "too_many_redirects",
            Self::BadRedirect => "bad_redirect",
            Self::Status(_) => "status",
            Self::UnknownPage => "unknown_page",
            Self::OtherReceipt => "other_receipt",
        }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Connect => Self::Connect,
            Fault::ConnectTimeout => Self::ConnectTimeout,
            Fault::Tls => Self::Tls,
            Fault::ReadTimeout => Self::ReadTimeout,
            Fault::Broken => Self::Broken,
            Fault::TooLarge => Self::TooLarge,
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
