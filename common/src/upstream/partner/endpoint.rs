//! Where a partner is, and which headers its requests can have: checked when a campaign is applied, and
//! again when the partner is asked.

use std::net::IpAddr;

use http::uri::Scheme;
use http::{HeaderName, HeaderValue, Uri};

use super::address::is_public;

/// Headers that are ours: they say what the body is, how long it is, or which request it is.
const OURS: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A partner's URL in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its name or address, without the brackets of IPv6.
    pub(in crate::upstream) name: String,
    pub(in crate::upstream) port: u16,
    pub(in crate::upstream) is_https: bool,
    /// Name and port as in the URL.
    pub(in crate::upstream) authority: HeaderValue,
    /// Path and query.
    pub(in crate::upstream) target: Uri,
}

/// Why a text cannot be a partner's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is no URL.
    #[error("must be a URL, such as `https://partner.example/redeem`")]
    NotAUrl,
    /// It is neither `https` nor `http`.
    #[error("must begin with `https://`")]
    Scheme,
    /// It holds a user's name or password.
    #[error("must not hold a user or password; put a secret into `secret`")]
    User,
    /// It holds a part that is never sent.
    #[error("must not hold a `#`; what follows it is never sent")]
    Fragment,
}

impl Endpoint {
    /// Takes a URL apart. Whether a partner may be there is for [`Self::is_https`] and
    /// [`Self::is_loopback`] to say.
    ///
    /// # Errors
    /// When it is no absolute URL of `https` or `http`.
    pub fn parse(url: &str) -> Result<Self, EndpointError> {
        // The parser takes other characters in path and query, which would be sent as they are.
        if !url.is_ascii() {
            return Err(EndpointError::NotAUrl);
        }
        // What follows it is dropped by the parser without a word.
        if url.contains('#') {
            return Err(EndpointError::Fragment);
        }
        let uri: Uri = url.parse().map_err(|_| EndpointError::NotAUrl)?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(EndpointError::NotAUrl);
        };
        let is_https = *scheme == Scheme::HTTPS;
        if !is_https && *scheme != Scheme::HTTP {
            return Err(EndpointError::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(EndpointError::User);
        }
        let name = authority.host().trim_matches(['[', ']']).to_owned();
        let has_odd_port = authority.port_u16().is_none() && authority.as_str() != authority.host();
        if name.is_empty() || has_odd_port || authority.port_u16() == Some(0) {
            return Err(EndpointError::NotAUrl);
        }
        let target = uri.path_and_query().cloned().ok_or(EndpointError::NotAUrl)?;
        Ok(Self {
            name,
            port: authority.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            is_https,
            authority: HeaderValue::try_from(authority.as_str()).map_err(|_| EndpointError::NotAUrl)?,
            target: target.into(),
        })
    }

    /// Whether it is of https.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Whether it is an address that is not public, rather than a name; where a name leads is looked at
    /// when a connection is made.
    pub fn is_forbidden(&self) -> bool {
        self.name.parse().is_ok_and(|address| !is_public(address))
    }

    /// Whether it is on this machine, by its own word: a loopback address, or `localhost`.
    pub fn is_loopback(&self) -> bool {
        self.name.eq_ignore_ascii_case("localhost")
            || self.name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// Why a request cannot have a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Its name is none.
    #[error("is not a header's name; it must be letters, digits and dashes, such as `X-Client`")]
    Name,
    /// It is one of ours.
    #[error("is a header that the service sets itself; remove it")]
    Ours,
    /// Its value is none.
    #[error("must be printable ASCII on one line")]
    Value,
}

/// A header's name, if a campaign may set that header.
///
/// # Errors
/// When it is no name, or the service sets the header itself.
pub fn header_name(name: &str) -> Result<HeaderName, HeaderError> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeaderError::Name)?;
    if OURS.contains(&name.as_str()) { Err(HeaderError::Ours) } else { Ok(name) }
}

/// A header's value.
///
/// # Errors
/// When it holds what no header can.
pub fn header_value(value: &str) -> Result<HeaderValue, HeaderError> {
    let is_printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    HeaderValue::from_str(value).ok().filter(|_| is_printable).ok_or(HeaderError::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_comes_apart() {
        let parts = |url: &str| {
            let endpoint = Endpoint::parse(url).expect(url);
            (endpoint.name, endpoint.port, endpoint.is_https, endpoint.target.to_string())
        };
        assert_eq!(
            parts("https://partner.example/redeem?a=b"),
            ("partner.example".to_owned(), 443, true, "/redeem?a=b".to_owned())
        );
        assert_eq!(parts("HTTPS://p.example"), ("p.example".to_owned(), 443, true, "/".to_owned()));
        assert_eq!(parts("http://[::1]:81/x"), ("::1".to_owned(), 81, false, "/x".to_owned()));
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for (url, expected) in [
            ("", EndpointError::NotAUrl),
            ("partner.example", EndpointError::NotAUrl),
            ("/redeem", EndpointError::NotAUrl),
            ("https://", EndpointError::NotAUrl),
            ("https://a b", EndpointError::NotAUrl),
            ("https://a/\u{e9}", EndpointError::NotAUrl),
            ("https://a/?b=\u{a0}", EndpointError::NotAUrl),
            ("https://a:99999/", EndpointError::NotAUrl),
            ("https://a:0/", EndpointError::NotAUrl),
            ("https://a:/", EndpointError::NotAUrl),
            ("ftp://a/", EndpointError::Scheme),
            ("https://me:secret@a/", EndpointError::User),
            ("https://a/#/redeem", EndpointError::Fragment),
            ("https://a#", EndpointError::Fragment),
        ] {
            assert_eq!(Endpoint::parse(url), Err(expected), "{url}");
        }
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for url in ["http://127.0.0.1:1/", "http://127.9.9.9/", "http://[::1]/", "http://LOCALHOST:3/"] {
            assert!(Endpoint::parse(url).expect(url).is_loopback(), "{url}");
        }
        for url in ["http://10.0.0.1/", "http://localhost.example/", "http://0.0.0.0/"] {
            assert!(!Endpoint::parse(url).expect(url).is_loopback(), "{url}");
        }
    }

    #[test]
    fn a_header_is_a_campaigns_or_ours() {
        assert!(header_name("X-Client").is_ok() && header_name("Authorization").is_ok());
        for name in ["Content-Type", "HOST", "content-length", "Idempotency-Key"] {
            assert_eq!(header_name(name), Err(HeaderError::Ours), "{name}");
        }
        for name in ["", "a b", "a:b", "é", "a\r\nb"] {
            assert_eq!(header_name(name), Err(HeaderError::Name), "{name}");
        }
        assert!(header_value("Bearer abc").is_ok());
        for value in ["a\r\nb", "é", "\u{7f}", "a\tb"] {
            assert_eq!(header_value(value), Err(HeaderError::Value), "{value}");
        }
    }
}
