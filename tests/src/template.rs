//! The stack template: its YAML as a tree in which every short form, such as `!Ref`, is in its long form, and
//! what its roles allow.

use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use local::stack::NAMES;
use local::tables::TABLES;
use serde_json::{Map, Value, json};

use crate::guard::Call;

/// What the template is parsed from.
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../template.yaml");
/// Statements of what Lambda itself does in a function's name begin with it.
const RUNTIME: &str = "Runtime";

/// The template.
#[derive(Clone, Debug)]
pub struct Template(pub Value);

/// What a role allows: actions on resources, in the terms of [`Call`].
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// What the function itself does.
    pub own: BTreeSet<(String, String)>,
    /// What Lambda does in its name.
    pub runtime: BTreeSet<(String, String)>,
}

impl Policy {
    /// Whether a call is allowed.
    pub fn allows(&self, call: &Call) -> bool {
        let mut allowed = self.own.iter().chain(&self.runtime);
        allowed.any(|allowed| covers(allowed, call))
    }
}

/// Whether an allowed action on a resource, which can end in `*`, covers a call.
pub fn covers((action, resource): &(String, String), call: &Call) -> bool {
    let covered = match resource.strip_suffix('*') {
        Some(beginning) => call.resource.starts_with(beginning),
        None => *resource == call.resource,
    };
    covered && *action == call.action
}

impl Template {
    /// The one of this checkout.
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string(PATH).expect("the template is there"))
    }

    /// Parses a text.
    pub fn parse(text: &str) -> Self {
        let mut open: Vec<Open> = Vec::new();
        let mut root = Value::Null;
        for event in Parser::new_from_str(text) {
            let (event, _) = event.expect("the template is YAML");
            let done = match event {
                Event::Scalar(text, style, _, tag) => with_tag(scalar(&text, style), tag.as_deref()),
                Event::SequenceStart(.., tag) => {
                    open.push(Open {
                        tag: tag.map(|tag| tag.suffix().to_owned()),
                        place: Place::List(Vec::new()),
                    });
                    continue;
                }
                Event::MappingStart(.., tag) => {
                    let place = Place::Block(Map::new(), None);
                    open.push(Open { tag: tag.map(|tag| tag.suffix().to_owned()), place });
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => open.pop().expect("it was begun").close(),
                _ => continue,
            };
            match open.last_mut() {
                Some(parent) => parent.take(done),
                None => root = done,
            }
        }
        Self(root)
    }

    /// The resources of a type, by their logical ids.
    pub fn of_type<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let resources = self.0["Resources"].as_object().expect("resources");
        let of_type = resources.iter().filter(move |(_, resource)| resource["Type"] == kind);
        of_type.map(|(id, resource)| (id.as_str(), &resource["Properties"]))
    }

    /// What each function's role allows, by the function's name, on a local stack.
    pub fn policies(&self) -> BTreeMap<String, Policy> {
        let names = self.names();
        let functions = self.of_type("AWS::Serverless::Function");
        let policies = functions.map(|(id, properties)| {
            let name = properties["CodeUri"].as_str().expect("a path").trim_end_matches('/');
            let name = name.strip_prefix("functions/").expect("a crate of a function").to_owned();
            let role = &self.0["Resources"][format!("{id}Role")]["Properties"];
            let policies = role["Policies"].as_array().expect("policies").iter();
            let statements = policies.flat_map(|policy| policy["PolicyDocument"]["Statement"].as_array());
            let mut policy = Policy::default();
            for statement in statements.flatten() {
                assert_eq!(statement["Effect"], "Allow", "{id}");
                let runtime = statement["Sid"].as_str().unwrap_or_default().starts_with(RUNTIME);
                let kind = if runtime { &mut policy.runtime } else { &mut policy.own };
                kind.extend(allowed(statement, &names));
            }
            (name, policy)
        });
        policies.collect()
    }

    /// What the logical ids of resources are called on a local stack: functions are told them by variables.
    fn names(&self) -> BTreeMap<String, String> {
        let tables = TABLES.iter().map(|table| (table.variable, table.name));
        let local: BTreeMap<_, _> = NAMES.into_iter().chain(tables).collect();
        let mut names = BTreeMap::new();
        for (_, function) in self.of_type("AWS::Serverless::Function") {
            let variables = function["Environment"]["Variables"].as_object().into_iter().flatten();
            for (variable, value) in variables {
                if let (Some(id), Some(name)) = (value["Ref"].as_str(), local.get(variable.as_str())) {
                    names.insert(id.to_owned(), (*name).to_owned());
                }
            }
        }
        names
    }
}

/// The actions of a statement on each of its resources.
fn allowed(statement: &Value, names: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let list = |field: &str| match &statement[field] {
        Value::Array(values) => values.clone(),
        value => vec![value.clone()],
    };
    let mut allowed = Vec::new();
    for action in list("Action") {
        let action = action.as_str().expect("an action").to_owned();
        if ["logs:", "xray:"].iter().any(|service| action.starts_with(service)) {
            // Lambda's own, of which nothing is embedded.
            continue;
        }
        for resource in list("Resource") {
            allowed.push((action.clone(), resource_of(&action, &resource, names)));
        }
    }
    allowed
}

/// A resource in the terms of a call.
fn resource_of(action: &str, resource: &Value, names: &BTreeMap<String, String>) -> String {
    let named = |id: &str| names.get(id).unwrap_or_else(|| panic!("no variable refers to {id}")).clone();
    let service = action.split(':').next().unwrap_or_default();
    if let Some(attribute) = resource["Fn::GetAtt"].as_str() {
        let id = attribute.strip_suffix(".Arn").expect("its address");
        let kind = match service {
            "dynamodb" => "table",
            "sqs" => "queue",
            "s3" => "bucket",
            _ => panic!("{action} on {id}"),
        };
        return format!("{kind}/{}", named(id));
    }
    let pattern = resource["Fn::Sub"].as_str().unwrap_or_else(|| panic!("{action} on {resource}"));
    if let Some((_, secret)) = pattern.split_once(":secret:") {
        return format!("secret/{secret}");
    }
    let (id, rest) = pattern
        .strip_prefix("${")
        .and_then(|rest| rest.split_once(".Arn}"))
        .expect("something of a resource");
    match (service, rest) {
        ("s3", "/*") => format!("object/{}", named(id)),
        ("dynamodb", index) if index.starts_with("/index/") && !index.contains('*') => {
            format!("table/{}{index}", named(id))
        }
        _ => panic!("{action} on {pattern} is wider than what is compared"),
    }
}

/// A list or block that has begun.
struct Open {
    tag: Option<String>,
    place: Place,
}

enum Place {
    List(Vec<Value>),
    Block(Map<String, Value>, Option<String>),
}

impl Open {
    fn take(&mut self, value: Value) {
        match &mut self.place {
            Place::List(values) => values.push(value),
            Place::Block(fields, name) => match name.take() {
                Some(name) => {
                    let before = fields.insert(name.clone(), value);
                    assert_eq!(before, None, "{name} is there twice");
                }
                None => *name = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            },
        }
    }

    fn close(self) -> Value {
        let value = match self.place {
            Place::List(values) => Value::Array(values),
            Place::Block(fields, _) => Value::Object(fields),
        };
        long_form(value, self.tag.as_deref())
    }
}

fn with_tag(value: Value, tag: Option<&Tag>) -> Value {
    long_form(value, tag.map(Tag::suffix))
}

/// `!Ref x` is `{ Ref: x }`, `!Sub x` is `{ Fn::Sub: x }`, and so on.
fn long_form(value: Value, tag: Option<&str>) -> Value {
    match tag {
        None => value,
        Some(name @ ("Ref" | "Condition")) => json!({ name: value }),
        Some(name) => json!({ format!("Fn::{name}"): value }),
    }
}

/// What is written without quotes can be something else than text.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    match (style, text) {
        (ScalarStyle::Plain, "true") => json!(true),
        (ScalarStyle::Plain, "false") => json!(false),
        (ScalarStyle::Plain, "" | "~" | "null") => Value::Null,
        (ScalarStyle::Plain, number) if number.parse::<i64>().is_ok() => json!(number.parse::<i64>().ok()),
        _ => json!(text),
    }
}
