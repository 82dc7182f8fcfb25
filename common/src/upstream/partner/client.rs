//! Asking a partner, once: the request, its limits, and where it may go.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use http::{HeaderMap, Request};
use http_body_util::Full;
use tokio_rustls::rustls::pki_types::ServerName;

use super::address::is_public;
use super::answer::{NoAnswer, PartnerAnswer, TellsOf};
use super::endpoint::{Endpoint, header_name, header_value};
use crate::domain::partner::reply::{PartnerVerdict, Unreadable};
use crate::domain::partner::{Method, PartnerRules, Question};
use crate::upstream::connection::{self, Connection, Fault, within};

/// An answer has some hundred bytes.
const MAX_REPLY_BYTES: usize = 64 * 1024;
/// A host that does not take a connection by then is down; the rest of the time is for its answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const US: HeaderValue = HeaderValue::from_static("campaign-entry-service");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Where partners may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// At public addresses, over https.
    PublicOnly,
    /// Anywhere, also over http: for partners on this machine.
    AnyForLocal,
}

/// Asks partners.
#[derive(Clone)]
pub struct Partner {
    addresses: Addresses,
}

impl std::fmt::Debug for Partner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partner").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Partner {
    /// Asks partners that are at these addresses. Opens no connection.
    pub fn new(addresses: Addresses) -> Self {
        Self { addresses }
    }

    /// Asks once, for at most `limit` and never longer than the rules say. `secret` is the value of
    /// the secret that the rules name. Whatever happens is an answer.
    pub async fn ask(
        &self,
        rules: &PartnerRules,
        secret: Option<&str>,
        question: &Question,
        limit: Duration,
    ) -> PartnerAnswer {
        let limit = limit.min(rules.timeout());
        match within(limit, NoAnswer::Timeout, self.request(rules, secret, question, limit)).await {
            Ok(verdict) => PartnerAnswer::Verdict(verdict),
            Err(why) => PartnerAnswer::NoAnswer(why),
        }
    }

    async fn request(
        &self,
        rules: &PartnerRules,
        secret: Option<&str>,
        question: &Question,
        limit: Duration,
    ) -> Result<PartnerVerdict, NoAnswer> {
        let endpoint = Endpoint::parse(&rules.url).map_err(|_| NoAnswer::Misconfigured)?;
        let server = self.server(&endpoint)?;
        let request = request(rules, secret, question, &endpoint).ok_or(NoAnswer::Misconfigured)?;
        let connecting = async {
            let addresses = self.allowed(connection::resolve(&endpoint.name, endpoint.port).await?)?;
            Ok(Connection::open(&addresses, server.as_ref()).await?)
        };
        let connection = within(CONNECT_TIMEOUT, NoAnswer::ConnectTimeout, connecting).await?;
        let reply = connection.send(request).await?;
        let status = reply.status;
        if NoAnswer::Status(status).tells_of() == TellsOf::Partner {
            return Err(NoAnswer::Status(status));
        }
        let body = reply.read(MAX_REPLY_BYTES, limit).await;
        if (200..=299).contains(&status) {
            return rules.read(&body?).map_err(NoAnswer::Unreadable);
        }
        let unclear =
            if (300..=399).contains(&status) { NoAnswer::Redirected } else { NoAnswer::Status(status) };
        let body = match body {
            Err(Fault::TooLarge) => return Err(unclear),
            body => body?,
        };
        match rules.read(&body) {
            Ok(verdict) if !PartnerRules::accepts(verdict.outcome) => Ok(verdict),
            Ok(_) | Err(Unreadable::NotJson | Unreadable::Code) => Err(unclear),
            Err(unreadable) => Err(NoAnswer::Unreadable(unreadable)),
        }
    }

    /// With whom TLS is spoken; `None` where plain HTTP is spoken, on the local stack alone.
    fn server(&self, endpoint: &Endpoint) -> Result<Option<ServerName<'static>>, NoAnswer> {
        match (self.addresses, endpoint.is_https) {
            (_, true) => {
                let name = ServerName::try_from(endpoint.name.clone());
                Ok(Some(name.map_err(|_| NoAnswer::Misconfigured)?))
            }
            (Addresses::AnyForLocal, false) => Ok(None),
            (Addresses::PublicOnly, false) => Err(NoAnswer::NotHttps),
        }
    }

    /// The addresses of a name, if a connection to them is allowed. The connection is made to what was
    /// looked at here: a name that is resolved again could lead elsewhere. One address that is not
    /// public makes all of them suspect.
    fn allowed(&self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, NoAnswer> {
        match self.addresses {
            Addresses::PublicOnly if !addresses.iter().all(|address| is_public(address.ip())) => {
                Err(NoAnswer::ForbiddenAddress)
            }
            Addresses::PublicOnly | Addresses::AnyForLocal if addresses.is_empty() => {
                Err(Fault::Connect.into())
            }
            Addresses::PublicOnly | Addresses::AnyForLocal => Ok(addresses),
        }
    }
}

/// The request; `None` when the rules, the secret or the question cannot make one.
fn request(
    rules: &PartnerRules,
    secret: Option<&str>,
    question: &Question,
    endpoint: &Endpoint,
) -> Option<Request<Full<Bytes>>> {
    let mut headers = HeaderMap::from_iter([
        (HOST, endpoint.authority.clone()),
        (CONTENT_TYPE, JSON),
        (ACCEPT, JSON),
        (USER_AGENT, US),
    ]);
    for (name, value) in &rules.headers {
        headers.insert(header_name(name).ok()?, header_value(value).ok()?);
    }
    headers.insert(IDEMPOTENCY_KEY, header_value(&question.reference).ok()?);
    if let Some(named) = &rules.secret {
        // A secret that was kept as a file ends with a line break.
        let secret = secret.map(str::trim).filter(|secret| !secret.is_empty())?;
        let mut value = header_value(secret).ok()?;
        value.set_sensitive(true);
        headers.insert(header_name(&named.header).ok()?, value);
    }
    let body = match &rules.body {
        Some(template) => Bytes::from(template.render(question).to_string()),
        None => Bytes::new(),
    };
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = match rules.method {
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Get => http::Method::GET,
    };
    *request.uri_mut() = endpoint.target.clone();
    *request.headers_mut() = headers;
    Some(request)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules() -> PartnerRules {
        let rules = json!({
            "url": "https://partner.example/redeem",
            "secret": { "header": "Authorization", "name": "partners/demo" },
            "body": { "code": "{{code}}" },
            "reply": { "code": "/status" },
            "outcomes": { "0": "entered" },
        });
        serde_json::from_value(rules).expect("rules")
    }

    fn question() -> Question {
        let [reference, code, phone, campaign] =
            ["sub-1", "K7M2", "+255712345678", "demo"].map(str::to_owned);
        Question { reference, code, phone, campaign, livemode: true }
    }

    fn made(rules: &PartnerRules, secret: Option<&str>) -> Option<Request<Full<Bytes>>> {
        request(rules, secret, &question(), &Endpoint::parse(&rules.url).expect("an endpoint"))
    }

    #[test]
    fn the_secret_does_not_print() {
        let request = made(&rules(), Some(" Bearer hush\n")).expect("a request");
        assert_eq!(request.headers()["authorization"], "Bearer hush");
        assert!(!format!("{:?}", request.headers()).contains("hush"));
    }

    #[test]
    fn without_its_secret_no_request_is_made() {
        for secret in [None, Some(""), Some(" \n"), Some("a\nb")] {
            assert!(made(&rules(), secret).is_none(), "{secret:?}");
        }
    }

    #[test]
    fn one_address_that_is_not_public_makes_all_suspect() {
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("an address")).collect();
        let public = Partner::new(Addresses::PublicOnly);
        assert!(public.allowed(addresses(&["1.1.1.1:443", "[2600::1]:443"])).is_ok());
        for texts in [&["1.1.1.1:443", "10.0.0.1:443"][..], &["[::1]:443"], &["[::ffff:169.254.169.254]:80"]]
        {
            assert_eq!(public.allowed(addresses(texts)), Err(NoAnswer::ForbiddenAddress), "{texts:?}");
        }
        assert_eq!(public.allowed(Vec::new()), Err(NoAnswer::Connect));
        let local = Partner::new(Addresses::AnyForLocal);
        assert!(local.allowed(addresses(&["127.0.0.1:1"])).is_ok());
    }
}
