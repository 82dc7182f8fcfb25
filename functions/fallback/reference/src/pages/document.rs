//! A page before rendering: blocks whose text is inline Markdown. HTML, Markdown and the search index are made from it.

pub(super) struct Document {
    pub(super) title: String,
    pub(super) lead: String,
    pub(super) blocks: Vec<Block>,
}

/// A part of a page. Text is inline Markdown: code between backticks, `**bold**` and `[text](link)`.
pub(super) enum Block {
    Heading(Heading),
    Paragraph(String),
    List {
        ordered: bool,
        items: Vec<String>,
    },
    Table(Grid),
    Fields(Vec<Field>),
    Code(Sample),
    /// The same sample in several languages.
    Choice(Vec<Sample>),
    /// Collapsed until a reader opens it.
    Details {
        summary: String,
        blocks: Vec<Block>,
    },
    /// Side by side where there is room.
    Columns {
        left: Vec<Block>,
        right: Vec<Block>,
    },
}

pub(super) struct Heading {
    /// 2 or 3.
    pub(super) level: u8,
    pub(super) id: String,
    pub(super) text: String,
    /// A short remark beside it, such as an HTTP status.
    pub(super) note: Option<String>,
}

pub(super) struct Grid {
    /// Prefix of the row ids; `None` if rows cannot be linked to.
    pub(super) id: Option<String>,
    pub(super) label: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A field or parameter.
pub(super) struct Field {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: String,
    /// `required`, `optional` or nothing.
    pub(super) note: &'static str,
    pub(super) description: String,
    pub(super) fields: Vec<Field>,
}

pub(super) struct Sample {
    pub(super) caption: String,
    pub(super) language: Language,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    JavaScript,
    Php,
    Python,
    Json,
    Plain,
}

impl Language {
    /// The info string of a Markdown code block.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Shell => "sh",
            Self::JavaScript => "js",
            Self::Php => "php",
            Self::Python => "py",
            Self::Json => "json",
            Self::Plain => "text",
        }
    }

    /// The display name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Shell => "Shell",
            Self::JavaScript => "Node.js",
            Self::Php => "PHP",
            Self::Python => "Python",
            Self::Json => "JSON",
            Self::Plain => "Text",
        }
    }

    /// The label of a tab beside other languages.
    pub(super) fn tab(self) -> &'static str {
        if self == Self::Shell {
            "curl"
        } else {
            self.name()
        }
    }

    /// Parses the info string of a Markdown code block.
    pub(super) fn parse(tag: &str) -> Self {
        let all = [
            Self::Shell,
            Self::JavaScript,
            Self::Php,
            Self::Python,
            Self::Json,
        ];
        all.into_iter()
            .find(|language| language.tag() == tag)
            .unwrap_or(Self::Plain)
    }
}

impl Block {
    pub(super) fn section(id: &str, text: &str) -> Self {
        Self::heading(2, id, text)
    }

    pub(super) fn heading(level: u8, id: &str, text: &str) -> Self {
        Self::Heading(Heading {
            level,
            id: id.to_owned(),
            text: text.to_owned(),
            note: None,
        })
    }

    /// Splits a text at empty lines.
    pub(super) fn paragraphs(text: &str) -> impl Iterator<Item = Self> {
        text.split("\n\n")
            .filter(|text| !text.is_empty())
            .map(|text| Self::Paragraph(text.to_owned()))
    }
}

impl Grid {
    /// The id of a row: its first cell as a URL fragment.
    pub(super) fn row_id(&self, row: &[String]) -> Option<String> {
        let first = super::inline::plain(row.first()?).to_lowercase();
        let words: Vec<&str> = first
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .collect();
        Some(format!("{}.{}", self.id.as_ref()?, words.join("-")))
    }
}

impl Document {
    /// The headings up to this level, in order, including those inside columns.
    pub(super) fn headings(&self, level: u8) -> Vec<&Heading> {
        fn collect<'a>(blocks: &'a [Block], level: u8, found: &mut Vec<&'a Heading>) {
            for block in blocks {
                match block {
                    Block::Heading(heading) if heading.level <= level => found.push(heading),
                    Block::Columns { left, right } => {
                        collect(left, level, found);
                        collect(right, level, found);
                    }
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        collect(&self.blocks, level, &mut found);
        found
    }
}
