//! What came of asking a partner.

use crate::domain::partner::reply::{PartnerVerdict, Unreadable, Upstream};
use crate::upstream::connection::Fault;

/// What came of asking. Nothing in it prints what the partner said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartnerAnswer {
    /// The partner decided.
    Verdict(PartnerVerdict),
    /// It did not, or not so that it counts: it has to be asked again.
    NoAnswer(NoAnswer),
}

/// Why a partner gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// No TCP connection, or no address for the host's name.
    Connect,
    /// The host did not take the connection or the TLS handshake in time.
    ConnectTimeout,
    /// No TLS: the certificate is not trusted, or the handshake failed.
    Tls,
    /// The answer was not there in time.
    Timeout,
    /// The connection broke, or what came over it was not HTTP.
    Broken,
    /// The reply is larger than any answer.
    TooLarge,
    /// The partner sent us elsewhere, where we do not go.
    Redirected,
    /// An HTTP status other than success, and no refusal in the body that the campaign knows.
    Status(u16),
    /// A reply that is not what was agreed.
    Unreadable(Unreadable),
    /// The host's name leads to an address that is not public.
    ForbiddenAddress,
    /// The URL is not of https.
    NotHttps,
    /// No request can be made of the campaign's `partner` block or its secret: our own fault.
    Misconfigured,
}

/// What a missing answer tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TellsOf {
    /// The partner is down, or turns us away: others would fare alike.
    Partner,
    /// The partner is up, and what it says of this one question is not understood.
    Question,
    /// Nobody was asked, because of how the campaign is set up.
    Us,
}

impl NoAnswer {
    /// The stable name, for metrics and records.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Broken => "broken",
            Self::TooLarge => "too_large",
            Self::Redirected => "redirected",
            Self::Status(_) => "status",
            Self::Unreadable(why) => why.as_str(),
            Self::ForbiddenAddress => "forbidden_address",
            Self::NotHttps => "not_https",
            Self::Misconfigured => "misconfigured",
        }
    }

    /// What it tells of: of the partner as a whole, of this one question, or of us.
    pub fn tells_of(&self) -> TellsOf {
        match self {
            Self::Connect
            | Self::ConnectTimeout
            | Self::Tls
            | Self::Timeout
            | Self::Broken
            | Self::TooLarge
            | Self::Unreadable(Unreadable::NotJson) => TellsOf::Partner,
            // Whoever refuses our secret, or has too much of us, refuses the next question too.
            Self::Status(401 | 403 | 408 | 429 | 500..) => TellsOf::Partner,
            Self::Redirected
            | Self::Status(_)
            | Self::Unreadable(
                Unreadable::Code | Unreadable::UnknownCode(_) | Unreadable::Entries(_) | Unreadable::Prize(_),
            ) => TellsOf::Question,
            Self::ForbiddenAddress | Self::NotHttps | Self::Misconfigured => TellsOf::Us,
        }
    }

    /// Whether the partner may have heard the question, and done what it asks for.
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Timeout
            | Self::Broken
            | Self::TooLarge
            | Self::Redirected
            | Self::Status(_)
            | Self::Unreadable(_) => true,
            Self::Connect
            | Self::ConnectTimeout
            | Self::Tls
            | Self::ForbiddenAddress
            | Self::NotHttps
            | Self::Misconfigured => false,
        }
    }

    /// The partner's own words, where a reply had some that could be read.
    pub fn upstream(&self) -> Option<&Upstream> {
        match self {
            Self::Unreadable(why) => why.upstream(),
            Self::Connect
            | Self::ConnectTimeout
            | Self::Tls
            | Self::Timeout
            | Self::Broken
            | Self::TooLarge
            | Self::Redirected
            | Self::Status(_)
            | Self::ForbiddenAddress
            | Self::NotHttps
            | Self::Misconfigured => None,
        }
    }
}

impl From<Fault> for NoAnswer {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Connect => Self::Connect,
            Fault::ConnectTimeout => Self::ConnectTimeout,
            Fault::Tls => Self::Tls,
            Fault::ReadTimeout => Self::Timeout,
            Fault::Broken => Self::Broken,
            Fault::TooLarge => Self::TooLarge,
        }
    }
}
