//! Reads a tree field by field and notes every problem with its line and path.

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use super::spec::{Kind, Spec};
use super::tree::{Content, Entry, Node};
use crate::problem::Problems;

/// Jaro-Winkler similarity, 0 to 1, below which a name is not taken for a misspelled field.
const MIN_LIKENESS: f64 = 0.75;
/// The fields of one block.
pub(super) struct Fields<'a> {
    path: String,
    line: usize,
    entries: &'a [Entry],
    known: &'static [Spec],
    problems: &'a Problems,
}

/// One field, with a value that is not `null`.
pub(super) struct Field<'a> {
    path: String,
    node: &'a Node,
    kind: &'static Kind,
    /// A valid value.
    example: &'static str,
    problems: &'a Problems,
}

impl<'a> Fields<'a> {
    /// The fields of the whole file.
    pub(super) fn from_file(
        root: &'a Node,
        kind: &'static Kind,
        problems: &'a Problems,
    ) -> Option<Self> {
        match &root.content {
            Content::Block(entries) => {
                let fields = Self {
                    path: String::new(),
                    line: root.line,
                    entries,
                    known: kind.fields(),
                    problems,
                };
                fields.check_names();
                Some(fields)
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

    fn check_names(&self) {
        for (index, entry) in self.entries.iter().enumerate() {
            if !self.known.iter().any(|known| known.name == entry.name) {
                let known: Vec<_> = self.known.iter().map(|known| known.name).collect();
                self.problems.add(
                    entry.line,
                    &self.path_of(&entry.name),
                    unknown(&entry.name, &known),
                );
            } else {
                self.check_twice(index, entry);
            }
        }
    }

    fn check_twice(&self, index: usize, entry: &Entry) {
        if self
            .entries
            .iter()
            .take(index)
            .any(|earlier| earlier.name == entry.name)
        {
            self.problems.add(
                entry.line,
                &self.path_of(&entry.name),
                "is there twice; keep one of them",
            );
        }
    }

    /// A field with a value; `None` if it is missing or `null`.
    pub(super) fn get(&self, name: &str) -> Option<Field<'a>> {
        let Spec { kind, example, .. } = self.spec(name)?;
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        let path = self.path_of(name);
        (!entry.value.is_null()).then_some(Field {
            path,
            node: &entry.value,
            kind,
            example,
            problems: self.problems,
        })
    }

    /// A required field; notes a problem if it is missing.
    pub(super) fn required(&self, name: &str) -> Option<Field<'a>> {
        let field = self.get(name);
        if let (None, Some(Spec { example, .. })) = (&field, self.spec(name)) {
            let line = self
                .entries
                .iter()
                .find(|entry| entry.name == name)
                .map(|entry| entry.line);
            let message = format!("is missing; add it, such as `{name}: {example}`");
            self.problems
                .add(line.unwrap_or(self.line), &self.path_of(name), message);
        }
        field
    }

    fn spec(&self, name: &str) -> Option<&'static Spec> {
        let spec = self.known.iter().find(|known| known.name == name);
        debug_assert!(spec.is_some(), "{} has no field {name}", self.path);
        spec
    }

    /// A field's text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        Some(self.get(name)?.text()?.to_owned())
    }

    /// The text of a required field.
    pub(super) fn required_text(&self, name: &str) -> Option<String> {
        Some(self.required(name)?.text()?.to_owned())
    }

    /// A field's number.
    pub(super) fn count(&self, name: &str) -> Option<u32> {
        self.get(name)?.count()
    }

    /// A list's items; none when it is left out.
    pub(super) fn items(&self, name: &str) -> Vec<Field<'a>> {
        self.get(name)
            .and_then(|field| field.items())
            .unwrap_or_default()
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }
}

impl<'a> Field<'a> {
    /// The path in the file, such as `receipt.products[1].key`.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// A valid value.
    pub(super) fn example(&self) -> &'static str {
        self.example
    }

    /// Notes a problem with the value.
    pub(super) fn problem(&self, message: impl Into<String>) {
        self.problems.add(self.node.line, &self.path, message);
    }

    /// The value as text, without surrounding space.
    pub(super) fn text(&self) -> Option<&'a str> {
        let Some(text) = self.node.as_text() else {
            self.problem("must be text; put it in quotes when it looks like something else");
            return None;
        };
        let chars = self.kind.chars();
        let text = text.trim();
        if !chars.contains(&text.chars().count()) {
            self.problem(format!(
                "must be {} to {} characters",
                chars.start(),
                chars.end()
            ));
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
        match read(self.text()?) {
            Ok(value) => Some(value),
            Err(why) => {
                self.problem(why);
                None
            }
        }
    }

    /// The value as one of its kind's words.
    pub(super) fn choice<T: DeserializeOwned>(&self) -> Option<T> {
        let Kind::Choice(words) = self.kind else {
            return None;
        };
        self.parsed(|text| {
            let chosen = words.iter().find(|(word, _)| *word == text);
            let value =
                chosen.and_then(|_| serde_json::from_value(Value::String(text.to_owned())).ok());
            value.ok_or_else(|| format!("must be {}", either(words)))
        })
    }

    /// The value as `true` or `false`.
    pub(super) fn switch(&self) -> Option<bool> {
        let switch = self.node.as_switch();
        if switch.is_none() {
            self.problem("must be true or false");
        }
        switch
    }

    /// The value as a whole number from 1 to its kind's maximum.
    pub(super) fn count(&self) -> Option<u32> {
        let number = self.node.as_whole_number().filter(|number| *number >= 1);
        let Some(number) = number else {
            self.problem("must be a whole number of at least 1");
            return None;
        };
        let most = self.kind.most();
        let count = usize::try_from(number).ok().filter(|count| *count <= most);
        if count.is_none() {
            self.problem(format!("must be a whole number of at most {most}"));
        }
        count.and_then(|count| u32::try_from(count).ok())
    }

    /// The items of a list, each with its index in its path.
    pub(super) fn items(&self) -> Option<Vec<Field<'a>>> {
        let Content::List(nodes) = &self.node.content else {
            self.problem("must be a list, such as `[ ... ]` or one line with `- ` for each");
            return None;
        };
        let most = self.kind.most();
        if nodes.len() > most {
            self.problem(format!(
                "must be a list of at most {most}, not of {}",
                nodes.len()
            ));
            return None;
        }
        let item = |(index, node)| {
            let path = format!("{}[{index}]", self.path);
            Field {
                path,
                node,
                kind: self.kind.item(),
                ..*self
            }
        };
        Some(nodes.iter().enumerate().map(item).collect())
    }

    /// The value as a block whose fields can have any names.
    pub(super) fn entries(&self) -> Option<Vec<(&'a str, Field<'a>)>> {
        let Content::Block(entries) = &self.node.content else {
            self.problem(format!("must hold fields, such as `{}`", self.example));
            return None;
        };
        let most = self.kind.most();
        if entries.len() > most {
            self.problem(format!(
                "must hold at most {most} fields, not {}",
                entries.len()
            ));
            return None;
        }
        let fields = Fields {
            path: self.path.clone(),
            line: self.node.line,
            entries,
            known: &[],
            problems: self.problems,
        };
        entries
            .iter()
            .enumerate()
            .for_each(|(index, entry)| fields.check_twice(index, entry));
        let entry = |entry: &'a Entry| {
            let path = fields.path_of(&entry.name);
            (
                entry.name.as_str(),
                Field {
                    path,
                    node: &entry.value,
                    kind: self.kind.item(),
                    ..*self
                },
            )
        };
        Some(entries.iter().map(entry).collect())
    }

    /// The value as JSON of any type.
    pub(super) fn json(&self) -> Option<Value> {
        match &self.node.content {
            Content::List(_) => {
                let items: Vec<_> = self.items()?.iter().map(Self::json).collect();
                items.into_iter().collect()
            }
            Content::Block(_) => {
                let entries = self.entries()?;
                let values: Vec<_> = entries
                    .iter()
                    .map(|(name, field)| Some(((*name).to_owned(), field.json()?)))
                    .collect();
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
            return self.text().map(|text| Value::String(text.to_owned()));
        }
        let whole = self
            .node
            .as_whole_number()
            .map(|number| i64::try_from(number).map(Number::from));
        let number = match whole {
            Some(number) => number.ok(),
            None => self.node.as_decimal().and_then(Number::from_f64),
        };
        if number.is_none() {
            self.problem("is not a number that can be sent; put it in quotes to send it as text");
        }
        number.map(Value::Number)
    }

    /// The value as a block; fields that its kind does not have are problems.
    pub(super) fn block(&self) -> Option<Fields<'a>> {
        let known = self.kind.fields();
        let names = || listed(&known.iter().map(|known| known.name).collect::<Vec<_>>());
        match &self.node.content {
            Content::Block(entries) => {
                let path = self.path.clone();
                let fields = Fields {
                    path,
                    line: self.node.line,
                    entries,
                    known,
                    problems: self.problems,
                };
                fields.check_names();
                Some(fields)
            }
            Content::List(items) => {
                self.problem(format!(
                    "must hold the fields {}, not a list of {}",
                    names(),
                    items.len()
                ));
                None
            }
            Content::Scalar { .. } => {
                self.problem(format!("must hold the fields {}", names()));
                None
            }
        }
    }
}

/// The words with their meanings, for a message.
fn either(words: &[(&str, &str)]) -> String {
    let word = |(word, meaning): &(&str, &str)| {
        if meaning.is_empty() {
            format!("`{word}`")
        } else {
            format!("`{word}` ({meaning})")
        }
    };
    let mut words: Vec<_> = words.iter().map(word).collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() {
        last
    } else {
        format!("{} or {last}", words.join(", "))
    }
}

fn unknown(name: &str, known: &[&str]) -> String {
    match closest(name, known) {
        Some(closest) => format!("is not a field of a campaign file; did you mean `{closest}`?"),
        None => format!(
            "is not a field of a campaign file; here go {}",
            listed(known)
        ),
    }
}

/// The most similar name, if it is similar enough to have been meant.
pub(super) fn closest<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let closest = known
        .iter()
        .copied()
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(closest) >= MIN_LIKENESS).then_some(closest)
}

pub(super) fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
