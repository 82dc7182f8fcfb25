use std::net::IpAddr;
use std::time::Duration;

use http::Method;
use lambda_http::RequestExt;
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequestContext;
use lambda_http::request::RequestContext;

use super::body::JsonBody;
use super::language;
use super::reply::X_REQUEST_ID;
use crate::domain::{Environment, IdempotencyKey, Language, Phone, Timestamp};
use crate::error::{Error, ErrorCode};
use crate::random;
use crate::telemetry::RequestIds;

/// Holds a key and personal data, so it does not print.
#[derive(Clone)]
pub struct Request {
    http: lambda_http::Request,
    pub language: Language,
    pub ids: RequestIds,
}

impl Request {
    /// Mistakes surface later, in the order of the checks.
    pub fn new(http: lambda_http::Request) -> Self {
        let query = http.query_string_parameters_ref();
        let locale = query.and_then(|query| query.first("locale"));
        let gateway = gateway_context(&http).and_then(|context| context.request_id.clone());
        Self {
            language: language::wanted(locale, header(&http, "accept-language")),
            ids: request_ids(header(&http, X_REQUEST_ID), gateway),
            http,
        }
    }

    pub fn method(&self) -> &Method {
        self.http.method()
    }

    pub fn path(&self) -> &str {
        self.http.raw_http_path()
    }

    /// Decoded.
    pub fn path_id(&self) -> Option<&str> {
        self.http.path_parameters_ref()?.first("id")
    }

    /// Repeated headers are joined by commas.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.http, name)
    }

    pub fn body(&self) -> &[u8] {
        self.http.body()
    }

    pub fn required_idempotency_key(&self) -> Result<IdempotencyKey, Error> {
        self.idempotency_key()?
            .ok_or_else(|| ErrorCode::IdempotencyKeyRequired.into())
    }

    pub fn idempotency_key(&self) -> Result<Option<IdempotencyKey>, Error> {
        let value = self.header("idempotency-key");
        value
            .map(str::parse)
            .transpose()
            .map_err(|_| ErrorCode::IdempotencyKeyInvalid.into())
    }

    pub fn json(&self) -> Result<JsonBody, Error> {
        JsonBody::parse(self)
    }

    pub fn client_network(&self) -> String {
        match (
            self.header(SVC_CLIENT_IP).and_then(client_ip),
            self.source_ip(),
        ) {
            (Some(consumer), _) => range(consumer),
            (None, Some(caller)) => caller.to_canonical().to_string(),
            (None, None) => "unknown".to_owned(),
        }
    }

    /// Refused if it cannot count: a forgotten header must not pass unseen.
    pub fn test_time(
        &self,
        environment: Environment,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Error> {
        let refusal = |detail| {
            Error::from(ErrorCode::ValidationFailed)
                .with_field("SVC-Test-Time")
                .with_detail(detail)
                .with_fix(TEST_TIME_FIX)
        };
        let mut all = self.http.headers().get_all(SVC_TEST_TIME).iter();
        let Some(given) = all.next() else {
            return Ok(None);
        };
        if environment.is_live() {
            return Err(refusal("A live key has no test time."));
        }
        let within = now.before(MAX_TEST_SHIFT)..=now.after(MAX_TEST_SHIFT);
        let time = given.to_str().ok().and_then(|text| text.parse().ok());
        let time = time.filter(|time| within.contains(time) && all.next().is_none());
        time.map(Some)
            .ok_or_else(|| refusal("`SVC-Test-Time` must be a time of RFC 3339 within two years."))
    }

    fn source_ip(&self) -> Option<IpAddr> {
        gateway_context(&self.http)?
            .http
            .source_ip
            .as_deref()?
            .parse()
            .ok()
    }

    /// If true, limits count all consumers of the caller together.
    pub fn has_malformed_client_ip(&self) -> bool {
        self.header(SVC_CLIENT_IP)
            .is_some_and(|value| client_ip(value).is_none())
    }
}

const SVC_CLIENT_IP: &str = "svc-client-ip";
pub const SVC_TEST_TIME: &str = "svc-test-time";
/// Two years, one of them a leap year.
const MAX_TEST_SHIFT: Duration = Duration::from_hours(731 * 24);
const TEST_TIME_FIX: &str = "Send `SVC-Test-Time` with a test key only, such as `2026-12-31T23:59:59Z` or with another \
                             offset, at most two years from now; or leave it out.";

/// Proxies write lists; IPv6 may have brackets and a zone, any address a port.
fn client_ip(value: &str) -> Option<IpAddr> {
    let first = value.split(',').next()?.trim();
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let host = match first.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            let ends_well = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
            ends_well.then_some(host)?
        }
        // Without brackets, the last number of an IPv6 address looks like a port.
        None => match first.split_once(':') {
            Some((host, port)) if is_port(port) => host,
            Some(_) | None => first,
        },
    };
    let address = host
        .split_once('%')
        .map_or(host, |(address, _zone)| address);
    address.parse().ok()
}

/// A /24 of IPv4, a /48 of IPv6.
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

fn gateway_context(http: &lambda_http::Request) -> Option<&ApiGatewayV2httpRequestContext> {
    match http.request_context_ref()? {
        RequestContext::ApiGatewayV2(context) => Some(context),
        _ => None,
    }
}

/// `HeaderValue::to_str` would accept ASCII only.
fn header<'a>(http: &'a lambda_http::Request, name: &str) -> Option<&'a str> {
    str::from_utf8(http.headers().get(name)?.as_bytes()).ok()
}

/// The caller's X-Request-Id is used if fit for a log.
pub fn request_ids(given: Option<&str>, gateway: Option<String>) -> RequestIds {
    const CHARS: std::ops::RangeInclusive<usize> = 1..=128;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+/=-".contains(&byte);
    // Log lines must not contain phones.
    let is_phone = |id: &str| id.parse::<Phone>().is_ok();
    let is_fit = |id: &&str| CHARS.contains(&id.len()) && id.bytes().all(allowed) && !is_phone(id);
    let made = || format!("req_{}", hex::encode(random::bytes::<12>()));
    RequestIds {
        request: given.filter(is_fit).map_or_else(made, str::to_owned),
        gateway,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;
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
            let mut http = lambda_http::Request::default();
            let value = value.map(|value| value.parse().expect("a header's value"));
            http.headers_mut()
                .extend(value.map(|value| (HeaderName::from_static(SVC_CLIENT_IP), value)));
            Request::new(http)
        };
        assert!(!with(None).has_malformed_client_ip());
        assert!(!with(Some("41.59.13.7:80, unknown")).has_malformed_client_ip());
        for malformed in ["", "unknown", "41.59.13"] {
            assert!(
                with(Some(malformed)).has_malformed_client_ip(),
                "{malformed}"
            );
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
        let id = |value: &str| request_ids(Some(value), None).request;
        assert_eq!(id("a.b_c+d/e=f-9"), "a.b_c+d/e=f-9");
        for bad in [
            "",
            "a b",
            "a,b",
            "\u{e9}",
            &"x".repeat(129),
            "0712345678",
            "+255-712-345-678",
        ] {
            assert!(id(bad).starts_with("req_"), "{bad}");
        }
    }
}
