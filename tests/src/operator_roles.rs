//! The template's policies for operators, and a guard that answers like AWS.

use std::sync::LazyLock;

use crate::text::list_of;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use local::stack::EndpointProxy;
use serde_json::{Value, json};

use crate::database_faults::answer_with;
use crate::iam_guard::{Call, DAYS, Record, guard};
use crate::roles::{names, resource_of};
use crate::template::{resources, service};

/// Each role includes those before it; `prize` needs an operator's only.
pub const ROLES: [&str; 5] = ["viewer", "reviewer", "operator", "admin", "prize"];

/// Prefix of operators' access keys, before their role; others may do everything. Storage takes
/// keys that begin with `local`.
const OPERATOR: &str = "local-operator-";

static POLICIES: LazyLock<[Vec<Statement>; 5]> = LazyLock::new(|| ROLES.map(policy));

/// Uses the terms of [`crate::iam_guard::Call`].
struct Statement {
    allows: bool,
    actions: Vec<String>,
    resources: Vec<String>,
    condition: Condition,
}

enum Condition {
    Always,
    /// The call touches these partitions alone; names may begin and end in `*`.
    Partitions(Vec<String>),
    /// The call touches other partitions.
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
            // Without "Null", a call without the key would be allowed.
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

    /// True for a call, or an item of a transaction.
    fn holds(&self, call: &Value) -> bool {
        let is_one =
            |known: &String, key: &str| match (known.strip_suffix('*'), known.strip_prefix('*')) {
                (Some(_), Some(part)) => key.contains(part.trim_end_matches('*')),
                (Some(beginning), None) => key.starts_with(beginning),
                (None, Some(ending)) => key.ends_with(ending),
                (None, None) => known == key,
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
    let statements = list_of(&properties["PolicyDocument"]["Statement"]).iter();
    let statement = |statement: &Value| {
        let actions: Vec<String> =
            serde_json::from_value(statement["Action"].clone()).expect("actions");
        let all = list_of(&statement["Resource"]);
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

/// True if a role may make a call or item.
fn allows(call: &Call, item: &Value) -> bool {
    let Some(last) = ROLES.iter().position(|known| *known == call.caller) else {
        return false;
    };
    let is_day = call.resource.ends_with(DAYS);
    // By the bucket's policy.
    if is_day && call.action == "s3:PutObject" {
        return false;
    }
    let resource = call.resource.trim_end_matches(DAYS).to_owned();
    let covers = |statement: &&Statement| {
        statement.actions.contains(&call.action)
            && statement.resources.contains(&resource)
            && statement.condition.holds(item)
    };
    let mut covering = POLICIES[..=last].iter().flatten().filter(covers).peekable();
    covering.peek().is_some() && covering.all(|statement| statement.allows)
}

/// Rights that no call needed.
pub fn unused(used: &Record) -> Vec<String> {
    let used = used.calls();
    let is_used = |action: &str, resource: &str| {
        used.iter()
            .any(|call| call.action == action && call.resource == resource)
    };
    let mut unused = Vec::new();
    let allowing = POLICIES
        .iter()
        .flatten()
        .filter(|statement| statement.allows);
    for statement in allowing {
        for resource in &statement.resources {
            let unused_here = statement
                .actions
                .iter()
                .filter(|action| !is_used(action, resource));
            unused.extend(unused_here.map(|action| format!("{action} {resource}")));
        }
    }
    unused
}

/// A guard that refuses what a role does not allow.
pub fn front(used: Record) -> EndpointProxy {
    guard(OPERATOR, used, |call, item| {
        (!allows(call, item)).then(|| denied(call))
    })
}

/// The partition in a call, or a statement about the audit log.
fn leading_key(call: &Value) -> Option<String> {
    let keys = [
        &call["Key"]["day"],
        &call["Key"]["id"],
        &call["Item"]["id"],
        &call["Key"]["limited"],
        &call["Key"]["scope"],
        &call["Key"]["part"],
        &call["Item"]["part"],
        &call["ExpressionAttributeValues"][":part"],
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

/// AWS's answer.
fn denied(call: &Call) -> Response<Body> {
    let Call {
        caller,
        action,
        resource,
    } = call;
    let service = action.split(':').next().expect("a service");
    let arn = format!("arn:aws:{service}:af-south-1:000000000000:{resource}");
    let message = format!(
        "User: arn:aws:iam::000000000000:user/{OPERATOR}{caller} is not authorized to perform: {action} on resource: \
         {arn} because no identity-based policy allows the {action} action"
    );
    if service != "s3" {
        let body = json!({ "__type": "AccessDeniedException", "Message": message });
        return answer_with(StatusCode::BAD_REQUEST, &body);
    }
    let body = format!("<Error><Code>AccessDenied</Code><Message>{message}</Message></Error>");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response
}
