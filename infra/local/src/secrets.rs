//! The embedded Secrets Manager: secrets that are there from the start and can only be read. Signatures are
//! not checked.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::post;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::loopback::{Loopback, Served};

/// The content type of AWS's JSON protocol.
const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.1");

/// A Secrets Manager that serves. It stops when told to, and when it is dropped.
pub struct SecretsManager {
    endpoint: String,
    served: Served,
}

/// What a reader asks for.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct GetSecretValue {
    secret_id: String,
}

impl SecretsManager {
    /// Starts one with these secrets, by name, and returns once it listens.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn serve(secrets: BTreeMap<String, String>) -> io::Result<Self> {
        let loopback = Loopback::bind(0).await?;
        let endpoint = loopback.endpoint.clone();
        let router = Router::new().route("/", post(answer)).with_state(Arc::new(secrets));
        Ok(Self { endpoint, served: loopback.serve(router) })
    }

    /// Where it serves, without a slash at the end.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Lets the requests under way finish, then stops.
    pub async fn stop(self) {
        self.served.stop().await;
    }
}

async fn answer(
    State(secrets): State<Arc<BTreeMap<String, String>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let (status, reply) = match act(&secrets, target, &body) {
        Ok(reply) => (StatusCode::OK, reply),
        Err((kind, message)) => (StatusCode::BAD_REQUEST, json!({ "__type": kind, "Message": message })),
    };
    let mut response = Response::new(Body::from(reply.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// The reply, or the kind of error and what it says.
fn act(
    secrets: &BTreeMap<String, String>,
    target: &str,
    body: &[u8],
) -> Result<Value, (&'static str, String)> {
    if target != "secretsmanager.GetSecretValue" {
        return Err((
            "UnknownOperationException",
            format!("The local Secrets Manager only reads, not {target:?}."),
        ));
    }
    let request: Result<GetSecretValue, _> = serde_json::from_slice(body);
    let name = request.map_err(|error| ("InvalidRequestException", error.to_string()))?.secret_id;
    let Some(value) = secrets.get(&name) else {
        return Err((
            "ResourceNotFoundException",
            "Secrets Manager can't find the specified secret.".to_owned(),
        ));
    };
    Ok(json!({
        "ARN": format!("arn:aws:secretsmanager:af-south-1:000000000000:secret:{name}"),
        "Name": name,
        "SecretString": value,
        "VersionStages": ["AWSCURRENT"],
    }))
}
