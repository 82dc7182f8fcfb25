use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

macro_rules! requests {
    ($($name:ident { $($field:ident: $type:ty,)* })*) => {$(
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "PascalCase", deny_unknown_fields)]
        struct $name {
            $($field: $type,)*
        }
    )*};
}

pub(crate) use requests;

#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

pub(crate) fn operation(headers: &HeaderMap) -> &str {
    let target = headers.get("x-amz-target");
    let target = target.and_then(|target| target.to_str().ok());
    target
        .and_then(|target| target.split_once('.'))
        .map_or("", |(_, operation)| operation)
}

pub(crate) fn unknown(operation: &str) -> Refusal {
    Refusal::new(
        "UnsupportedOperation",
        format!("The local stack does not know {operation:?} here."),
    )
}

/// The type should refuse unknown fields.
pub(crate) fn parse<R: DeserializeOwned>(body: &[u8]) -> Result<R, Refusal> {
    // serde's message could quote a secret.
    serde_json::from_slice(body).map_err(|_| {
        Refusal::new(
            "InvalidParameterValue",
            "The request has other fields than are known here.",
        )
    })
}

pub(crate) fn reply(result: Result<Value, Refusal>) -> Response {
    let (status, body) = match result {
        Ok(body) => (StatusCode::OK, body),
        Err(Refusal { kind, message }) => (
            StatusCode::BAD_REQUEST,
            json!({ "__type": kind, "message": message }),
        ),
    };
    let headers = [(CONTENT_TYPE, "application/x-amz-json-1.0")];
    (status, headers, body.to_string()).into_response()
}
