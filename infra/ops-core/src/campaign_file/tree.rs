//! Parses YAML into a tree whose nodes know their lines. Supports what a campaign file needs: one document, no tags,
//! and no aliases, with which a small file could expand into a huge one.

use granit_parser::{Event, Parser, ScalarStyle, StrInput, options};

/// Maximum nesting; a campaign file needs a handful of levels.
const MAX_DEPTH: usize = 32;

#[derive(Debug)]
pub(crate) struct Node {
    /// From 1.
    pub(crate) line: usize,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// Text, a number, a boolean or null.
    Scalar {
        /// As written, without quotes.
        text: String,
        /// Written without quotes, so it may be something other than text.
        plain: bool,
    },
    List(Vec<Node>),
    Block(Vec<Entry>),
}

/// One field of a block.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The line of the name, from 1.
    pub(crate) line: usize,
    pub(crate) value: Node,
}

/// A parse error; `line` counts from 1.
#[derive(Debug)]
pub(crate) struct InvalidTree {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// Parses a text; `None` if it contains only comments.
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
    Ok(root.filter(|node| !node.is_null()))
}

struct Events<'t>(Parser<'t, StrInput<'t>>);

impl<'t> Events<'t> {
    /// The next event with its line.
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

    /// The node that begins with the event.
    fn node(&mut self, event: Event<'t>, line: usize) -> Result<Node, InvalidTree> {
        let content = match event {
            Event::Scalar(text, style, ..) => Content::Scalar {
                text: text.into_owned(),
                plain: style == ScalarStyle::Plain,
            },
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

impl Node {
    /// `null`, `~` or an omitted value.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.plain(), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// `true` or `false`, in the spellings of YAML 1.2.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.plain() {
            Some("true" | "True" | "TRUE") => Some(true),
            Some("false" | "False" | "FALSE") => Some(false),
            Some(_) | None => None,
        }
    }

    /// A whole number in decimal digits.
    pub(crate) fn as_whole_number(&self) -> Option<i128> {
        self.plain()?.parse().ok()
    }

    /// A decimal number, also with a fraction or an exponent, within the range that DynamoDB stores.
    pub(crate) fn as_decimal(&self) -> Option<f64> {
        let number: f64 = self.plain()?.parse().ok()?;
        let is_kept = number == 0.0 || (1e-100..=1e100).contains(&number.abs());
        is_kept.then_some(number)
    }

    /// Text: in quotes, or without quotes if it cannot be read as another type.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, plain } => {
                let other =
                    *plain && (self.is_null() || self.as_bool().is_some() || is_number(text));
                (!other).then_some(text)
            }
            Content::List(_) | Content::Block(_) => None,
        }
    }

    fn plain(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, plain: true } => Some(text),
            Content::Scalar { .. } | Content::List(_) | Content::Block(_) => None,
        }
    }
}

/// True if YAML 1.2 reads it as a number.
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
