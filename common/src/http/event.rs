//! API Gateway's HTTP API event and reply, payload format 2.0: the parts that are used.
//!
//! Reading is lenient on purpose. Whatever a caller sends has to end in a reply of the contract's
//! shape, so a header that is not ASCII, say, must not make the event unreadable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A request as API Gateway sends it. It holds a key and personal data, so it does not print.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpEvent {
    /// The payload format, `2.0`.
    pub version: String,
    /// The route that matched, such as `GET /api/v1/campaign` or `$default`.
    pub route_key: String,
    /// The path.
    pub raw_path: String,
    /// The query, encoded.
    pub raw_query_string: String,
    /// The headers by lower-case name; several values of one are joined by commas.
    pub headers: BTreeMap<String, String>,
    /// What the parts of the path in braces stand for, decoded.
    pub path_parameters: Option<BTreeMap<String, String>>,
    /// Where the request came from.
    pub request_context: RequestContext,
    /// The body, as text or in base64.
    pub body: Option<String>,
    /// Whether the body is in base64.
    pub is_base64_encoded: bool,
}

/// Where a request came from.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestContext {
    /// API Gateway's own id of the request, which stands in its access log.
    pub request_id: Option<String>,
    /// The HTTP side of it.
    pub http: HttpContext,
}

/// The HTTP side of a request.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpContext {
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The caller's address.
    pub source_ip: String,
}

/// A reply as API Gateway takes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpReply {
    /// The status.
    pub status_code: u16,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The body, as text.
    pub body: String,
    /// Always false: every body is text.
    pub is_base64_encoded: bool,
}
