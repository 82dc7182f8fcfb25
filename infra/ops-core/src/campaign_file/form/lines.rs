//! Items as lines, as a spreadsheet takes and gives them: cells between `|` or tabs. A line with
//! `{` in front is an item as in a file.

use super::super::schema::{Kind, Schema};
use super::super::tree::{self, Content, Entry, Node};
use super::super::write::flow;
use super::{node, number};
use crate::prelude::*;

const SEPARATOR: char = '|';
/// Between the items of a cell.
const INNER: char = ';';

pub(super) fn read(path: &str, text: &str, item: &Schema, problems: &Problems) -> Vec<Node> {
    let lines = text.lines().zip(1..);
    let lines = lines.filter(|(line, _)| !line.trim().is_empty());
    let item = |(index, (text, line)): (usize, (&str, usize))| {
        let path = format!("{path}[{index}]");
        if text.trim_start().starts_with('{') {
            // The reader counts lines.
            match tree::parse(&format!("{}{text}", "\n".repeat(line - 1))) {
                Ok(Some(found)) => return found,
                Ok(None) => {}
                Err(error) => problems.add(line, &path, error.message),
            }
            return node(line, Content::Null);
        }
        node(
            line,
            Content::Block(cells(&path, line, text, item, problems)),
        )
    };
    lines.enumerate().map(item).collect()
}

fn cells(path: &str, line: usize, text: &str, item: &Schema, problems: &Problems) -> Vec<Entry> {
    let separator = if text.contains('\t') { '\t' } else { SEPARATOR };
    let cells: Vec<_> = text.split(separator).map(str::trim).collect();
    let fields: Vec<_> = item.fields().collect();
    if cells.iter().skip(fields.len()).any(|cell| !cell.is_empty()) {
        let names = fields.iter().map(|(name, _)| *name);
        let message = format!("has more cells than {}", joined(names));
        problems.add(line, path, message);
    }
    let filled = fields.into_iter().zip(cells);
    let filled = filled.filter(|(_, cell)| !cell.is_empty());
    let entry = |((name, schema), cell): ((&str, &Schema), &str)| {
        let content = match schema.kind() {
            Kind::List(_, item) => {
                let is_number = matches!(item.kind(), Kind::Integer(_));
                let inner = cell.split(INNER).map(str::trim);
                let inner = inner.filter(|inner| !inner.is_empty());
                let content = |inner: &str| match is_number {
                    true => number(inner.to_owned()),
                    false => Content::Text(inner.to_owned()),
                };
                Content::List(inner.map(|inner| node(line, content(inner))).collect())
            }
            Kind::Integer(_) => number(cell.to_owned()),
            _ => Content::Text(cell.to_owned()),
        };
        Entry {
            name: name.to_owned(),
            line,
            value: node(line, content),
        }
    };
    filled.map(entry).collect()
}

pub(super) fn write(items: &[Value], item: &Schema) -> String {
    let lines = items.iter().map(|value| line(value, item));
    lines.map(|line| line + "\n").collect()
}

fn line(value: &Value, item: &Schema) -> String {
    let cells: Option<Vec<String>> = item
        .fields()
        .map(|(name, _)| cell(value.get(name).unwrap_or(&Value::Null)))
        .collect();
    match cells {
        Some(mut cells) if !cells.iter().any(|cell| cell.starts_with('{')) => {
            while cells.last().is_some_and(String::is_empty) {
                cells.pop();
            }
            cells.join(&format!(" {SEPARATOR} "))
        }
        Some(_) | None => flow(value, item),
    }
}

/// `None` if a line cannot hold it.
fn cell(value: &Value) -> Option<String> {
    let holds = |text: &str, not: &[char]| {
        let is_plain = !text.contains(not) && !text.contains(char::is_control);
        (is_plain && text.trim() == text).then(|| text.to_owned())
    };
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => holds(text, &[SEPARATOR]),
        Value::Array(items) => {
            let inner: Option<Vec<_>> = items
                .iter()
                .map(|item| match item {
                    Value::Number(number) => Some(number.to_string()),
                    item => holds(item.as_str()?, &[SEPARATOR, INNER]),
                })
                .collect();
            Some(inner?.join(&format!("{INNER} ")))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Some(value.to_string()),
    }
}
