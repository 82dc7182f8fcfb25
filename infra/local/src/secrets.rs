//! Signatures are not checked.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use common::lock::Mutex;
use common::random;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::aws_json::{Refusal, operation, parse, reply, requests, unknown};
use crate::loopback::{Loopback, Server};
use crate::private_file;

pub const DEPLOYMENT_SECRET: &str = "local/deployment";
pub const MOMENTS_SECRET: &str = "local/moments";

pub struct SecretsOptions {
    pub given: BTreeMap<String, String>,
    /// First version of the deployment secret, unless the file has it; `None` for a random one.
    pub deployment_secret: Option<String>,
    /// File of the deployment secret; `None` keeps it in memory.
    pub file: Option<PathBuf>,
}

struct Secrets {
    given: BTreeMap<String, String>,
    file: Option<PathBuf>,
    versions: Mutex<Vec<Version>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Version {
    id: String,
    value: String,
}

requests! {
    GetSecretValue {
        secret_id: String,
        version_id: Option<String>,
    }
    PutSecretValue {
        secret_id: String,
        secret_string: String,
        client_request_token: String,
    }
}

pub async fn serve(options: SecretsOptions) -> io::Result<Server> {
    let random = || hex::encode(random::bytes::<32>());
    let versions = match &options.file {
        Some(path) if path.exists() => serde_json::from_slice(&std::fs::read(path)?)?,
        Some(_) | None => vec![Version {
            id: random(),
            value: options.deployment_secret.unwrap_or_else(random),
        }],
    };
    let secrets = Secrets {
        given: options.given,
        file: options.file,
        versions: Mutex::new(versions.clone()),
    };
    secrets.write(&versions)?;
    let router = Router::new().route("/", post(answer));
    let router = router.with_state(Arc::new(secrets));
    Ok(Loopback::bind(0).await?.serve(router))
}

async fn answer(State(secrets): State<Arc<Secrets>>, headers: HeaderMap, body: Bytes) -> Response {
    reply(match operation(&headers) {
        "GetSecretValue" => parse(&body).and_then(|request| secrets.get(&request)),
        "PutSecretValue" => parse(&body).and_then(|request| secrets.put(request)),
        other => Err(unknown(other)),
    })
}

impl Secrets {
    fn get(&self, request: &GetSecretValue) -> Result<Value, Refusal> {
        let name = &request.secret_id;
        if let Some(value) = self.given.get(name) {
            return Ok(described(name, "given", Some(value)));
        }
        let versions = self.versions.lock();
        if let Some(first) = versions.first().filter(|_| name == MOMENTS_SECRET) {
            // Stays as long as the deployment's, and needs no file of its own.
            let value = format!("moments of {}", first.value);
            return Ok(described(name, "only", Some(&value)));
        }
        let mut newest_first = versions.iter().rev();
        let version = newest_first.find(|version| {
            let asked = request.version_id.as_ref();
            asked.is_none_or(|id| *id == version.id)
        });
        let version = version.filter(|_| name == DEPLOYMENT_SECRET);
        let version = version.ok_or_else(missing)?;
        Ok(described(name, &version.id, Some(&version.value)))
    }

    fn put(&self, request: PutSecretValue) -> Result<Value, Refusal> {
        if request.secret_id != DEPLOYMENT_SECRET {
            return Err(missing());
        }
        let mut versions = self.versions.lock();
        let id = request.client_request_token;
        match versions.iter().find(|version| version.id == id) {
            Some(version) if version.value == request.secret_string => {}
            Some(_) => {
                return Err(Refusal::new(
                    "ResourceExistsException",
                    "The version has another value already.",
                ));
            }
            None => versions.push(Version {
                id: id.clone(),
                value: request.secret_string,
            }),
        }
        self.write(&versions)
            .map_err(|error| Refusal::new("InternalServiceError", error.to_string()))?;
        Ok(described(DEPLOYMENT_SECRET, &id, None))
    }

    fn write(&self, versions: &[Version]) -> io::Result<()> {
        self.file.as_deref().map_or(Ok(()), |path| {
            private_file::write(path, &serde_json::to_vec_pretty(versions)?)
        })
    }
}

fn missing() -> Refusal {
    Refusal::new(
        "ResourceNotFoundException",
        "Secrets Manager can't find the specified secret.",
    )
}

fn described(name: &str, version: &str, value: Option<&str>) -> Value {
    json!({
        "ARN": format!("arn:aws:secretsmanager:af-south-1:000000000000:secret:{name}"),
        "Name": name,
        "VersionId": version,
        "SecretString": value,
    })
}
