//! The deployment's templates as JSON. As in CloudFormation, `!Ref X` becomes `{"Ref": "X"}`, and any other `!Name value`
//! becomes `{"Fn::Name": value}`.

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value, json};

/// The text is not a template: its line, and what is wrong there.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct InvalidTemplate {
    line: usize,
    what: &'static str,
}

/// A collection whose end has not been parsed yet.
enum Open {
    List(Option<String>, Vec<Value>),
    Block(Option<String>, Map<String, Value>, Option<String>),
}

/// Reads a template.
///
/// # Errors
/// If it is not YAML, uses aliases, or has a name twice in one block.
pub fn parse(text: &str) -> Result<Value, InvalidTemplate> {
    let mut open: Vec<Open> = Vec::new();
    let mut line = 0;
    for event in Parser::new_from_str(text) {
        let invalid = |what| InvalidTemplate { line, what };
        let (event, span) = event.map_err(|_| invalid("this is no YAML after it"))?;
        line = span.start.line();
        let invalid = |what| InvalidTemplate { line, what };
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
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(tag, items)) => tagged(tag, Value::Array(items)),
                Some(Open::Block(tag, fields, _)) => tagged(tag, Value::Object(fields)),
                None => return Err(invalid("nothing ends here")),
            },
            Event::Alias(_) => return Err(invalid("no aliases")),
            _ => continue,
        };
        match open.last_mut() {
            None => return Ok(value),
            Some(Open::List(_, items)) => items.push(value),
            Some(Open::Block(_, fields, name)) => match name.take() {
                None => {
                    *name = Some(
                        value
                            .as_str()
                            .map_or_else(|| value.to_string(), str::to_owned),
                    )
                }
                Some(name) => {
                    if fields.insert(name, value).is_some() {
                        return Err(invalid("a name twice in one block"));
                    }
                }
            },
        }
    }
    Err(InvalidTemplate {
        line,
        what: "the template is empty",
    })
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
        _ => text
            .parse::<u64>()
            .map_or_else(|_| json!(text), |number| json!(number)),
    }
}
