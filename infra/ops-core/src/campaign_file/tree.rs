//! One document, no tags, and no aliases, which could expand a small file into a huge one.

use granit_parser::{Event, Parser, ScalarStyle, StrInput, options};

/// Campaign files need a handful of levels.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// `null`, `~` or an omitted value.
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Block(Vec<Entry>),
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) value: Node,
}

/// `line` counts from 1.
#[derive(Debug)]
pub(crate) struct InvalidTree {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// `None` for comments alone.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, InvalidTree> {
    let options = options! {
        block_nesting_limit: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
    };
    let mut events = Events(Parser::new_from_str_with_options(text, options));
    let mut root = None;
    while let Some((event, line)) = events.next()? {
        match event {
            Event::DocumentStart(..) if root.is_some() => {
                let message = "this begins a second document; write one campaign in each file";
                return Err(refused(line, message));
            }
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                root = Some(events.node(event, line)?);
            }
            _ => {}
        }
    }
    Ok(root.filter(|node| !matches!(node.content, Content::Null)))
}

struct Events<'t>(Parser<'t, StrInput<'t>>);

impl<'t> Events<'t> {
    fn next(&mut self) -> Result<Option<(Event<'t>, usize)>, InvalidTree> {
        let Some(next) = self.0.next() else {
            return Ok(None);
        };
        let (event, span) = next.map_err(|error| InvalidTree {
            line: error.marker().line().max(1),
            message: match error.info() {
                // Such as `name: Chai Bora: Shinda`.
                info if info.contains("mapping values are not allowed") => {
                    "put a text with `: ` into quotes".to_owned()
                }
                info => format!("this is not YAML that can be read: {info}"),
            },
        })?;
        let line = span.start.line().max(1);
        if event.is_alias() {
            let message = "this uses an alias (`*name`); write the value out";
            return Err(refused(line, message));
        }
        if event.tag().is_some() {
            return Err(refused(line, "this uses a tag (`!name`); leave it out"));
        }
        Ok(Some((event, line)))
    }

    fn node(&mut self, event: Event<'t>, line: usize) -> Result<Node, InvalidTree> {
        let content = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) => plain(text.into_owned()),
            Event::Scalar(text, ..) => Content::Text(text.into_owned()),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                while let Some((event, line)) = self.next()?
                    && !matches!(event, Event::SequenceEnd)
                {
                    items.push(self.node(event, line)?);
                }
                Content::List(items)
            }
            _ => {
                let mut entries = Vec::new();
                while let Some((name, line)) = self.next()?
                    && !matches!(name, Event::MappingEnd)
                {
                    let Event::Scalar(name, ..) = name else {
                        let message = "this has a list or block as a field's name; put a placeholder in quotes, such as `\"{{code}}\"`";
                        return Err(refused(line, message));
                    };
                    let Some((event, value_line)) = self.next()? else {
                        break;
                    };
                    entries.push(Entry {
                        name: name.into_owned(),
                        line,
                        value: self.node(event, value_line)?,
                    });
                }
                Content::Block(entries)
            }
        };
        Ok(Node { line, content })
    }
}

fn refused(line: usize, message: &str) -> InvalidTree {
    InvalidTree {
        line,
        message: message.to_owned(),
    }
}

/// Unquoted: text if YAML 1.2 reads no other type.
fn plain(text: String) -> Content {
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "true" | "True" | "TRUE" => Content::Bool(true),
        "false" | "False" | "FALSE" => Content::Bool(false),
        number if is_number(number) => Content::Number(text),
        _ => Content::Text(text),
    }
}

fn is_number(text: &str) -> bool {
    let digits = |prefix: &str, radix| {
        text.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
    };
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    let special = |text: &str| matches!(text, ".inf" | ".Inf" | ".INF");
    (begins && text.parse::<f64>().is_ok())
        || digits("0o", 8)
        || digits("0x", 16)
        || special(text.trim_start_matches(['+', '-']))
        || matches!(text, ".nan" | ".NaN" | ".NAN")
}
