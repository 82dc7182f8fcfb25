use std::ops::RangeInclusive;

use regex::Regex;
use serde_json::Number;

use super::join;
use super::schema::{Kind, Schema};
use super::tree::{Content, Entry, Node};
use crate::prelude::*;

/// Jaro-Winkler similarity, 0 to 1, from which a name counts as misspelled.
const MIN_LIKENESS: f64 = 0.75;
/// Limits of any JSON.
const MAX_JSON_ITEMS: usize = 100;
const JSON_TEXT: RangeInclusive<usize> = 0..=1_000;

pub(super) struct Checker<'a> {
    pub(super) problems: &'a Problems,
    /// Lines by path.
    pub(super) lines: HashMap<String, usize>,
}

impl Checker<'_> {
    pub(super) fn file(&mut self, root: &Node) -> Option<Map<String, Value>> {
        let Content::Block(entries) = &root.content else {
            let message = "the file must hold fields such as `slug: chai-bora-2026`, one a line";
            self.problems.add_line(root.line, message);
            return None;
        };
        self.lines.insert(String::new(), root.line);
        Some(self.object("", root.line, entries, Schema::of_file()))
    }

    fn value(&mut self, path: &str, node: &Node, schema: &Schema) -> Option<Value> {
        self.lines.insert(path.to_owned(), node.line);
        let found = match (schema.kind(), &node.content) {
            (Kind::Object, Content::Block(entries)) => {
                return Some(Value::Object(self.object(path, node.line, entries, schema)));
            }
            (Kind::Object, other) => {
                let names = listed(&schema.fields().map(|(name, _)| name).collect::<Vec<_>>());
                Err(match other {
                    Content::List(items) => {
                        format!(
                            "must hold the fields {names}, not a list of {}",
                            items.len()
                        )
                    }
                    _ => format!("must hold the fields {names}"),
                })
            }
            (Kind::List(max, item), Content::List(nodes)) => self.list(path, nodes, max, item),
            (Kind::Any, Content::List(nodes)) => self.list(path, nodes, MAX_JSON_ITEMS, schema),
            (Kind::List(..), _) => {
                Err("must be a list, such as `[ ... ]` or one line with `- ` for each".to_owned())
            }
            (Kind::Map(max, item), Content::Block(entries)) => self.map(path, entries, max, item),
            (Kind::Any, Content::Block(entries)) => self.map(path, entries, MAX_JSON_ITEMS, schema),
            (Kind::Map(..), _) => Err(format!("must hold fields, such as `{}`", schema.example)),
            (Kind::Text(chars), found) => {
                text(found, &chars).and_then(|text| in_form(text, schema))
            }
            (Kind::Choice(words), found) => {
                text(found, &(1..=100)).and_then(|text| choice(text, words, schema))
            }
            (Kind::Bool | Kind::Any, Content::Bool(found)) => Ok(Value::Bool(*found)),
            (Kind::Bool, _) => Err("must be true or false".to_owned()),
            (Kind::Integer(range), found) => integer(found, &range),
            (Kind::Any, Content::Null) => Ok(Value::Null),
            (Kind::Any, Content::Number(number)) => json_number(number),
            (Kind::Any, Content::Text(_)) => text(&node.content, &JSON_TEXT),
        };
        let note = |message| self.problems.add(node.line, path, message);
        found.map_err(note).ok()
    }

    fn object(
        &mut self,
        path: &str,
        line: usize,
        entries: &[Entry],
        schema: &Schema,
    ) -> Map<String, Value> {
        for entry in entries
            .iter()
            .filter(|entry| schema.field(&entry.name).is_none())
        {
            let known: Vec<_> = schema.fields().map(|(name, _)| name).collect();
            let message = match closest(&entry.name, &known) {
                Some(closest) => format!("did you mean `{closest}`?"),
                None => format!("here go {}", listed(&known)),
            };
            let message = format!("is not a field of a campaign file; {message}");
            self.problems
                .add(entry.line, &join(path, &entry.name), message);
        }
        self.note_twice(
            path,
            entries
                .iter()
                .filter(|entry| schema.field(&entry.name).is_some()),
        );
        let mut object = Map::new();
        for (name, field) in schema.fields() {
            let entry = entries.iter().find(|entry| entry.name == name);
            let path = join(path, name);
            let value = match entry.filter(|entry| !matches!(entry.value.content, Content::Null)) {
                Some(entry) => self.value(&path, &entry.value, field),
                None if field.left_out.is_none() => {
                    let message =
                        format!("is missing; add it, such as `{name}: {}`", field.example);
                    self.problems
                        .add(entry.map_or(line, |entry| entry.line), &path, message);
                    None
                }
                None => field.default.clone(),
            };
            object.extend(value.map(|value| (name.to_owned(), value)));
        }
        object
    }

    /// `null` replaces wrong items.
    fn list(
        &mut self,
        path: &str,
        nodes: &[Node],
        max: usize,
        item: &Schema,
    ) -> Result<Value, String> {
        if nodes.len() > max {
            return Err(format!(
                "must be a list of at most {max}, not of {}",
                nodes.len()
            ));
        }
        let items = nodes.iter().enumerate();
        let items = items.map(|(index, node)| self.value(&format!("{path}[{index}]"), node, item));
        Ok(items.map(Option::unwrap_or_default).collect())
    }

    fn map(
        &mut self,
        path: &str,
        entries: &[Entry],
        max: usize,
        item: &Schema,
    ) -> Result<Value, String> {
        if entries.len() > max {
            return Err(format!(
                "must hold at most {max} fields, not {}",
                entries.len()
            ));
        }
        self.note_twice(path, entries.iter());
        let value = |entry: &Entry| {
            let value = self.value(&join(path, &entry.name), &entry.value, item);
            (entry.name.clone(), value.unwrap_or_default())
        };
        Ok(Value::Object(entries.iter().map(value).collect()))
    }

    fn note_twice<'e>(&self, path: &str, entries: impl Iterator<Item = &'e Entry>) {
        let mut names = HashSet::new();
        for entry in entries.filter(|entry| !names.insert(&entry.name)) {
            let path = join(path, &entry.name);
            self.problems
                .add(entry.line, &path, "is there twice; keep one of them");
        }
    }
}

fn text(found: &Content, chars: &RangeInclusive<usize>) -> Result<Value, String> {
    let Content::Text(text) = found else {
        return Err("must be text; put it in quotes when it looks like something else".to_owned());
    };
    let text = text.trim();
    if !chars.contains(&text.chars().count()) {
        return Err(format!(
            "must be {} to {} characters",
            chars.start(),
            chars.end()
        ));
    }
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err("must not hold control characters; remove them".to_owned());
    }
    Ok(Value::from(text))
}

fn in_form(text: Value, schema: &Schema) -> Result<Value, String> {
    let (Some(pattern), Some(form)) = (&schema.pattern, &schema.form) else {
        return Ok(text);
    };
    let found = text.as_str().unwrap_or_default();
    if Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(found)) {
        Ok(text)
    } else {
        let form = form.replace("{example}", &schema.example);
        Err(format!("must be {form}"))
    }
}

fn choice(text: Value, words: &[String], schema: &Schema) -> Result<Value, String> {
    if schema.has_rule || words.iter().any(|word| text == *word) {
        return Ok(text);
    }
    let word = |word: &String| match schema.meanings.get(word) {
        Some(meaning) => format!("`{word}` ({meaning})"),
        None => format!("`{word}`"),
    };
    let mut words: Vec<_> = words.iter().map(word).collect();
    let last = words.pop().unwrap_or_default();
    Err(format!("must be {} or {last}", words.join(", ")))
}

fn integer(found: &Content, range: &RangeInclusive<u64>) -> Result<Value, String> {
    let (min, max) = (*range.start(), *range.end());
    let number: Option<i128> = match found {
        Content::Number(number) => number.parse().ok(),
        _ => None,
    };
    let number = number.filter(|number| *number >= min.into());
    let number = number.ok_or_else(|| format!("must be a whole number of at least {min}"))?;
    let number = u64::try_from(number).ok().filter(|number| *number <= max);
    let number = number.ok_or_else(|| format!("must be a whole number of at most {max}"))?;
    Ok(Value::from(number))
}

fn json_number(text: &str) -> Result<Value, String> {
    // DynamoDB's range of fractions.
    let is_kept = |number: &f64| *number == 0.0 || (1e-100..=1e100).contains(&number.abs());
    let number = match text.parse::<i128>() {
        Ok(number) => i64::try_from(number).ok().map(Number::from),
        Err(_) => text.parse().ok().filter(is_kept).and_then(Number::from_f64),
    };
    let wrong = "is not a number that can be sent; put it in quotes to send it as text";
    Ok(Value::Number(number.ok_or(wrong)?))
}

pub(super) fn closest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let closest = known
        .iter()
        .copied()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(closest) >= MIN_LIKENESS).then_some(closest)
}

pub(super) fn listed(names: &[&str]) -> String {
    joined(names.iter().map(|name| format!("`{name}`")))
}
