use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::domain::address::{is_public, literal};

/// Path and query may hold a token, so neither is ever printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WebhookUrl(Url);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookUrlError {
    #[error("it must be a URL of printable ASCII, such as `https://www.example.com/webhooks`")]
    InvalidUrl,
    #[error("it must have at most {} characters", WebhookUrl::MAX_CHARS)]
    TooLong,
    #[error("it must begin with `https://`")]
    Scheme,
    #[error("it must not hold a user or password; put a token into the path")]
    User,
    #[error("it must not hold a `#`; what follows it is never sent")]
    Fragment,
    #[error("its port must be 443 or 8443")]
    Port,
    #[error("its host must be reachable from the internet: a public name or address")]
    Host,
}

impl WebhookUrl {
    pub const MAX_CHARS: usize = 500;
    const PORTS: [u16; 2] = [443, 8443];
    /// Last labels of names that no public resolver knows.
    const PRIVATE_LABELS: [&str; 5] = ["internal", "lan", "local", "localhost", "test"];

    /// A URL of this machine, over plain HTTP too, for local stacks.
    ///
    /// # Errors
    /// If it is neither public nor of this machine.
    pub fn local(text: &str) -> Result<Self, WebhookUrlError> {
        let url = read(text)?;
        let is_loopback = url.domain() == Some("localhost")
            || literal(&url).is_some_and(|address| address.is_loopback());
        if is_loopback {
            Ok(Self(url))
        } else {
            text.parse()
        }
    }

    pub fn is_public(&self) -> bool {
        check_public(&self.0).is_ok()
    }

    /// The part that may be shown.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub fn expose(&self) -> &Url {
        &self.0
    }
}

impl FromStr for WebhookUrl {
    type Err = WebhookUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = read(text)?;
        check_public(&url).map(|()| Self(url))
    }
}

fn read(text: &str) -> Result<Url, WebhookUrlError> {
    if text.len() > WebhookUrl::MAX_CHARS {
        return Err(WebhookUrlError::TooLong);
    }
    // `Url` repairs slips such as blanks and backslashes.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let (_, rest) = text.split_once("://").ok_or(WebhookUrlError::InvalidUrl)?;
    if !text.bytes().all(is_plain) || rest.starts_with('/') {
        return Err(WebhookUrlError::InvalidUrl);
    }
    let url = Url::parse(text).map_err(|_| WebhookUrlError::InvalidUrl)?;
    if url.fragment().is_some() {
        return Err(WebhookUrlError::Fragment);
    }
    if !matches!(url.scheme(), "https" | "http") {
        return Err(WebhookUrlError::Scheme);
    }
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(WebhookUrlError::User);
    }
    if url.host().is_none() || authority.contains('%') || url.port() == Some(0) {
        return Err(WebhookUrlError::InvalidUrl);
    }
    Ok(url)
}

fn check_public(url: &Url) -> Result<(), WebhookUrlError> {
    if url.scheme() != "https" {
        return Err(WebhookUrlError::Scheme);
    }
    let port = url.port_or_known_default();
    if !port.is_some_and(|port| WebhookUrl::PORTS.contains(&port)) {
        return Err(WebhookUrlError::Port);
    }
    let is_public_host = match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.rsplit_once('.')
                .is_some_and(|(_, last)| !WebhookUrl::PRIVATE_LABELS.contains(&last))
        }
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => literal(url).is_some_and(is_public),
        None => false,
    };
    is_public_host.then_some(()).ok_or(WebhookUrlError::Host)
}

impl TryFrom<String> for WebhookUrl {
    type Error = WebhookUrlError;

    /// A stored URL may be a local stack's; sending decides if it is allowed.
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::local(&text)
    }
}

impl From<WebhookUrl> for String {
    fn from(url: WebhookUrl) -> Self {
        url.0.into()
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.host())
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookUrl({})", self.host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_urls_of_https_are_taken() {
        let longest = format!("https://example.com/{}", "x".repeat(480));
        for text in [
            &longest,
            "https://example.com:443/",
            "https://example.com:8443",
            "https://1.1.1.1/x",
            "https://[2600::1]/x",
        ] {
            let url: WebhookUrl = text.parse().expect(text);
            assert!(url.is_public());
        }
    }

    #[test]
    fn host_alone_is_shown() {
        let text = "https://www.example.com/webhooks?token=hush";
        let url: WebhookUrl = text.parse().expect(text);
        let shown = format!("{url} {url:?}");
        assert_eq!(shown, "www.example.com WebhookUrl(www.example.com)");
    }

    #[test]
    fn other_urls_are_refused_with_their_reason() {
        let long = format!("https://example.com/{}", "x".repeat(481));
        for (text, expected) in [
            ("", WebhookUrlError::InvalidUrl),
            ("example.com/x", WebhookUrlError::InvalidUrl),
            ("https:///example.com", WebhookUrlError::InvalidUrl),
            ("https://exa mple.com", WebhookUrlError::InvalidUrl),
            ("https:\\\\example.com", WebhookUrlError::InvalidUrl),
            ("https://example.com/a b", WebhookUrlError::InvalidUrl),
            ("https://example.com/a\\b", WebhookUrlError::InvalidUrl),
            ("https://%65xample.com/", WebhookUrlError::InvalidUrl),
            (&long, WebhookUrlError::TooLong),
            ("http://example.com/", WebhookUrlError::Scheme),
            ("ftp://example.com/", WebhookUrlError::Scheme),
            ("https://me:secret@example.com/", WebhookUrlError::User),
            ("https://example.com/#x", WebhookUrlError::Fragment),
            ("https://example.com:80/", WebhookUrlError::Port),
            ("https://example.com:6379/", WebhookUrlError::Port),
            ("https://localhost/", WebhookUrlError::Host),
            ("https://shop.internal/", WebhookUrlError::Host),
            ("https://shop.local./", WebhookUrlError::Host),
            ("https://10.0.0.1/", WebhookUrlError::Host),
            ("https://0x7f.1/", WebhookUrlError::Host),
            ("https://169.254.169.254/", WebhookUrlError::Host),
            ("https://[::1]/", WebhookUrlError::Host),
            ("https://[::ffff:10.0.0.1]/", WebhookUrlError::Host),
        ] {
            assert_eq!(text.parse::<WebhookUrl>(), Err(expected), "{text}");
        }
    }

    #[test]
    fn local_stack_takes_this_machine_alone() {
        for text in [
            "http://127.0.0.1:9/x",
            "http://localhost:9/",
            "http://[::1]:9/",
        ] {
            let url = WebhookUrl::local(text).expect(text);
            assert!(!url.is_public(), "{text}");
            let stored = serde_json::to_value(&url).expect("JSON");
            assert_eq!(
                serde_json::from_value::<WebhookUrl>(stored).expect("a URL"),
                url
            );
        }
        assert!(WebhookUrl::local("https://example.com/").is_ok());
        assert_eq!(
            WebhookUrl::local("http://10.0.0.1/"),
            Err(WebhookUrlError::Scheme)
        );
    }
}
