//! Parses YAML into a tree whose nodes know their lines. Supports what a campaign file needs: one document, no tags,
//! and no aliases, with which a small file could expand into a huge one.

use granit_parser::{Event, Parser, ScalarStyle, options};

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
pub(crate) struct NotATree {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// A list or block whose end has not been read yet.
enum Open {
    List {
        line: usize,
        items: Vec<Node>,
    },
    Block {
        line: usize,
        entries: Vec<Entry>,
        name: Option<(String, usize)>,
    },
}

/// Parses a text; `None` if it contains only comments.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, NotATree> {
    let options = options! {
        block_nesting_limit: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
    };
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Node> = None;
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| NotATree {
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
        refuse_extras(&event, line)?;
        let node = match event {
            Event::DocumentStart(..) if root.is_some() => {
                return Err(refused(
                    line,
                    "this begins a second document; write one campaign in each file",
                ));
            }
            Event::Scalar(text, style, ..) => {
                let plain = style == ScalarStyle::Plain;
                Node {
                    line,
                    content: Content::Scalar {
                        text: text.into_owned(),
                        plain,
                    },
                }
            }
            Event::SequenceStart(..) => {
                open.push(Open::List {
                    line,
                    items: Vec::new(),
                });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Block {
                    line,
                    entries: Vec::new(),
                    name: None,
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List { line, items }) => Node {
                    line,
                    content: Content::List(items),
                },
                Some(Open::Block { line, entries, .. }) => Node {
                    line,
                    content: Content::Block(entries),
                },
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.take(node)?,
            None => root = Some(node),
        }
    }
    Ok(root.filter(|node| !node.is_null()))
}

fn refuse_extras(event: &Event<'_>, line: usize) -> Result<(), NotATree> {
    if event.is_alias() {
        Err(refused(
            line,
            "this uses an alias (`*name`); write the value out",
        ))
    } else if event.tag().is_some() {
        Err(refused(line, "this uses a tag (`!name`); leave it out"))
    } else {
        Ok(())
    }
}

fn refused(line: usize, message: &str) -> NotATree {
    NotATree {
        line,
        message: message.to_owned(),
    }
}

impl Open {
    fn take(&mut self, node: Node) -> Result<(), NotATree> {
        match self {
            Self::List { items, .. } => items.push(node),
            Self::Block { entries, name, .. } => match name.take() {
                Some((name, line)) => entries.push(Entry {
                    name,
                    line,
                    value: node,
                }),
                None => match node.content {
                    Content::Scalar { text, .. } => *name = Some((text, node.line)),
                    Content::List(_) | Content::Block(_) => {
                        return Err(refused(
                            node.line,
                            "this has a list or block as a field's name; put a placeholder in quotes, such as `\"{{code}}\"`",
                        ));
                    }
                },
            },
        }
        Ok(())
    }
}

impl Node {
    /// `null`, `~` or an omitted value.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.plain(), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// `true` or `false`, in the spellings of YAML 1.2.
    pub(crate) fn as_switch(&self) -> Option<bool> {
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
                    *plain && (self.is_null() || self.as_switch().is_some() || is_number(text));
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

/// Whether YAML 1.2 reads it as a number.
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
