//! A request as API Gateway hands it over.

use super::body::JsonBody;
use crate::domain::ids::IdempotencyKey;
use crate::error::{Error, ErrorCode};
use std::collections::BTreeMap;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::event::HttpEvent;
use super::language;
use super::reply::X_REQUEST_ID;
use crate::domain::hex::hex;
use crate::domain::message::Language;
use crate::random;

/// A request, read from its event.
#[derive(Clone)]
pub struct Request {
    /// The method, as sent.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The decoded `{id}` of the path.
    pub path_id: Option<String>,
    /// The headers by lower-case name. One that came several times has its values joined by commas.
    pub headers: BTreeMap<String, String>,
    /// The language of the copy.
    pub language: Language,
    /// The body's bytes; `None` when the event's encoding of them is broken.
    pub body: Option<Vec<u8>>,
    /// What it is called in logs.
    pub ids: RequestIds,
    /// The address of the calling server.
    caller: Option<IpAddr>,
}

impl Request {
    /// Reads an event. Whatever it holds, it is a request; what is wrong with it comes out later, in
    /// the order of the checks.
    pub fn from_event(event: HttpEvent) -> Self {
        let http = event.request_context.http;
        let headers: BTreeMap<_, _> =
            event.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        let body = event.body.unwrap_or_default();
        let accept_language = headers.get("accept-language").map(String::as_str);
        Self {
            method: http.method,
            path: event.raw_path,
            path_id: event.path_parameters.and_then(|mut parameters| parameters.remove("id")),
            language: language::wanted(&event.raw_query_string, accept_language),
            body: if event.is_base64_encoded { STANDARD.decode(body).ok() } else { Some(body.into_bytes()) },
            ids: RequestIds { request: request_id(&headers), gateway: event.request_context.request_id },
            caller: http.source_ip.parse().ok(),
            headers,
        }
    }

    /// The value of a header, named in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The Idempotency-Key, which has to be there.
    ///
    /// # Errors
    /// `idempotency_key_required`, `idempotency_key_invalid`.
    pub fn required_idempotency_key(&self) -> Result<IdempotencyKey, Error> {
        self.idempotency_key()?.ok_or_else(|| ErrorCode::IdempotencyKeyRequired.into())
    }

    /// The Idempotency-Key, where there is one.
    ///
    /// # Errors
    /// `idempotency_key_invalid`.
    pub fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Error> {
        let value = self.header("idempotency-key");
        value.map(str::parse).transpose().map_err(|_| ErrorCode::IdempotencyKeyInvalid.into())
    }

    /// The JSON object of the body.
    ///
    /// # Errors
    /// `validation_failed` without a field.
    pub fn json(&self) -> Result<JsonBody, Error> {
        JsonBody::parse(self)
    }

    /// Whose calls the limits count together: the consumer's address range when the caller says it, else
    /// the calling server alone.
    pub fn client_network(&self) -> String {
        match (self.header(SVC_CLIENT_IP).and_then(client_ip), self.caller) {
            (Some(consumer), _) => range(consumer),
            (None, Some(caller)) => caller.to_canonical().to_string(),
            (None, None) => "unknown".to_owned(),
        }
    }

    /// Whether SVC-Client-IP is there without an address in it. The limits then count all consumers of the caller
    /// together, which it hardly wants.
    pub fn has_malformed_client_ip(&self) -> bool {
        self.header(SVC_CLIENT_IP).is_some_and(|value| client_ip(value).is_none())
    }
}

/// The header in which a caller names the consumer's address.
const SVC_CLIENT_IP: &str = "svc-client-ip";

/// The first address of a list, as proxies write them: an IPv6 one may be in brackets and have a zone, and either
/// may have a port.
fn client_ip(value: &str) -> Option<IpAddr> {
    let first = value.split(',').next()?.trim();
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let host = match first.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            let ends_well = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
            ends_well.then_some(host)?
        }
        // In an IPv6 address without brackets, a last number cannot be told from a port.
        None => match first.split_once(':') {
            Some((host, port)) if is_port(port) => host,
            Some(_) | None => first,
        },
    };
    let address = host.split_once('%').map_or(host, |(address, _zone)| address);
    address.parse().ok()
}

/// The range that one consumer's addresses come from: a /24 of IPv4, a /48 of IPv6.
fn range(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}::/48")
        }
    }
}

/// What a request is called in logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestIds {
    /// The caller's own id when it is fit for a log, else one made here; it comes back with the reply.
    pub request: String,
    /// API Gateway's own.
    pub gateway: Option<String>,
}

/// The caller's own id for the request when it is fit for a log, else one made here.
fn request_id(headers: &BTreeMap<String, String>) -> String {
    const CHARS: std::ops::RangeInclusive<usize> = 1..=128;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+/=-".contains(&byte);
    headers
        .get(X_REQUEST_ID)
        .filter(|id| CHARS.contains(&id.len()) && id.bytes().all(allowed))
        .map_or_else(|| format!("req_{}", hex(&random::bytes::<12>())), String::clone)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_consumers_range_is_a_24_or_a_48() {
        let of = |address: &str| range(address.parse().expect("an address"));
        assert_eq!(of("41.59.13.200"), "41.59.13.0/24");
        assert_eq!(of("::ffff:41.59.13.7"), "41.59.13.0/24");
        assert_eq!(of("2c0f:fe38:1:2::9"), "2c0f:fe38:1::/48");
    }

    #[test]
    fn a_client_ip_that_is_no_address_is_noticed() {
        let with = |value: Option<&str>| {
            let headers = value.map(|value| ("SVC-Client-IP".to_owned(), value.to_owned()));
            Request::from_event(HttpEvent { headers: headers.into_iter().collect(), ..HttpEvent::default() })
        };
        assert!(!with(None).has_malformed_client_ip());
        assert!(!with(Some("41.59.13.7:80, unknown")).has_malformed_client_ip());
        for malformed in ["", "unknown", "41.59.13"] {
            assert!(with(Some(malformed)).has_malformed_client_ip(), "{malformed}");
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for none in [
            "",
            ",41.59.13.7",
            "unknown",
            "41.59.13",
            "41.59.13.7:",
            "41.59.13.7:80:80",
            "41.59.13.7 10.0.0.1",
            "[41.59.13.7",
            "[::1]80",
            "[::1]:",
            "[]:80",
            "::1]:80",
            "2c0f::fe38::1",
            "localhost",
        ] {
            assert_eq!(client_ip(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn the_first_address_of_a_list_counts_without_port_and_zone(
            address in any::<IpAddr>(), more in "(, ?[0-9a-f.:]{0,9}){0,3}", space in " {0,2}",
            port in prop::option::of(any::<u16>()), zone in prop::option::of("%[a-z0-9]{1,6}"), brackets in any::<bool>(),
        ) {
            let zone = zone.filter(|_| address.is_ipv6()).unwrap_or_default();
            let brackets = brackets || (address.is_ipv6() && port.is_some());
            let host = if brackets { format!("[{address}{zone}]") } else { format!("{address}{zone}") };
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            prop_assert_eq!(client_ip(&format!("{space}{host}{port}{space}{more}")), Some(address));
        }

        #[test]
        fn an_ipv4_address_is_one_range_however_it_is_written(address in any::<std::net::Ipv4Addr>()) {
            let mapped = IpAddr::V6(address.to_ipv6_mapped());
            prop_assert_eq!(range(mapped), range(IpAddr::V4(address)));
        }

        #[test]
        fn any_value_is_an_address_or_none(value in "[0-9a-f.:%\\[\\], ]{0,40}") {
            let _ = client_ip(&value);
        }
    }

    #[test]
    fn a_request_id_fit_for_a_log_is_echoed() {
        let id = |value: &str| request_id(&BTreeMap::from([(X_REQUEST_ID.to_owned(), value.to_owned())]));
        assert_eq!(id("a.b_c+d/e=f-9"), "a.b_c+d/e=f-9");
        for bad in ["", "a b", "a,b", "\u{e9}", &"x".repeat(129)] {
            assert!(id(bad).starts_with("req_"), "{bad}");
        }
    }
}
