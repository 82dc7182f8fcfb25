//! The embedded Secrets Manager. Some secrets are given at the start and read-only; others are kept with all their
//! versions, in a file if there is one. Signatures are not checked.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::post;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::loopback::{Loopback, Served};

const JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.1");
/// The stage labels of a secret's newest version and of the one before it.
const CURRENT: &str = "AWSCURRENT";
const PREVIOUS: &str = "AWSPREVIOUS";

/// A serving Secrets Manager. It stops when told to or when dropped.
pub struct SecretsManager {
    endpoint: String,
    served: Served,
}

#[derive(Default)]
pub struct Secrets {
    /// Read-only secrets by name.
    pub given: BTreeMap<String, String>,
    kept: Mutex<Kept>,
    file: Option<PathBuf>,
}

/// Secrets by name, each with its versions, the newest last.
type Kept = BTreeMap<String, Vec<Version>>;

#[derive(Clone, Serialize, Deserialize)]
struct Version {
    id: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct GetSecretValue {
    secret_id: String,
    version_id: Option<String>,
    version_stage: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct PutSecretValue {
    secret_id: String,
    secret_string: String,
    client_request_token: String,
}

/// The error type and message.
type SecretsRefusal = (&'static str, String);

impl Secrets {
    /// Loads the kept secrets from the file, if it exists.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn from_file(file: Option<PathBuf>) -> io::Result<Self> {
        let kept = match &file {
            Some(path) if path.exists() => serde_json::from_slice(&std::fs::read(path)?)?,
            Some(_) | None => Kept::new(),
        };
        Ok(Self {
            kept: Mutex::new(kept),
            file,
            ..Self::default()
        })
    }

    /// Creates a secret with its first version, unless it exists.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn make(&self, name: &str, version_id: String, value: String) -> io::Result<()> {
        let mut kept = self.kept();
        if !kept.contains_key(name) {
            kept.insert(
                name.to_owned(),
                vec![Version {
                    id: version_id,
                    value,
                }],
            );
            self.write(&kept)?;
        }
        Ok(())
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Nothing panics while holding the lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        self.file.as_deref().map_or(Ok(()), |path| {
            write_whole(path, &serde_json::to_vec_pretty(kept)?)
        })
    }

    fn get(&self, request: &GetSecretValue) -> Result<Value, SecretsRefusal> {
        let name = request.secret_id.as_str();
        let missing = || {
            (
                "ResourceNotFoundException",
                "Secrets Manager can't find the specified secret.".to_owned(),
            )
        };
        if let Some(value) = self.given.get(name) {
            return Ok(described(name, "given", CURRENT, Some(value)));
        }
        let kept = self.kept();
        let mut newest_first = kept.get(name).ok_or_else(missing)?.iter().rev();
        let stage = request.version_stage.as_deref().unwrap_or(CURRENT);
        let found = match (&request.version_id, stage) {
            (Some(id), _) => newest_first.find(|version| version.id == *id),
            (None, CURRENT) => newest_first.next(),
            (None, PREVIOUS) => newest_first.nth(1),
            (None, _) => None,
        };
        let version = found.ok_or_else(missing)?;
        Ok(described(name, &version.id, stage, Some(&version.value)))
    }

    fn put(&self, request: PutSecretValue) -> Result<Value, SecretsRefusal> {
        let PutSecretValue {
            secret_id: name,
            secret_string: value,
            client_request_token: id,
        } = request;
        let mut kept = self.kept();
        let Some(versions) = kept.get_mut(&name) else {
            return Err((
                "ResourceNotFoundException",
                "There is no such secret that can be written.".to_owned(),
            ));
        };
        match versions.iter().find(|version| version.id == id) {
            Some(version) if version.value == value => {}
            Some(_) => {
                return Err((
                    "ResourceExistsException",
                    "The version has another value already.".to_owned(),
                ));
            }
            None => versions.push(Version {
                id: id.clone(),
                value,
            }),
        }
        self.write(&kept)
            .map_err(|error| ("InternalServiceError", error.to_string()))?;
        Ok(described(&name, &id, CURRENT, None))
    }
}

fn described(name: &str, version: &str, stage: &str, value: Option<&str>) -> Value {
    let mut reply = json!({
        "ARN": format!("arn:aws:secretsmanager:af-south-1:000000000000:secret:{name}"),
        "Name": name,
        "VersionId": version,
        "VersionStages": [stage],
    });
    if let (Some(fields), Some(value)) = (reply.as_object_mut(), value) {
        fields.insert("SecretString".to_owned(), json!(value));
    }
    reply
}

/// Writes a file atomically, readable by its owner only.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("partial");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&partial, path)
}

impl SecretsManager {
    /// Starts a Secrets Manager with these secrets and returns once it listens.
    ///
    /// # Errors
    /// If it cannot listen.
    pub async fn serve(secrets: Secrets) -> io::Result<Self> {
        let loopback = Loopback::bind(0).await?;
        let endpoint = loopback.endpoint.clone();
        let router = Router::new()
            .route("/", post(answer))
            .with_state(Arc::new(secrets));
        Ok(Self {
            endpoint,
            served: loopback.serve(router),
        })
    }

    /// The base URL, without a trailing slash.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Waits for requests in flight, then stops.
    pub async fn stop(self) {
        self.served.stop().await;
    }
}

async fn answer(
    State(secrets): State<Arc<Secrets>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let target = headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok())
        .unwrap_or_default();
    let acted = match target {
        "secretsmanager.GetSecretValue" => read(&body).and_then(|request| secrets.get(&request)),
        "secretsmanager.PutSecretValue" => read(&body).and_then(|request| secrets.put(request)),
        other => {
            let message =
                format!("The local Secrets Manager reads and puts values, and knows no {other:?}.");
            Err(("UnknownOperationException", message))
        }
    };
    let (status, reply) = match acted {
        Ok(reply) => (StatusCode::OK, reply),
        Err((kind, message)) => (
            StatusCode::BAD_REQUEST,
            json!({ "__type": kind, "Message": message }),
        ),
    };
    let mut response = Response::new(Body::from(reply.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// Parses a request. Drops serde's message, which may quote a secret.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, SecretsRefusal> {
    serde_json::from_slice(body).map_err(|_| {
        (
            "InvalidRequestException",
            "The request has other fields than are known here.".to_owned(),
        )
    })
}
