//! The template's permissions of each function.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::{list_of, text_of};
use local::stack::{NAMES, PARTNER_SECRETS_PREFIX};
use local::tables::TABLES;
use serde_json::Value;

use crate::iam_guard::{Call, DAYS};
use crate::template::{logical_id, resources, service};

/// `Sid` prefix for calls that Lambda makes on a function's behalf.
const RUNTIME: &str = "Runtime";

/// Actions and resources, in the terms of [`Call`].
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub own: BTreeSet<(String, String)>,
    /// Lambda's, on its behalf.
    pub runtime: BTreeSet<(String, String)>,
}

impl Policy {
    pub fn allows(&self, call: &Call) -> bool {
        let mut allowed = self.own.iter().chain(&self.runtime);
        allowed.any(|allowed| covers(allowed, call))
    }
}

/// True if an allowed action and resource, which may end in `*`, cover a call.
pub fn covers((action, resource): &(String, String), call: &Call) -> bool {
    let covered = match resource.strip_suffix('*') {
        Some(beginning) => call.resource.starts_with(beginning),
        None => *resource == call.resource,
    };
    covered && *action == call.action
}

/// Policies by function, with resources of a local stack.
pub fn policies() -> BTreeMap<String, Policy> {
    let template = service();
    let names = names(&template);
    let functions = resources(&template, "AWS::Serverless::Function");
    let policies = functions.map(|(id, properties)| {
        let name = text_of(&properties["CodeUri"]).trim_end_matches('/');
        let name = name
            .strip_prefix("functions/")
            .expect("a crate of a function")
            .to_owned();
        let role = &template["Resources"][format!("{id}Role")]["Properties"];
        let policies = list_of(&role["Policies"]).iter();
        let statements =
            policies.flat_map(|policy| policy["PolicyDocument"]["Statement"].as_array());
        let mut policy = Policy::default();
        for statement in statements.flatten() {
            assert_eq!(statement["Effect"], "Allow", "{id}");
            let runtime = statement["Sid"]
                .as_str()
                .unwrap_or_default()
                .starts_with(RUNTIME);
            let kind = if runtime {
                &mut policy.runtime
            } else {
                &mut policy.own
            };
            kind.extend(allowed(statement, &names));
        }
        (name, policy)
    });
    policies.collect()
}

/// Local resource names by logical id, from functions' variables.
pub(crate) fn names(template: &Value) -> BTreeMap<String, String> {
    let tables = TABLES.iter().map(|table| (table.variable, table.name));
    let local: BTreeMap<_, _> = NAMES.into_iter().chain(tables).collect();
    let mut names = BTreeMap::new();
    for (_, function) in resources(template, "AWS::Serverless::Function") {
        let variables = function["Environment"]["Variables"]
            .as_object()
            .into_iter()
            .flatten();
        for (variable, value) in variables {
            if let (Some(id), Some(name)) = (value["Ref"].as_str(), local.get(variable.as_str())) {
                names.insert(id.to_owned(), (*name).to_owned());
            }
        }
    }
    // Some tables are operators' alone.
    let tables = TABLES.iter().map(|table| {
        (
            logical_id(&table.name.replace('_', "-")),
            table.name.to_owned(),
        )
    });
    names.extend(tables.map(|(id, name)| (format!("{id}Table"), name)));
    names.extend(
        [
            ("DrawEvidence", ops_core::EVIDENCE_VARIABLE),
            ("DrawOpenings", ops_core::OPENINGS_VARIABLE),
            ("MomentsSecret", common::aws::moments_secret::VARIABLE),
        ]
        .map(|(id, variable)| {
            (
                id.to_owned(),
                local.get(variable).copied().unwrap_or_default().to_owned(),
            )
        }),
    );
    // A bucket that would make a cycle is named by its pattern.
    for (id, bucket) in resources(template, "AWS::S3::Bucket") {
        if let (Some(pattern), Some(name)) =
            (bucket["BucketName"]["Fn::Sub"][0].as_str(), names.get(id))
        {
            names.insert(pattern.to_owned(), name.clone());
        }
    }
    names
}

/// Each action with each resource.
fn allowed(statement: &Value, names: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let list = |field: &str| match &statement[field] {
        Value::Array(values) => values.clone(),
        value => vec![value.clone()],
    };
    let mut allowed = Vec::new();
    for action in list("Action") {
        let action = action.as_str().expect("an action").to_owned();
        if ["logs:", "xray:"]
            .iter()
            .any(|service| action.starts_with(service))
        {
            // Lambda's own; a local stack has no logs or tracing.
            continue;
        }
        for resource in list("Resource") {
            allowed.push((action.clone(), resource_of(&action, &resource, names)));
        }
    }
    allowed
}

/// A resource in the terms of a call.
pub(crate) fn resource_of(
    action: &str,
    resource: &Value,
    names: &BTreeMap<String, String>,
) -> String {
    // Only Lambda uses a resource without a variable, which keeps its logical id.
    let named = |id: &str| names.get(id).map_or(id, String::as_str).to_owned();
    let service = action.split(':').next().unwrap_or_default();
    if let ("secretsmanager", Some(id)) = (service, resource["Ref"].as_str()) {
        return format!("secret/{}", named(id));
    }
    if let Some(attribute) = resource["Fn::GetAtt"].as_str() {
        if let Some(id) = attribute.strip_suffix(".StreamArn") {
            return format!("stream/{}", named(id));
        }
        let id = attribute.strip_suffix(".Arn").expect("its address");
        let kind = match service {
            "dynamodb" => "table",
            "sqs" => "queue",
            "s3" => "bucket",
            _ => panic!("{action} on {id}"),
        };
        return format!("{kind}/{}", named(id));
    }
    // `Fn::Sub` takes a pattern, or a list that begins with one.
    let pattern = resource["Fn::Sub"]
        .as_str()
        .or(resource["Fn::Sub"][0].as_str());
    let pattern = pattern.unwrap_or_else(|| panic!("{action} on {resource}"));
    if let Some((_, secret)) = pattern.split_once(":secret:") {
        return format!(
            "secret/{}",
            secret.replace("${AWS::StackName}/", PARTNER_SECRETS_PREFIX)
        );
    }
    if let Some(bucket) = pattern.strip_prefix("arn:${AWS::Partition}:s3:::") {
        let (kind, bucket) = bucket
            .strip_suffix("/*")
            .map_or(("bucket", bucket), |bucket| ("object", bucket));
        let name = names
            .get(bucket)
            .unwrap_or_else(|| panic!("{action} on {pattern}"));
        return format!("{kind}/{name}");
    }
    let (id, rest) = pattern
        .strip_prefix("${")
        .and_then(|rest| rest.split_once(".Arn}"))
        .expect("something of a resource");
    match (service, rest) {
        ("s3", "/*") => format!("object/{}", named(id)),
        ("s3", "/*/_instant/*/days/*") => format!("object/{}{DAYS}", named(id)),
        ("dynamodb", index) if index.starts_with("/index/") && !index.contains('*') => {
            format!("table/{}{index}", named(id))
        }
        _ => panic!("{action} on {pattern} is wider than what is compared"),
    }
}
