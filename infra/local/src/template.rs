//! The deployment's templates as JSON. `!Ref X` becomes `{"Ref": "X"}`, and any other `!Name value`
//! becomes `{"Fn::Name": value}`, as in CloudFormation. `<<: *name` takes over missing fields, as
//! in `sam build`.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value, json};

/// The line that is not valid, and why.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct InvalidTemplate {
    line: usize,
    what: &'static str,
}

enum Open {
    List(Kept, Vec<Value>),
    Block(Kept, Map<String, Value>, Option<String>),
}

/// Tag and anchor number of a collection; 0 without an anchor.
type Kept = (Option<String>, usize);

/// Reads a template.
///
/// # Errors
/// If it is not YAML, or has a name twice in one block.
pub fn parse(text: &str) -> Result<Value, InvalidTemplate> {
    let mut open: Vec<Open> = Vec::new();
    let mut anchors = HashMap::new();
    let mut line = 0;
    for event in Parser::new_from_str(text) {
        let invalid = |what| InvalidTemplate { line, what };
        let (event, span) = event.map_err(|_| invalid("this is no YAML after it"))?;
        line = span.start.line();
        let invalid = |what| InvalidTemplate { line, what };
        let tag = event.tag().map(|tag| tag.suffix().to_owned());
        let ((tag, anchor), value) = match event {
            Event::Scalar(text, style, anchor, _) => ((tag, anchor), scalar(&text, style)),
            Event::SequenceStart(_, anchor, _) => {
                open.push(Open::List((tag, anchor), Vec::new()));
                continue;
            }
            Event::MappingStart(_, anchor, _) => {
                open.push(Open::Block((tag, anchor), Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(kept, items)) => (kept, Value::Array(items)),
                Some(Open::Block(kept, fields, _)) => {
                    let merged = merge(fields).ok_or_else(|| invalid("this is no block"))?;
                    (kept, Value::Object(merged))
                }
                None => return Err(invalid("nothing ends here")),
            },
            Event::Alias(anchor) => {
                let value: Option<&Value> = anchors.get(&anchor);
                ((None, 0), value.cloned().unwrap_or_default())
            }
            _ => continue,
        };
        let value = tagged(tag, value);
        if anchor > 0 {
            anchors.insert(anchor, value.clone());
        }
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

/// Takes over missing fields from what `<<` names; `None` if that is not a block.
fn merge(mut fields: Map<String, Value>) -> Option<Map<String, Value>> {
    if let Some(shared) = fields.remove("<<") {
        let Value::Object(mut merged) = shared else {
            return None;
        };
        merged.extend(fields);
        fields = merged;
    }
    Some(fields)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_block_win_over_those_it_takes_over() {
        let text =
            "a: {<<: &shared {b: 1, c: !Ref X}, d: 2}\ne:\n  <<: *shared\n  b: 3\nf: *shared\n";
        let expected = json!({
            "a": { "b": 1, "c": { "Ref": "X" }, "d": 2 },
            "e": { "b": 3, "c": { "Ref": "X" } },
            "f": { "b": 1, "c": { "Ref": "X" } },
        });
        assert_eq!(parse(text).ok(), Some(expected));
    }
}
