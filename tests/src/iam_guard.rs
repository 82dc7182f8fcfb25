//! A proxy in front of the emulated AWS services that works out, for every call, which function makes it and which IAM
//! action on which resource it is.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use http::Method;
use http::request::Parts;
use local::stack::EndpointProxy;
use serde_json::Value;

use crate::forward::{self, Forwarder, failure, forwarder};

/// The prefix of functions' access keys; other keys are operators'.
const FUNCTION: &str = "local-";

/// A call in the terms of an IAM policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The function that makes the call, or on whose behalf Lambda makes it.
    pub function: String,
    /// Such as `dynamodb:GetItem`.
    pub action: String,
    /// `table/NAME`, `table/NAME/index/NAME`, `bucket/NAME`, `object/BUCKET`, `queue/NAME` or `secret/NAME`.
    pub resource: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.function, self.action, self.resource)
    }
}

pub type Allows = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// The calls that went through, without duplicates.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<BTreeSet<Call>>>);

impl Record {
    pub fn calls(&self) -> BTreeSet<Call> {
        self.0.lock().expect("not poisoned").clone()
    }
}

#[derive(Clone)]
struct Guarded {
    forwarder: Forwarder,
    upstream: Arc<str>,
    record: Record,
    allows: Allows,
}

/// A guard for a stack's AWS services. A call that is not allowed ends the program, because a function may ignore the
/// failure (of a wake-up message, say) and the test would pass.
pub fn front(record: Record, allows: Allows) -> EndpointProxy {
    EndpointProxy(Arc::new(move |upstream| {
        let (record, allows) = (record.clone(), Arc::clone(&allows));
        let guarded = Guarded {
            forwarder: forwarder(),
            upstream: upstream.into(),
            record,
            allows,
        };
        Box::pin(forward::serve(
            Router::new().fallback(look).with_state(guarded),
        ))
    }))
}

async fn look(State(guarded): State<Guarded>, request: Request) -> Response<Body> {
    let (parts, body) = forward::read(request).await;
    let function = access_key(&parts).and_then(|key| key.strip_prefix(FUNCTION).map(str::to_owned));
    let mut touched = if function.is_some() {
        touched(&parts, &body)
    } else {
        Vec::new()
    };
    let answer = forward::send(&guarded.forwarder, &guarded.upstream, &parts, body).await;
    if answer.as_ref().is_some_and(|answer| answer.status() == 404) {
        // S3 answers 403 instead of 404 to a caller without `s3:ListBucket`.
        let buckets = touched
            .iter()
            .filter_map(|(_, resource)| resource.strip_prefix("object/"));
        let listed = buckets.map(|bucket| ("s3:ListBucket".to_owned(), format!("bucket/{bucket}")));
        touched.extend(listed.collect::<Vec<_>>());
    }
    for (action, resource) in touched {
        let call = Call {
            function: function.clone().unwrap_or_default(),
            action,
            resource,
        };
        if !(guarded.allows)(&call) {
            // Straight to stderr: captured test output would be lost when the program exits.
            let _ = writeln!(
                std::io::stderr(),
                "the stack template does not allow this call: {call}"
            );
            std::process::exit(1);
        }
        guarded.record.0.lock().expect("not poisoned").insert(call);
    }
    answer.unwrap_or_else(failure)
}

/// The access key that signed a request, in the header or a presigned URL.
pub(crate) fn access_key(parts: &Parts) -> Option<String> {
    let header = parts
        .headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let signed = header.split_once("Credential=").map(|(_, rest)| rest);
    let presigned = parts
        .uri
        .query()
        .and_then(|query| query.split_once("X-Amz-Credential="));
    let credential = signed.or(presigned.map(|(_, rest)| rest))?;
    let end = credential.find(['/', '%']).unwrap_or(credential.len());
    credential.get(..end).map(str::to_owned)
}

/// Actions and resources of a request.
pub(crate) fn touched(parts: &Parts, body: &[u8]) -> Vec<(String, String)> {
    let target = parts
        .headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok())
        .unwrap_or_default();
    let json: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |field: &str| json[field].as_str().unwrap_or_default().to_owned();
    match target.split_once('.') {
        Some((service, operation)) if service.starts_with("DynamoDB") => tables(operation, &json),
        Some(("AmazonSQS", operation)) => {
            let queue = text("QueueUrl")
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned();
            vec![(
                format!("sqs:{}", operation.trim_end_matches("Batch")),
                format!("queue/{queue}"),
            )]
        }
        Some(("secretsmanager", operation)) => {
            vec![(
                format!("secretsmanager:{operation}"),
                format!("secret/{}", text("SecretId")),
            )]
        }
        Some((_, _)) | None => objects(parts),
    }
}

fn tables(operation: &str, json: &Value) -> Vec<(String, String)> {
    let named = |item: &Value| item["TableName"].as_str().unwrap_or_default().to_owned();
    let action = |operation: &str, table: String| {
        (format!("dynamodb:{operation}"), format!("table/{table}"))
    };
    match operation {
        // A transaction needs the permissions of each of its items.
        "TransactWriteItems" => {
            let items = json["TransactItems"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_object);
            let parts = items.flatten().map(|(kind, item)| {
                let operation = match kind.as_str() {
                    "ConditionCheck" => "ConditionCheckItem".to_owned(),
                    kind => format!("{kind}Item"),
                };
                action(&operation, named(item))
            });
            parts.collect()
        }
        // Each PartiQL statement has a permission of its own.
        "ExecuteTransaction" | "ExecuteStatement" => {
            let statements = json["TransactStatements"]
                .as_array()
                .cloned()
                .unwrap_or(vec![json.clone()]);
            let parts = statements.iter().map(|statement| {
                let statement = statement["Statement"].as_str().expect("text");
                let (verb, rest) = statement.split_once(' ').expect("a verb");
                let (first, others) = verb.split_at(1);
                let table = rest.split('"').nth(1).expect("a table").to_owned();
                action(&format!("PartiQL{first}{}", others.to_lowercase()), table)
            });
            parts.collect()
        }
        "BatchGetItem" => {
            let tables = json["RequestItems"].as_object().into_iter().flatten();
            tables
                .map(|(table, _)| action(operation, table.clone()))
                .collect()
        }
        "Query" => {
            let index = json["IndexName"]
                .as_str()
                .map(|index| format!("/index/{index}"));
            vec![action(operation, named(json) + &index.unwrap_or_default())]
        }
        _ => vec![action(operation, named(json))],
    }
}

/// A path names a bucket or an object in it.
fn objects(parts: &Parts) -> Vec<(String, String)> {
    let path = parts.uri.path().trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    let action = match parts.method {
        Method::GET | Method::HEAD => "s3:GetObject",
        Method::PUT => "s3:PutObject",
        Method::DELETE => "s3:DeleteObject",
        // A browser's CORS preflight, which is not signed.
        _ => return Vec::new(),
    };
    if key.is_empty() {
        vec![("s3:ListBucket".to_owned(), format!("bucket/{bucket}"))]
    } else {
        vec![(action.to_owned(), format!("object/{bucket}"))]
    }
}
