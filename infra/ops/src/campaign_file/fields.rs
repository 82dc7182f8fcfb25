//! Reads a tree field by field and notes every problem with its line and path.

use std::ops::RangeInclusive;

use serde_json::{Number, Value};

use super::tree::{Content, Entry, Node};
use crate::problem::Problems;

/// Jaro-Winkler similarity, 0 to 1, below which a name is not taken for a misspelled field.
const MIN_LIKENESS: f64 = 0.75;
/// Maximum values in one list or block of JSON.
const MAX_JSON_ITEMS: usize = 100;
/// Characters of a text in JSON.
const JSON_CHARS: RangeInclusive<usize> = 0..=1_000;

/// The fields of one block.
pub(super) struct Fields<'a> {
    path: String,
    line: usize,
    entries: &'a [Entry],
    problems: &'a Problems,
}

/// One field, with a value that is not `null`.
pub(super) struct Field<'a> {
    path: String,
    node: &'a Node,
    problems: &'a Problems,
}

impl<'a> Fields<'a> {
    /// The fields of the whole file; those not in `known` are problems.
    pub(super) fn of_file(root: &'a Node, known: &[&str], problems: &'a Problems) -> Option<Self> {
        match &root.content {
            Content::Block(entries) => {
                Some(Self::checked(String::new(), root.line, entries, known, problems))
            }
            Content::Scalar { .. } | Content::List(_) => {
                problems.add_line(
                    root.line,
                    "the file must hold fields such as `slug: chai-bora-2026`, one a line",
                );
                None
            }
        }
    }

    fn checked(
        path: String,
        line: usize,
        entries: &'a [Entry],
        known: &[&str],
        problems: &'a Problems,
    ) -> Self {
        let fields = Self { path, line, entries, problems };
        for (index, entry) in entries.iter().enumerate() {
            if !known.contains(&entry.name.as_str()) {
                problems.add(entry.line, &fields.path_of(&entry.name), unknown(&entry.name, known));
            } else if entries.iter().take(index).any(|earlier| earlier.name == entry.name) {
                problems.add(entry.line, &fields.path_of(&entry.name), "is there twice; keep one of them");
            }
        }
        fields
    }

    /// A field with a value; `None` if it is missing or `null`.
    pub(super) fn get(&self, name: &str) -> Option<Field<'a>> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let path = self.path_of(name);
        (!entry.value.is_null()).then_some(Field { path, node: &entry.value, problems: self.problems })
    }

    /// A required field. If it is missing, the problem shows `such_as` as an example.
    pub(super) fn required(&self, name: &str, such_as: &str) -> Option<Field<'a>> {
        let field = self.get(name);
        if field.is_none() {
            let line = self.entries.iter().find(|entry| entry.name == name).map(|entry| entry.line);
            let message = format!("is missing; add it, such as `{name}: {such_as}`");
            self.problems.add(line.unwrap_or(self.line), &self.path_of(name), message);
        }
        field
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

impl<'a> Field<'a> {
    /// The path in the file, such as `receipt.products[1].key`.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Notes a problem with the value.
    pub(super) fn problem(&self, message: impl Into<String>) {
        self.problems.add(self.node.line, &self.path, message);
    }

    /// The value as text of this many characters, without surrounding space.
    pub(super) fn text(&self, chars: RangeInclusive<usize>) -> Option<&'a str> {
        let Some(text) = self.node.as_text() else {
            self.problem("must be text; put it in quotes when it looks like something else");
            return None;
        };
        let text = text.trim();
        if !chars.contains(&text.chars().count()) {
            self.problem(format!("must be {} to {} characters", chars.start(), chars.end()));
            return None;
        }
        if text.chars().any(|c| c.is_control() && c != '\n') {
            self.problem("must not hold control characters; remove them");
            return None;
        }
        Some(text)
    }

    /// The value as text, parsed by `read`, whose error becomes the problem.
    pub(super) fn parsed<T>(&self, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        /// Longer than any value that is parsed.
        const CHARS: RangeInclusive<usize> = 1..=100;
        match read(self.text(CHARS)?) {
            Ok(value) => Some(value),
            Err(why) => {
                self.problem(why);
                None
            }
        }
    }

    /// The value as `true` or `false`.
    pub(super) fn switch(&self) -> Option<bool> {
        let switch = self.node.as_switch();
        if switch.is_none() {
            self.problem("must be true or false");
        }
        switch
    }

    /// The value as a whole number from 1 to `most`.
    pub(super) fn count(&self, most: u32) -> Option<u32> {
        let number = self.node.as_whole_number().filter(|number| *number >= 1);
        let Some(number) = number else {
            self.problem("must be a whole number of at least 1");
            return None;
        };
        let count = u32::try_from(number).ok().filter(|count| *count <= most);
        if count.is_none() {
            self.problem(format!("must be a whole number of at most {most}"));
        }
        count
    }

    /// The items of a list, each with its index in its path.
    pub(super) fn items(&self, most: usize) -> Option<Vec<Field<'a>>> {
        let Content::List(nodes) = &self.node.content else {
            self.problem("must be a list, such as `[ ... ]` or one line with `- ` for each");
            return None;
        };
        if nodes.len() > most {
            self.problem(format!("must be a list of at most {most}, not of {}", nodes.len()));
            return None;
        }
        let item = |(index, node)| {
            let path = format!("{}[{index}]", self.path);
            Field { path, node, problems: self.problems }
        };
        Some(nodes.iter().enumerate().map(item).collect())
    }

    /// The value as a block whose fields can have any names.
    pub(super) fn entries(&self, most: usize, such_as: &str) -> Option<Vec<(&'a str, Field<'a>)>> {
        let Content::Block(entries) = &self.node.content else {
            self.problem(format!("must hold fields, such as `{such_as}`"));
            return None;
        };
        if entries.len() > most {
            self.problem(format!("must hold at most {most} fields, not {}", entries.len()));
            return None;
        }
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        Fields::checked(self.path.clone(), self.node.line, entries, &names, self.problems);
        let entry = |entry: &'a Entry| (entry.name.as_str(), self.inner(&entry.name, &entry.value));
        Some(entries.iter().map(entry).collect())
    }

    /// The value as JSON of any type.
    pub(super) fn json(&self) -> Option<Value> {
        match &self.node.content {
            Content::List(_) => {
                let items: Vec<_> = self.items(MAX_JSON_ITEMS)?.iter().map(Self::json).collect();
                items.into_iter().collect()
            }
            Content::Block(_) => {
                let entries = self.entries(MAX_JSON_ITEMS, "{ name: value }")?;
                let values: Vec<_> =
                    entries.iter().map(|(name, field)| Some(((*name).to_owned(), field.json()?))).collect();
                values.into_iter().collect::<Option<_>>().map(Value::Object)
            }
            Content::Scalar { .. } => self.json_scalar(),
        }
    }

    fn json_scalar(&self) -> Option<Value> {
        if self.node.is_null() {
            return Some(Value::Null);
        }
        if let Some(switch) = self.node.as_switch() {
            return Some(Value::Bool(switch));
        }
        if self.node.as_text().is_some() {
            return self.text(JSON_CHARS).map(|text| Value::String(text.to_owned()));
        }
        let whole = self.node.as_whole_number().map(|number| i64::try_from(number).map(Number::from));
        let number = match whole {
            Some(number) => number.ok(),
            None => self.node.as_decimal().and_then(Number::from_f64),
        };
        if number.is_none() {
            self.problem("is not a number that can be sent; put it in quotes to send it as text");
        }
        number.map(Value::Number)
    }

    fn inner(&self, name: &str, node: &'a Node) -> Self {
        Self { path: format!("{}.{name}", self.path), node, problems: self.problems }
    }

    /// The value as a block; fields that are not in `known` are problems.
    pub(super) fn block(&self, known: &[&str]) -> Option<Fields<'a>> {
        match &self.node.content {
            Content::Block(entries) => {
                Some(Fields::checked(self.path.clone(), self.node.line, entries, known, self.problems))
            }
            Content::List(items) => {
                self.problem(format!(
                    "must hold the fields {}, not a list of {}",
                    listed(known),
                    items.len()
                ));
                None
            }
            Content::Scalar { .. } => {
                self.problem(format!("must hold the fields {}", listed(known)));
                None
            }
        }
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    match closest(name, known) {
        Some(closest) => format!("is not a field of a campaign file; did you mean `{closest}`?"),
        None => format!("is not a field of a campaign file; here go {}", listed(known)),
    }
}

/// The most similar name, if it is similar enough to have been meant.
pub(super) fn closest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let closest = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(closest) >= MIN_LIKENESS).then_some(closest)
}

pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
