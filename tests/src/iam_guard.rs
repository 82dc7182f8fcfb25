//! A guard before a stack's AWS services: works out the caller, IAM actions and resources of every
//! call, and answers what is not allowed.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::text::text_of;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use http::Method;
use http::request::Parts;
use local::stack::EndpointProxy;
use serde_json::Value;

use crate::forward;

/// Prefix of functions' access keys; others are operators'.
const FUNCTION: &str = "local-";

/// Ends the resource of the days of plans, which have statements of their own.
pub(crate) const DAYS: &str = "/days";

/// A call in IAM's terms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// An operator's role; or the function that makes the call, or on whose behalf Lambda does.
    pub caller: String,
    /// Such as `dynamodb:GetItem`.
    pub action: String,
    /// `table/NAME`, `table/NAME/index/NAME`, `bucket/NAME`, `object/BUCKET`, `object/BUCKET/days`, `queue/NAME` or `secret/NAME`.
    pub resource: String,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.caller, self.action, self.resource)
    }
}

pub type Allows = Arc<dyn Fn(&Call) -> bool + Send + Sync>;

/// Allowed calls.
#[derive(Clone, Default)]
pub struct Record(Arc<Mutex<BTreeSet<Call>>>);

impl Record {
    pub fn calls(&self) -> BTreeSet<Call> {
        self.0.lock().expect("not poisoned").clone()
    }
}

/// A guard of functions. A forbidden call ends the program: functions may ignore a failure, as of a
/// wake-up message, and the test would pass.
pub fn front(record: Record, allows: Allows) -> EndpointProxy {
    guard(FUNCTION, record, move |call, _| {
        if !allows(call) {
            // Straight to stderr: captured output would be lost.
            let _ = writeln!(
                std::io::stderr(),
                "the stack template does not allow this call: {call}"
            );
            std::process::exit(1);
        }
        None
    })
}

/// A guard of callers whose access keys begin with `prefix`. `refuse` gets each call, with its item
/// if in a transaction, and returns the answer to a forbidden one.
pub(crate) fn guard(
    prefix: &'static str,
    record: Record,
    refuse: impl Fn(&Call, &Value) -> Option<Response<Body>> + Send + Sync + 'static,
) -> EndpointProxy {
    let refuse = Arc::new(refuse);
    forward::front(move |call| {
        let (record, refuse) = (record.clone(), Arc::clone(&refuse));
        async move {
            let key = access_key(&call.parts);
            let Some(caller) = key.as_deref().and_then(|key| key.strip_prefix(prefix)) else {
                return call.send().await;
            };
            let check = |(action, resource): (String, String), item: &Value| {
                let caller = caller.to_owned();
                let call = Call {
                    caller,
                    action,
                    resource,
                };
                let refused = refuse(&call, item);
                if refused.is_none() {
                    record.0.lock().expect("not poisoned").insert(call);
                }
                refused
            };
            let json = call.json().unwrap_or_default();
            let touched = touched(&call.parts, &json);
            let bucket = touched
                .first()
                .and_then(|(_, resource)| resource.strip_prefix("object/"))
                .map(|bucket| format!("bucket/{}", bucket.trim_end_matches(DAYS)));
            for (index, call) in touched.into_iter().enumerate() {
                if let Some(refused) = check(call, item_of(&json, index)) {
                    return refused;
                }
            }
            let answer = call.send().await;
            match bucket {
                // S3 answers 403 without `s3:ListBucket`.
                Some(bucket) if answer.status() == StatusCode::NOT_FOUND => {
                    check(("s3:ListBucket".to_owned(), bucket), &json).unwrap_or(answer)
                }
                Some(_) | None => answer,
            }
        }
    })
}

fn item_of(call: &Value, index: usize) -> &Value {
    match (
        &call["TransactItems"][index],
        &call["TransactStatements"][index],
    ) {
        (Value::Null, Value::Null) => call,
        (Value::Null, statement) => statement,
        (item, _) => item
            .as_object()
            .and_then(|item| item.values().next())
            .unwrap_or(item),
    }
}

/// The signing access key, from header or presigned URL.
fn access_key(parts: &Parts) -> Option<String> {
    let header = parts.headers.get("authorization");
    let header = header.and_then(|value| value.to_str().ok());
    let signed = header.and_then(|header| header.split_once("Credential="));
    let query = parts.uri.query();
    let presigned = query.and_then(|query| query.split_once("X-Amz-Credential="));
    let (_, credential) = signed.or(presigned)?;
    let end = credential.find(['/', '%']).unwrap_or(credential.len());
    credential.get(..end).map(str::to_owned)
}

/// Actions and resources of a request.
fn touched(parts: &Parts, json: &Value) -> Vec<(String, String)> {
    let target = parts
        .headers
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok())
        .unwrap_or_default();
    let text = |field: &str| json[field].as_str().unwrap_or_default().to_owned();
    match target.split_once('.') {
        Some((service, operation)) if service.starts_with("DynamoDB") => tables(operation, json),
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
        // A transaction needs each item's permissions.
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
        // Each PartiQL statement has its own permission.
        "ExecuteTransaction" | "ExecuteStatement" => {
            let statements = json["TransactStatements"]
                .as_array()
                .cloned()
                .unwrap_or(vec![json.clone()]);
            let parts = statements.iter().map(|statement| {
                let statement = text_of(&statement["Statement"]);
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
        // A CORS preflight is not signed.
        _ => return Vec::new(),
    };
    if key.is_empty() {
        vec![("s3:ListBucket".to_owned(), format!("bucket/{bucket}"))]
    } else {
        let is_day = key.contains("/_instant/") && key.contains("/days/");
        let folder = if is_day { DAYS } else { "" };
        vec![(action.to_owned(), format!("object/{bucket}{folder}"))]
    }
}
