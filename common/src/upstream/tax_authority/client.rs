//! Logs nothing: code and time stay between caller and portal.

use std::time::Duration;

use http::header::{ACCEPT, HeaderValue, LOCATION, REFERER, USER_AGENT};
use http::{HeaderMap, Method};
use reqwest::{Request, Url};

use super::answer::{LookupAnswer, PortalError, UnexpectedPage};
use super::page;
use crate::config::{ConfigError, Env};
use crate::domain::{ReceiptTime, VerificationCode};
use crate::upstream::http_client::{self, Addresses, HttpClient, Timeouts, TransportError};

pub const VARIABLE: &str = "TAX_AUTHORITY_URL";
const LOOKUP_PATH: &str = "/Verify/Verified";
/// The portal accepts browsers only.
const BROWSER: HeaderValue = HeaderValue::from_static(
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36",
);
const PAGES: HeaderValue = HeaderValue::from_static("text/html,application/xhtml+xml");
/// A receipt takes one or two.
const MAX_REDIRECTS: usize = 5;
/// A page has some tens of kilobytes.
const MAX_BODY_BYTES: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Includes TLS.
    pub connect: Duration,
    /// Wait for the head of a reply, connecting included, or for the next part of its body.
    pub read: Duration,
    /// Includes all redirects.
    pub whole: Duration,
}

impl Default for Limits {
    /// The portal is slow at times; later answers do not come.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(8),
            read: Duration::from_secs(20),
            whole: Duration::from_secs(60),
        }
    }
}

#[derive(Debug)]
pub struct TaxAuthority {
    base: Url,
    limits: Limits,
    client: HttpClient,
}

#[derive(Debug, thiserror::Error)]
#[error("it has to be scheme, host and port alone, like https://verify.tra.go.tz")]
pub struct InvalidBaseUrl;

impl TaxAuthority {
    pub fn from_env(env: &Env, limits: Limits) -> Result<Self, ConfigError> {
        Self::new(&env.required(VARIABLE)?, limits).map_err(|_| ConfigError::Malformed {
            variable: VARIABLE,
            expected: "a base URL such as https://verify.tra.go.tz",
        })
    }

    /// Use `http` only for a local portal.
    pub fn new(base: &str, limits: Limits) -> Result<Self, InvalidBaseUrl> {
        let base = Url::parse(base).map_err(|_| InvalidBaseUrl)?;
        let is_web = base.host().is_some() && matches!(base.scheme(), "https" | "http");
        let is_more = base.path() != "/" || base.query().is_some() || base.fragment().is_some();
        if !is_web || is_more || base.authority().contains('@') {
            return Err(InvalidBaseUrl);
        }
        // Any address: the operator configures the portal, and a simulated one is local.
        let timeouts = Timeouts {
            connect: limits.connect,
            read: limits.read,
        };
        Ok(Self {
            base,
            limits,
            client: HttpClient::new(Addresses::Any, timeouts),
        })
    }

    /// [Retry plans](crate::domain::retry) decide about another look-up.
    pub async fn lookup(&self, code: &VerificationCode, time: ReceiptTime) -> LookupAnswer {
        match tokio::time::timeout(self.limits.whole, self.follow(code, time)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => LookupAnswer::Unavailable(error),
            Err(_) => LookupAnswer::Unavailable(PortalError::Deadline),
        }
    }

    async fn follow(
        &self,
        code: &VerificationCode,
        time: ReceiptTime,
    ) -> Result<LookupAnswer, PortalError> {
        let headers = self.headers(code, time)?;
        let mut target = self.base.clone();
        target.set_path(LOOKUP_PATH);
        target.set_query(Some(&format!(
            "Secret={}",
            time.expose().replace(':', "%3A")
        )));
        for _ in 0..=MAX_REDIRECTS {
            let path = target.path().to_owned();
            let mut request = Request::new(Method::GET, target);
            request.headers_mut().clone_from(&headers);
            let reply = self.client.send(request).await?;
            let status = reply.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                if status >= 500 {
                    return Ok(LookupAnswer::Unavailable(PortalError::Status(status)));
                }
                let body = http_client::read(reply, MAX_BODY_BYTES).await?;
                return Ok(page::read(&path, status, &body, code));
            }
            target = match self
                .next(reply.headers().get(LOCATION))
                .ok_or(PortalError::BadRedirect)?
            {
                Redirect::Here(target) => target,
                Redirect::Elsewhere(host) => return Ok(redirected_elsewhere(&path, status, &host)),
            };
        }
        Err(PortalError::TooManyRedirects)
    }

    /// No cookies, and nothing that identifies us.
    fn headers(
        &self,
        code: &VerificationCode,
        time: ReceiptTime,
    ) -> Result<HeaderMap, TransportError> {
        let page = format!("{}{}_{}", self.base, code.as_str(), time.expose_compact());
        let mut page =
            HeaderValue::try_from(page).map_err(|error| TransportError::Broken(error.into()))?;
        page.set_sensitive(true);
        Ok(HeaderMap::from_iter([
            (USER_AGENT, BROWSER),
            (ACCEPT, PAGES),
            (REFERER, page),
        ]))
    }

    /// Path and query alone: that turns the portal's `http://` back into `https://`.
    fn next(&self, location: Option<&HeaderValue>) -> Option<Redirect> {
        let location = location?.to_str().ok()?.trim();
        let url = match (location.starts_with("//"), location.starts_with('/')) {
            (true, _) => Url::parse(&format!("http:{location}")),
            (false, true) => self.base.join(location),
            (false, false) => Url::parse(location),
        };
        let url = url.ok().filter(Url::has_host)?;
        let is_web = matches!(url.scheme(), "http" | "https");
        let is_same_host = url.host() == self.base.host();
        let is_same_port = url
            .port()
            .is_none_or(|port| Some(port) == self.base.port_or_known_default() || port == 80);
        if !is_web || !is_same_host || !is_same_port {
            return Some(Redirect::Elsewhere(format!(
                "{}://{}",
                url.scheme(),
                url.authority()
            )));
        }
        let mut target = self.base.clone();
        target.set_path(url.path());
        target.set_query(url.query());
        Some(Redirect::Here(target))
    }
}

enum Redirect {
    Here(Url),
    Elsewhere(String),
}

fn redirected_elsewhere(path: &str, status: u16, host: &str) -> LookupAnswer {
    LookupAnswer::Unexpected(Box::new(UnexpectedPage {
        final_path: page::shown_path(path),
        status,
        excerpt: format!("redirect to {host}")
            .chars()
            .take(UnexpectedPage::MAX_EXCERPT_CHARS)
            .collect(),
        why: "a redirect to another host",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn portal(base: &str) -> TaxAuthority {
        TaxAuthority::new(base, Limits::default()).expect(base)
    }

    fn next(base: &str, location: &str) -> Option<String> {
        let location = HeaderValue::from_str(location).expect(location);
        portal(base)
            .next(Some(&location))
            .map(|redirect| match redirect {
                Redirect::Here(target) => target.as_str().trim_start_matches(base).to_owned(),
                Redirect::Elsewhere(host) => host,
            })
    }

    #[test]
    fn a_redirect_keeps_the_host_and_the_scheme_of_the_base() {
        let base = "https://verify.tra.go.tz";
        for (location, expected) in [
            ("http://verify.tra.go.tz/Home/Missing", "/Home/Missing"),
            ("https://VERIFY.TRA.GO.TZ:443/Home/Missing", "/Home/Missing"),
            ("http://verify.tra.go.tz:80/", "/"),
            ("//verify.tra.go.tz/Home/Missing", "/Home/Missing"),
            (
                "/Verify/Verified?Secret=10:15:30",
                "/Verify/Verified?Secret=10:15:30",
            ),
            ("http://verify.tra.go.tz", "/"),
        ] {
            assert_eq!(
                next(base, location).as_deref(),
                Some(expected),
                "{location}"
            );
        }
    }

    #[test]
    fn a_redirect_to_anywhere_else_is_not_followed() {
        for (location, expected) in [
            (
                "http://example.com/Home/Missing",
                Some("http://example.com"),
            ),
            ("//example.com/Home/Missing", Some("http://example.com")),
            (
                "https://verify.tra.go.tz:8443/",
                Some("https://verify.tra.go.tz:8443"),
            ),
            (
                "https://verify.tra.go.tz.example.com/",
                Some("https://verify.tra.go.tz.example.com"),
            ),
            (
                "https://verify.tra.go.tz@example.com/",
                Some("https://verify.tra.go.tz@example.com"),
            ),
            ("ftp://verify.tra.go.tz/x", Some("ftp://verify.tra.go.tz")),
            ("Home/Missing", None),
            ("", None),
        ] {
            assert_eq!(
                next("https://verify.tra.go.tz", location).as_deref(),
                expected,
                "{location}"
            );
        }
        assert!(portal("https://verify.tra.go.tz").next(None).is_none());
    }

    #[test]
    fn a_base_is_scheme_host_and_port() {
        for base in [
            "https://verify.tra.go.tz",
            "https://verify.tra.go.tz/",
            "http://127.0.0.1:4000",
            "http://[::1]:4",
        ] {
            assert_eq!(
                portal(base).base.as_str().trim_end_matches('/'),
                base.trim_end_matches('/')
            );
        }
        for base in [
            "verify.tra.go.tz",
            "",
            "ftp://verify.tra.go.tz",
            "https://verify.tra.go.tz/x",
            "https://verify.tra.go.tz/?x",
            "https://me@verify.tra.go.tz",
        ] {
            assert!(
                TaxAuthority::new(base, Limits::default()).is_err(),
                "{base}"
            );
        }
    }

    #[test]
    fn the_secrets_do_not_print() {
        let time = ReceiptTime::new(10, 15, 30).expect("a time");
        let code: VerificationCode = "AB12CD3456".parse().expect("a code");
        let headers = portal("https://verify.tra.go.tz")
            .headers(&code, time)
            .expect("headers");
        let printed = format!("{headers:?}");
        assert!(
            !printed.contains("AB12CD") && !printed.contains("101530"),
            "{printed}"
        );
    }
}
