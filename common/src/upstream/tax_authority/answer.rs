use std::fmt;

use serde::Serialize;

use crate::domain::FiscalRecord;
use crate::upstream::http_client::TransportError;

/// Debug prints neither code nor time of the receipt.
#[derive(Debug, PartialEq, Eq)]
pub enum LookupAnswer {
    Found(Box<FiscalRecord>),
    WrongTime,
    /// Shops upload late.
    NotFoundYet,
    Throttled,
    /// Our fault: our Referer was not accepted as a receipt's page.
    RefererRefused,
    Unavailable(PortalError),
    Unexpected(Box<UnexpectedPage>),
}

impl LookupAnswer {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::WrongTime => "wrong_time",
            Self::NotFoundYet => "not_found_yet",
            Self::Throttled => "throttled",
            Self::RefererRefused => "referer_refused",
            Self::Unavailable(_) => "trouble",
            Self::Unexpected(_) => "unexpected_page",
        }
    }
}

/// Prints neither code nor time of the receipt.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortalError {
    #[error("no complete reply of the portal")]
    Transport(#[from] TransportError),
    #[error("the look-up took too long")]
    Deadline,
    #[error("the portal redirects again and again")]
    TooManyRedirects,
    #[error("the portal redirects nowhere")]
    BadRedirect,
    #[error("the portal answered with status {0}")]
    Status(u16),
    #[error("the portal sent an unknown page")]
    UnknownPage,
    /// The portal mixed up look-ups.
    #[error("the portal sent another receipt")]
    OtherReceipt,
}

impl PortalError {
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

#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct UnexpectedPage {
    /// Path of the page without query; code and time are masked.
    pub final_path: String,
    pub status: u16,
    /// Visible text without the customer's data.
    pub excerpt: String,
    pub why: &'static str,
}

impl UnexpectedPage {
    pub const MAX_EXCERPT_CHARS: usize = 2_000;
}

impl fmt::Debug for UnexpectedPage {
    /// The excerpt contains the receipt's code and time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnexpectedPage")
            .field("final_path", &self.final_path)
            .field("status", &self.status)
            .field("why", &self.why)
            .finish_non_exhaustive()
    }
}
