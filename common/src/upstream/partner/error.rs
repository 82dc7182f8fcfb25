use crate::domain::{FaultOwner, InvalidReply, PartnerMessage};
use crate::upstream::http_client::TransportError;
use crate::upstream::partner::partner_url::PartnerUrlError;

/// Prints nothing that the partner said.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartnerError {
    #[error("no complete reply of the partner")]
    Transport(#[from] TransportError),
    #[error("the partner redirects")]
    Redirected,
    #[error("the partner answered with status {0}")]
    Status(u16),
    #[error("the partner's reply is not as agreed: {}", .0.as_str())]
    Unreadable(InvalidReply),
    #[error("the partner's URL is not of https")]
    NotHttps,
    /// No valid request results from the `partner` block or its secret.
    #[error("no request can be made of the campaign's partner block and its secret")]
    Misconfigured(#[from] InvalidPart),
}

/// Prints no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPart {
    #[error("the URL is not valid")]
    Url(#[from] PartnerUrlError),
    #[error("the header `{0}` is not valid")]
    Header(String),
    #[error("the secret is missing, empty, or not valid in its header")]
    Secret,
}

impl PartnerError {
    pub const MISCONFIGURED: &str = "misconfigured";

    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Transport(error) => error.as_str(),
            Self::Redirected => "redirected",
            Self::Status(_) => "status",
            Self::Unreadable(why) => why.as_str(),
            Self::NotHttps => "not_https",
            Self::Misconfigured(_) => Self::MISCONFIGURED,
        }
    }

    pub fn fault_owner(&self) -> FaultOwner {
        match self {
            Self::Transport(TransportError::ForbiddenAddress)
            | Self::NotHttps
            | Self::Misconfigured(_) => FaultOwner::Campaign,
            Self::Transport(_) | Self::Unreadable(InvalidReply::NotJson) => FaultOwner::Partner,
            // A partner that refuses our secret, or throttles us, refuses the next request too.
            Self::Status(401 | 403 | 408 | 429 | 500..) => FaultOwner::Partner,
            Self::Redirected
            | Self::Status(_)
            | Self::Unreadable(
                InvalidReply::Code
                | InvalidReply::UnknownCode(_)
                | InvalidReply::Entries(_)
                | InvalidReply::Prize(_),
            ) => FaultOwner::Campaign,
        }
    }

    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::Transport(
                TransportError::Timeout | TransportError::Broken(_) | TransportError::TooLarge,
            )
            | Self::Redirected
            | Self::Status(_)
            | Self::Unreadable(_) => true,
            Self::Transport(
                TransportError::Connect(_)
                | TransportError::ConnectTimeout
                | TransportError::Tls(_)
                | TransportError::ForbiddenAddress,
            )
            | Self::NotHttps
            | Self::Misconfigured(_) => false,
        }
    }

    pub fn upstream(&self) -> Option<&PartnerMessage> {
        match self {
            Self::Unreadable(why) => why.upstream(),
            Self::Transport(_)
            | Self::Redirected
            | Self::Status(_)
            | Self::NotHttps
            | Self::Misconfigured(_) => None,
        }
    }
}
