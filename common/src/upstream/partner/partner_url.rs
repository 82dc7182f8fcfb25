//! Checked when a campaign is applied and before each request.

use http::{HeaderName, HeaderValue};
use rustls::pki_types::ServerName;
use url::Url;

use crate::domain::address::{is_public, literal};

/// Headers about body, length or request.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartnerUrl(Url);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartnerUrlError {
    #[error("must be a URL, such as `https://partner.example/redeem`")]
    InvalidUrl,
    #[error("must begin with `https://`")]
    Scheme,
    #[error("must not hold a user or password; put a secret into `secret`")]
    User,
    #[error("must not hold a `#`; what follows it is never sent")]
    Fragment,
}

impl PartnerUrl {
    /// Check [`Self::is_https`] and [`Self::is_loopback`] too.
    pub fn parse(text: &str) -> Result<Self, PartnerUrlError> {
        // `Url` repairs blanks, backslashes and missing slashes.
        if !text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
        {
            return Err(PartnerUrlError::InvalidUrl);
        }
        let (scheme, rest) = text.split_once("://").ok_or(PartnerUrlError::InvalidUrl)?;
        let url = Url::parse(text).map_err(|_| PartnerUrlError::InvalidUrl)?;
        if url.fragment().is_some() {
            return Err(PartnerUrlError::Fragment);
        }
        if !matches!(url.scheme(), "https" | "http") {
            return Err(PartnerUrlError::Scheme);
        }
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(PartnerUrlError::User);
        }
        let is_as_written = scheme.eq_ignore_ascii_case(url.scheme())
            && !authority.is_empty()
            && !authority.contains('%')
            && !authority.ends_with(':');
        // TLS needs a name that a certificate can have.
        let has_name = url
            .domain()
            .is_none_or(|name| ServerName::try_from(name).is_ok());
        if !is_as_written || !has_name || url.port() == Some(0) {
            return Err(PartnerUrlError::InvalidUrl);
        }
        Ok(Self(url))
    }

    pub fn into_url(self) -> Url {
        self.0
    }

    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// True if not public. Addresses of a name are checked at each connection.
    pub fn is_forbidden(&self) -> bool {
        literal(&self.0).is_some_and(|address| !is_public(address))
    }

    pub fn is_loopback(&self) -> bool {
        self.0.domain() == Some("localhost")
            || literal(&self.0).is_some_and(|address| address.is_loopback())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("is not a header's name; it must be letters, digits and dashes, such as `X-Client`")]
    Name,
    #[error("is a header that the service sets itself; remove it")]
    Ours,
    #[error("must be printable ASCII on one line")]
    Value,
}

pub fn header_name(name: &str) -> Result<HeaderName, HeaderError> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeaderError::Name)?;
    if OURS.contains(&name.as_str()) {
        Err(HeaderError::Ours)
    } else {
        Ok(name)
    }
}

pub fn header_value(value: &str) -> Result<HeaderValue, HeaderError> {
    let is_printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    HeaderValue::from_str(value)
        .ok()
        .filter(|_| is_printable)
        .ok_or(HeaderError::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_as_written() {
        let read = |url: &str| {
            let endpoint = PartnerUrl::parse(url).expect(url);
            (endpoint.is_https(), endpoint.into_url().to_string())
        };
        assert_eq!(
            read("https://partner.example/redeem?a=b"),
            (true, "https://partner.example/redeem?a=b".to_owned())
        );
        assert_eq!(
            read("HTTPS://p.example"),
            (true, "https://p.example/".to_owned())
        );
        assert_eq!(
            read("https://P.example:443?a"),
            (true, "https://p.example/?a".to_owned())
        );
        assert_eq!(
            read("http://[::1]:81/x"),
            (false, "http://[::1]:81/x".to_owned())
        );
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for (url, expected) in [
            ("", PartnerUrlError::InvalidUrl),
            ("partner.example", PartnerUrlError::InvalidUrl),
            ("/redeem", PartnerUrlError::InvalidUrl),
            ("https://", PartnerUrlError::InvalidUrl),
            ("https://a b", PartnerUrlError::InvalidUrl),
            ("https://a/\u{e9}", PartnerUrlError::InvalidUrl),
            ("https://a/?b=\u{a0}", PartnerUrlError::InvalidUrl),
            ("https://a:99999/", PartnerUrlError::InvalidUrl),
            ("https://a:0/", PartnerUrlError::InvalidUrl),
            ("https://a:/", PartnerUrlError::InvalidUrl),
            ("https:a/", PartnerUrlError::InvalidUrl),
            ("https:a/?://", PartnerUrlError::InvalidUrl),
            ("https:///a", PartnerUrlError::InvalidUrl),
            ("https:\\\\a\\b", PartnerUrlError::InvalidUrl),
            ("https://-a/", PartnerUrlError::InvalidUrl),
            ("https://%6cocalhost/", PartnerUrlError::InvalidUrl),
            ("https://1.2.3.4.5/", PartnerUrlError::InvalidUrl),
            ("ftp://a/", PartnerUrlError::Scheme),
            ("https://me:secret@a/", PartnerUrlError::User),
            ("https://a/#/redeem", PartnerUrlError::Fragment),
            ("https://a#", PartnerUrlError::Fragment),
        ] {
            assert_eq!(PartnerUrl::parse(url), Err(expected), "{url}");
        }
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for url in [
            "http://127.0.0.1:1/",
            "http://127.9.9.9/",
            "http://[::1]/",
            "http://LOCALHOST:3/",
            "http://0x7f.1/",
        ] {
            assert!(PartnerUrl::parse(url).expect(url).is_loopback(), "{url}");
        }
        for url in [
            "http://10.0.0.1/",
            "http://localhost.example/",
            "http://0.0.0.0/",
        ] {
            assert!(!PartnerUrl::parse(url).expect(url).is_loopback(), "{url}");
        }
    }

    #[test]
    fn an_address_that_is_not_public_is_known_in_every_spelling() {
        for host in [
            "10.0.0.1",
            "2130706433",
            "0x7f.1",
            "017700000001",
            "127.1",
            "[::ffff:a00:1]",
            "127.0.0.1.",
        ] {
            assert!(
                PartnerUrl::parse(&format!("https://{host}/"))
                    .expect(host)
                    .is_forbidden(),
                "{host}"
            );
        }
        for host in ["1.1.1.1", "[2600::1]", "partner.example", "localhost"] {
            assert!(
                !PartnerUrl::parse(&format!("https://{host}/"))
                    .expect(host)
                    .is_forbidden(),
                "{host}"
            );
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
