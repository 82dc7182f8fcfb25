use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use reqwest::Request;

use super::error::{InvalidPart, PartnerError};
use super::partner_url::{PartnerUrl, header_name, header_value};
use crate::domain::partner::{Method, PartnerRequest};
use crate::domain::{FaultOwner, InvalidReply, PartnerRules, PartnerVerdict};
use crate::upstream::http_client::{self, Addresses, HttpClient, Timeouts, TransportError};

/// Real answers have a few hundred bytes.
const MAX_REPLY_BYTES: usize = 64 * 1024;
/// A host that does not accept by then is down; the rest is for its answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const US: HeaderValue = HeaderValue::from_static("campaign-entry-service");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Plain HTTP is allowed only if any address is.
#[derive(Debug)]
pub struct Partner {
    addresses: Addresses,
    client: HttpClient,
}

impl Partner {
    pub fn new(addresses: Addresses) -> Self {
        let timeouts = Timeouts {
            connect: CONNECT_TIMEOUT,
            read: PartnerRules::MAX_TIMEOUT,
        };
        Self {
            addresses,
            client: HttpClient::new(addresses, timeouts),
        }
    }

    /// At most `limit`, within the rules. `secret` is the value of the secret named in them.
    pub async fn ask(
        &self,
        rules: &PartnerRules,
        secret: Option<&str>,
        request: &PartnerRequest,
        limit: Duration,
    ) -> Result<PartnerVerdict, PartnerError> {
        let url = PartnerUrl::parse(&rules.url).map_err(InvalidPart::Url)?;
        if self.addresses == Addresses::PublicOnly && !url.is_https() {
            return Err(PartnerError::NotHttps);
        }
        let mut request = http_request(rules, secret, request, url)?;
        *request.timeout_mut() = Some(limit.min(rules.timeout()));
        let reply = self.client.send(request).await?;
        let status = reply.status().as_u16();
        if PartnerError::Status(status).fault_owner() == FaultOwner::Partner {
            return Err(PartnerError::Status(status));
        }
        let body = http_client::read(reply, MAX_REPLY_BYTES).await;
        if (200..=299).contains(&status) {
            return rules.read(&body?).map_err(PartnerError::Unreadable);
        }
        let unclear = if (300..=399).contains(&status) {
            PartnerError::Redirected
        } else {
            PartnerError::Status(status)
        };
        let body = match body {
            Err(TransportError::TooLarge) => return Err(unclear),
            body => body?,
        };
        match rules.read(&body) {
            Ok(verdict) if !PartnerRules::accepts(verdict.outcome) => Ok(verdict),
            Ok(_) | Err(InvalidReply::NotJson | InvalidReply::Code) => Err(unclear),
            Err(unreadable) => Err(PartnerError::Unreadable(unreadable)),
        }
    }
}

fn http_request(
    rules: &PartnerRules,
    secret: Option<&str>,
    request: &PartnerRequest,
    url: PartnerUrl,
) -> Result<Request, InvalidPart> {
    let method = match rules.method {
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Get => http::Method::GET,
    };
    let mut sent = Request::new(method, url.into_url());
    *sent.body_mut() = rules
        .body
        .as_ref()
        .map(|template| template.render(request).to_string().into());
    let headers = sent.headers_mut();
    headers.extend([(CONTENT_TYPE, JSON), (ACCEPT, JSON), (USER_AGENT, US)]);
    for (name, value) in &rules.headers {
        let header = header_name(name).ok().zip(header_value(value).ok());
        let (header, value) = header.ok_or_else(|| InvalidPart::Header(name.clone()))?;
        headers.insert(header, value);
    }
    let reference = header_value(&request.reference);
    headers.insert(
        IDEMPOTENCY_KEY,
        reference.map_err(|_| InvalidPart::Header(IDEMPOTENCY_KEY.to_string()))?,
    );
    if let Some(named) = &rules.secret {
        // A secret from a file may end with a line break.
        let secret = secret.map(str::trim).filter(|secret| !secret.is_empty());
        let value = secret.and_then(|secret| header_value(secret).ok());
        let header = header_name(&named.header).ok().zip(value);
        let (header, mut value) = header.ok_or(InvalidPart::Secret)?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(sent)
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

    fn partner_request() -> PartnerRequest {
        let [reference, code, phone, campaign] =
            ["sub-1", "K7M2", "+255712345678", "demo"].map(str::to_owned);
        PartnerRequest {
            reference,
            code,
            phone,
            campaign,
            livemode: true,
        }
    }

    fn made(rules: &PartnerRules, secret: Option<&str>) -> Result<Request, InvalidPart> {
        http_request(
            rules,
            secret,
            &partner_request(),
            PartnerUrl::parse(&rules.url).expect("a URL"),
        )
    }

    #[test]
    fn the_secret_does_not_print() {
        let request = made(&rules(), Some(" Bearer hush\n")).expect("a request");
        assert_eq!(request.headers()["authorization"], "Bearer hush");
        assert!(!format!("{request:?}").contains("hush"));
    }

    #[test]
    fn without_its_secret_no_request_is_made() {
        for secret in [None, Some(""), Some(" \n"), Some("a\nb")] {
            assert_eq!(
                made(&rules(), secret).err(),
                Some(InvalidPart::Secret),
                "{secret:?}"
            );
        }
    }
    #[test]
    fn an_invalid_header_is_named_without_its_value() {
        let mut rules = rules();
        rules
            .headers
            .insert("X-Shop".to_owned(), "hush\n".to_owned());
        let invalid = made(&rules, Some("secret")).expect_err("no request");
        assert_eq!(invalid.to_string(), "the header `X-Shop` is not valid");
    }
}
