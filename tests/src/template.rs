//! The deployment's templates as JSON, for tests that compare them with the code. As in CloudFormation, `!Ref X`
//! becomes `{"Ref": "X"}`, and any other `!Name value` becomes `{"Fn::Name": value}`.

use std::path::PathBuf;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value, json};

/// Reads a file of the repository.
pub fn text_of(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The service's template.
pub fn service() -> Value {
    parse(&text_of("template.yaml"))
}

/// The policy of the role that deploys.
pub fn deployer() -> Value {
    serde_json::from_str(&text_of("infra/deployer.json")).expect("JSON")
}

/// `CheckCode` for `check-code`.
pub fn logical_id(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

/// Properties of the resources of a type, by logical id.
pub fn resources<'a>(template: &'a Value, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let all = template["Resources"].as_object().expect("resources");
    let wanted = all.iter().filter(move |(_, resource)| resource["Type"] == kind);
    wanted.map(|(id, resource)| (id.as_str(), &resource["Properties"]))
}

/// A collection whose end has not been parsed yet.
enum Open {
    List(Option<String>, Vec<Value>),
    Block(Option<String>, Map<String, Value>, Option<String>),
}

/// Panics on invalid YAML and on aliases.
pub fn parse(text: &str) -> Value {
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.expect("YAML");
        let tag = event.tag().map(|tag| tag.suffix().to_owned());
        let value = match event {
            Event::Scalar(text, style, ..) => tagged(tag, scalar(&text, style)),
            Event::SequenceStart(..) => {
                open.push(Open::List(tag, Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Block(tag, Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop().expect("something open") {
                Open::List(tag, items) => tagged(tag, Value::Array(items)),
                Open::Block(tag, fields, _) => tagged(tag, Value::Object(fields)),
            },
            Event::Alias(_) => panic!("line {}: no aliases", span.start.line()),
            _ => continue,
        };
        match open.last_mut() {
            None => return value,
            Some(Open::List(_, items)) => items.push(value),
            Some(Open::Block(_, fields, name)) => match name.take() {
                None => *name = Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
                Some(name) => {
                    let earlier = fields.insert(name, value);
                    assert!(earlier.is_none(), "line {}: a name twice in one block", span.start.line());
                }
            },
        }
    }
    panic!("the template is empty");
}

fn tagged(tag: Option<String>, value: Value) -> Value {
    match tag.as_deref() {
        None => value,
        Some("Ref") => json!({ "Ref": value }),
        Some("Condition") => json!({ "Condition": value }),
        Some(name) => json!({ format!("Fn::{name}"): value }),
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    match text {
        _ if style != ScalarStyle::Plain => json!(text),
        "true" => json!(true),
        "false" => json!(false),
        _ => text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number)),
    }
}
