//! A form passes the checks of a file.

mod fill;
mod lines;
#[cfg(test)]
mod tests;

use chrono::{NaiveDateTime, TimeZone};

pub use self::fill::{empty, fill};
use super::schema::{Kind, Schema};
use super::tree::{self, Content, Entry, Node};
use super::{CampaignFile, join, read_tree};
use crate::prelude::*;

/// Texts by path, such as `limits.phone_daily`. A switch or flag that is on has [`ON`].
pub type Typed = BTreeMap<String, String>;

pub const ON: &str = "on";

#[derive(Clone, Debug)]
pub struct Part {
    pub path: String,
    pub name: &'static str,
    pub help: &'static str,
    /// `None` if it is required.
    pub left_out: Option<&'static str>,
    pub example: &'static str,
    pub kind: PartKind,
}

#[derive(Clone, Debug)]
pub enum PartKind {
    /// Maximum length.
    Text(usize),
    /// Local, such as `2026-01-01T00:00`.
    Time,
    /// A maximum.
    Number(u64),
    Flag,
    Choice(&'static [String]),
    /// A line for each item, whose cells have these names.
    Lines(Vec<&'static str>),
    Yaml,
    /// Left out while its switch is off.
    Switched(Vec<Part>),
    Block(Vec<Part>),
    /// Optional, with the names of its neighbours.
    Texts(Vec<Part>),
}

/// Leaves out the pause switch, which the file leaves as it is.
pub fn parts() -> Vec<Part> {
    inner("", Schema::of_file())
}

fn inner(path: &str, block: &'static Schema) -> Vec<Part> {
    let part = |(name, schema): (&'static str, &'static Schema)| {
        let path = join(path, name);
        let kind = match schema.kind() {
            // An unticked box cannot mean both no and as it is.
            Kind::Bool if schema.default.is_none() => return None,
            Kind::Bool => PartKind::Flag,
            Kind::Text(_) if schema.is_time => PartKind::Time,
            Kind::Text(chars) => PartKind::Text(*chars.end()),
            Kind::Integer(range) => PartKind::Number(*range.end()),
            Kind::Choice(words) => PartKind::Choice(words),
            Kind::List(_, item) if matches!(item.kind(), Kind::Object) => {
                PartKind::Lines(item.fields().map(|(name, _)| name).collect())
            }
            Kind::List(..) | Kind::Map(..) | Kind::Any => PartKind::Yaml,
            Kind::Object if schema.holds.is_some() => PartKind::Texts(inner(&path, schema)),
            Kind::Object if is_switched(schema) => PartKind::Switched(inner(&path, schema)),
            Kind::Object => PartKind::Block(inner(&path, schema)),
        };
        Some(Part {
            path,
            name,
            help: &schema.text,
            left_out: schema.left_out.as_deref(),
            example: &schema.example,
            kind,
        })
    };
    block.fields().filter_map(part).collect()
}

/// True if leaving it out and leaving it empty differ.
fn is_switched(schema: &Schema) -> bool {
    schema.left_out.is_some() && schema.default.is_none() && schema.holds.is_none()
}

/// Problems have the field's path, and the line within the field.
pub fn read(typed: &Typed) -> Result<CampaignFile, Vec<Problem>> {
    let problems = Problems::from_file("form");
    let zone = typed
        .get("timezone")
        .and_then(|zone| zone.trim().parse().ok());
    let reader = Reader {
        typed,
        zone,
        problems: &problems,
        unread: Default::default(),
    };
    let entries = reader.entries("", Schema::of_file());
    let unread = reader.unread.into_inner();
    let root = node(1, Content::Block(entries));
    let file = read_tree(&root, &problems);
    match file {
        Some(file) if problems.count() == 0 => Ok(file),
        Some(_) | None => {
            let mut found = problems.into_sorted();
            // Lines that cannot be read are not missing.
            found.retain(|problem| {
                let is_unread = problem
                    .field
                    .as_ref()
                    .is_some_and(|field| unread.contains(field));
                !(is_unread && problem.message.starts_with("is missing"))
            });
            Err(found)
        }
    }
}

struct Reader<'a> {
    typed: &'a Typed,
    /// `None` if it is wrong.
    zone: Option<Tz>,
    problems: &'a Problems,
    unread: std::cell::RefCell<HashSet<String>>,
}

impl Reader<'_> {
    fn entries(&self, path: &str, block: &Schema) -> Vec<Entry> {
        let entry = |(name, schema): (&str, &Schema)| {
            let content = self.content(&join(path, name), schema)?;
            Some(Entry {
                name: name.to_owned(),
                line: 1,
                value: node(1, content),
            })
        };
        block.fields().filter_map(entry).collect()
    }

    /// `None` if it is left out.
    fn content(&self, path: &str, schema: &Schema) -> Option<Content> {
        let typed = self.typed.get(path).map_or("", |text| text.trim());
        let text = typed.replace("\r\n", "\n");
        match schema.kind() {
            Kind::Object if is_switched(schema) => {
                (typed == ON).then(|| Content::Block(self.entries(path, schema)))
            }
            Kind::Object => {
                let entries = self.entries(path, schema);
                let is_left_out = entries.is_empty() && schema.left_out.is_some();
                (!is_left_out).then_some(Content::Block(entries))
            }
            Kind::Bool => schema
                .default
                .is_some()
                .then_some(Content::Bool(typed == ON)),
            _ if typed.is_empty() => None,
            Kind::Text(_) if schema.is_time => Some(Content::Text(self.time(text))),
            Kind::Text(_) | Kind::Choice(_) => Some(Content::Text(text)),
            Kind::Integer(_) => Some(number(text)),
            Kind::List(_, item) if matches!(item.kind(), Kind::Object) => {
                Some(Content::List(lines::read(path, &text, item, self.problems)))
            }
            Kind::List(..) | Kind::Map(..) | Kind::Any => match tree::parse(&text) {
                Ok(found) => found.map(|found| found.content),
                Err(tree::InvalidTree { line, message }) => {
                    self.problems.add(line, path, message);
                    self.unread.borrow_mut().insert(path.to_owned());
                    None
                }
            },
        }
    }

    /// With the zone's offset; as typed if that is unknown. Of two times when clocks go back, the
    /// earlier.
    fn time(&self, typed: String) -> String {
        let local = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(&typed, format).ok());
        let at = local
            .zip(self.zone)
            .and_then(|(local, zone)| zone.from_local_datetime(&local).earliest());
        at.map_or(typed, |at| at.to_rfc3339())
    }
}

fn node(line: usize, content: Content) -> Node {
    Node { line, content }
}

fn number(text: String) -> Content {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        Content::Number(text)
    } else {
        Content::Text(text)
    }
}
