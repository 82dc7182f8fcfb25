//! What the stack template's policies allow operators, and a guard that answers as AWS does where they do not.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use local::stack::EndpointProxy;
use serde_json::{Value, json};

use crate::forward::{self, Forwarder, failure, forwarder};
use crate::iam_guard::{access_key, touched};
use crate::roles::{names, resource_of};
use crate::template::{resources, service};

/// The roles, each of which has the policies of those before it.
pub const ROLES: [&str; 4] = ["viewer", "reviewer", "operator", "admin"];

/// The prefix of access keys of operators, before the name of their role; other access keys may do everything. Storage takes
/// the keys that begin with `local`.
const OPERATOR: &str = "local-operator-";

static POLICIES: LazyLock<[Vec<Statement>; 4]> = LazyLock::new(|| ROLES.map(policy));

/// A statement of a policy, in the terms of [`crate::iam_guard::Call`].
struct Statement {
    allows: bool,
    actions: Vec<String>,
    resources: Vec<String>,
    condition: Condition,
}

/// When a statement holds.
enum Condition {
    Always,
    /// The call touches these partitions of a table alone; a name may begin and end in `*`.
    Partitions(Vec<String>),
    /// The call touches other partitions than these.
    OtherPartitions(Vec<String>),
    /// The call names none of these attributes.
    OtherAttributes(Vec<String>),
}

impl Condition {
    fn from_statement(statement: &Value) -> Self {
        let condition = &statement["Condition"];
        let names = |names: &Value| serde_json::from_value(names.clone()).expect("names");
        match condition
            .as_object()
            .map(|parts| parts.iter().collect::<Vec<_>>())
            .as_deref()
        {
            None => Self::Always,
            Some([(kind, keys)]) if *kind == "ForAnyValue:StringNotEquals" => {
                Self::OtherPartitions(names(&keys["dynamodb:LeadingKeys"]))
            }
            // Without "Null", a call that has no such key at all would be allowed.
            Some([(kind, keys), (null, key)])
                if ["ForAllValues:StringEquals", "ForAllValues:StringLike"]
                    .contains(&kind.as_str())
                    && *null == "Null" =>
            {
                assert_eq!(key["dynamodb:LeadingKeys"], "false");
                Self::Partitions(names(&keys["dynamodb:LeadingKeys"]))
            }
            Some([(kind, keys), (null, key)])
                if *kind == "ForAllValues:StringNotEquals" && *null == "Null" =>
            {
                assert_eq!(key["dynamodb:Attributes"], "false");
                Self::OtherAttributes(names(&keys["dynamodb:Attributes"]))
            }
            Some(_) => panic!("{condition} is not compared"),
        }
    }

    /// True if it holds for a call, or for an item of a transaction.
    fn holds(&self, call: &Value) -> bool {
        let is_one =
            |known: &String, key: &str| match (known.strip_suffix('*'), known.strip_prefix('*')) {
                (Some(_), Some(part)) => key.contains(part.trim_end_matches('*')),
                (Some(beginning), None) => key.starts_with(beginning),
                (None, _) => known == key,
            };
        let is_in = |keys: &[String]| {
            leading_key(call).map(|key| keys.iter().any(|known| is_one(known, &key)))
        };
        match self {
            Self::Always => true,
            Self::Partitions(keys) => is_in(keys) == Some(true),
            Self::OtherPartitions(keys) => is_in(keys) == Some(false),
            Self::OtherAttributes(names) => {
                let text = [
                    "UpdateExpression",
                    "ConditionExpression",
                    "ExpressionAttributeNames",
                ];
                let text: String = text.iter().map(|part| call[*part].to_string()).collect();
                let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                !words.any(|word| names.iter().any(|name| name == word))
            }
        }
    }
}

/// The access key of an operator with a role.
pub fn access_key_of(role: &str) -> String {
    format!("{OPERATOR}{role}")
}

fn policy(role: &str) -> Vec<Statement> {
    let template = service();
    let names = names(&template);
    let id = format!("{}{}Policy", role[..1].to_uppercase(), &role[1..]);
    let (_, properties) = resources(&template, "AWS::IAM::ManagedPolicy")
        .find(|(found, _)| *found == id)
        .expect("a policy");
    let statements = properties["PolicyDocument"]["Statement"]
        .as_array()
        .expect("statements")
        .iter();
    let statement = |statement: &Value| {
        let actions: Vec<String> =
            serde_json::from_value(statement["Action"].clone()).expect("actions");
        let all = statement["Resource"].as_array().expect("resources");
        let resources = all
            .iter()
            .map(|resource| resource_of(&actions[0], resource, &names))
            .collect();
        let (allows, condition) = (
            statement["Effect"] == "Allow",
            Condition::from_statement(statement),
        );
        Statement {
            allows,
            actions,
            resources,
            condition,
        }
    };
    statements.map(statement).collect()
}

/// True if a role may make a call, or an item of a transaction.
fn allows(role: &str, action: &str, resource: &str, call: &Value) -> bool {
    let Some(last) = ROLES.iter().position(|known| *known == role) else {
        return false;
    };
    let statements = || POLICIES[..=last].iter().flatten();
    let covers = |statement: &&Statement| {
        statement.actions.iter().any(|known| known == action)
            && statement.resources.iter().any(|known| known == resource)
            && statement.condition.holds(call)
    };
    statements()
        .filter(covers)
        .any(|statement| statement.allows)
        && !statements()
            .filter(covers)
            .any(|statement| !statement.allows)
}

/// The actions and resources of calls that went through.
#[derive(Clone, Default)]
pub struct Used(Arc<Mutex<BTreeSet<(String, String)>>>);

impl Used {
    /// The rights that the policies allow and no command used.
    pub fn unused(&self) -> Vec<String> {
        let used = self.0.lock().expect("not poisoned");
        let allowed = POLICIES
            .iter()
            .flatten()
            .filter(|statement| statement.allows)
            .flat_map(|statement| {
                let resources = statement.resources.iter();
                resources.flat_map(|resource| {
                    statement
                        .actions
                        .iter()
                        .map(move |action| (action.clone(), resource.clone()))
                })
            });
        allowed
            .filter(|pair| !used.contains(pair))
            .map(|(action, resource)| format!("{action} {resource}"))
            .collect()
    }
}

/// A guard for a stack's AWS services, which refuses what an operator's role does not allow.
pub fn front(used: Used) -> EndpointProxy {
    EndpointProxy(Arc::new(move |upstream| {
        let guarded = (forwarder(), Arc::from(upstream), used.clone());
        Box::pin(forward::serve(
            Router::new().fallback(look).with_state(guarded),
        ))
    }))
}

type Guarded = (Forwarder, Arc<str>, Used);

async fn look(
    State((forwarder, upstream, used)): State<Guarded>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = forward::read(request).await;
    let key = access_key(&parts);
    let Some(role) = key.as_deref().and_then(|key| key.strip_prefix(OPERATOR)) else {
        return forward::send(&forwarder, &upstream, &parts, body)
            .await
            .unwrap_or_else(failure);
    };
    let use_right = |action: &str, resource: &str, call: &Value| {
        let allowed = allows(role, action, resource, call);
        if allowed {
            used.0
                .lock()
                .expect("not poisoned")
                .insert((action.to_owned(), resource.to_owned()));
        }
        allowed
    };
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let touched = touched(&parts, &body);
    for (index, (action, resource)) in touched.iter().enumerate() {
        if !use_right(action, resource, item_of(&json, index)) {
            return denied(role, action, resource);
        }
    }
    let answer = forward::send(&forwarder, &upstream, &parts, body)
        .await
        .unwrap_or_else(failure);
    let object = touched
        .first()
        .and_then(|(_, resource)| resource.strip_prefix("object/"));
    match object.map(|bucket| format!("bucket/{bucket}")) {
        // S3 answers 403 instead of 404 to a caller without `s3:ListBucket`.
        Some(bucket)
            if answer.status() == StatusCode::NOT_FOUND
                && !use_right("s3:ListBucket", &bucket, &json) =>
        {
            denied(role, "s3:ListBucket", &bucket)
        }
        Some(_) | None => answer,
    }
}

/// An item of a transaction, or the call itself.
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

/// The partition that a call, or a statement about the audit log, names.
fn leading_key(call: &Value) -> Option<String> {
    let keys = [
        &call["Key"]["day"],
        &call["Key"]["id"],
        &call["Item"]["id"],
        &call["Key"]["limited"],
        &call["Key"]["scope"],
    ];
    if let Some(key) = keys.into_iter().find_map(|key| key["S"].as_str()) {
        return Some(key.to_owned());
    }
    let text = call["Statement"].as_str()?;
    match text.split_once("'day': ?") {
        Some((before, _)) => {
            let place = before.matches('?').count();
            call["Parameters"][place]["S"].as_str().map(str::to_owned)
        }
        None => text
            .split_once("\"day\" = '")?
            .1
            .split('\'')
            .next()
            .map(str::to_owned),
    }
}

/// What AWS answers.
fn denied(role: &str, action: &str, resource: &str) -> Response<Body> {
    let (kind, name) = resource.split_once('/').expect("a kind and a name");
    let service = action.split(':').next().expect("a service");
    let arn = format!("arn:aws:{service}:af-south-1:000000000000:{kind}/{name}");
    let message = format!(
        "User: arn:aws:iam::000000000000:user/{OPERATOR}{role} is not authorized to perform: {action} on resource: \
         {arn} because no identity-based policy allows the {action} action"
    );
    let (status, body) = match service {
        "s3" => (
            StatusCode::FORBIDDEN,
            format!("<Error><Code>AccessDenied</Code><Message>{message}</Message></Error>"),
        ),
        _ => (
            StatusCode::BAD_REQUEST,
            json!({ "__type": "AccessDeniedException", "Message": message }).to_string(),
        ),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response
}
