//! The visible content of a page. Accepts any bytes.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};

use crate::domain::VoidMark;

#[derive(Debug, Default)]
pub struct PageContent {
    pub lines: Vec<Line>,
    pub tables: Vec<HtmlTable>,
    pub marks: Vec<VoidMark>,
    /// First `.invoice-header h4 b`.
    pub trader: Option<String>,
}

#[derive(Debug, Default)]
pub struct Line {
    pub text: String,
    pub fields: Vec<Field>,
    pub in_heading: bool,
}

#[derive(Debug)]
pub struct Field {
    /// Upper case.
    pub label: String,
    pub value: String,
}

#[derive(Debug, Default)]
pub struct HtmlTable {
    /// `th` and `td` are the same.
    pub rows: Vec<Vec<String>>,
    in_cell: bool,
}

/// Deeper elements are read without their parents, so that parsing stays fast.
const MAX_OPEN_ELEMENTS: usize = 256;

pub fn read(html: &str) -> PageContent {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut reader = Reader::default();
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => reader.start(&tag),
            Token::EndTag(tag) => reader.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.end_line();
    reader.content
}

#[derive(Default)]
struct Reader {
    content: PageContent,
    open: Vec<Element>,
    hidden: Option<String>,
    /// Text before the first bold text, then from each bold text to the next.
    parts: Vec<String>,
    in_heading: bool,
    bold: u32,
    /// Indices of open tables, innermost last.
    tables: Vec<usize>,
    trader: String,
}

struct Element {
    name: String,
    is_invoice_header: bool,
}

impl Reader {
    fn start(&mut self, tag: &StartTag<()>) {
        if self.hidden.is_some() {
            return;
        }
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if is_hidden(&name) {
            self.hidden = Some(name);
            return;
        }
        let classes = tag.attributes.get(b"class".as_slice());
        let classes = classes
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .unwrap_or_default();
        let has_class = |class: &str| classes.split_ascii_whitespace().any(|one| one == class);
        for (class, mark) in [
            ("cancelled-watermark", VoidMark::Cancelled),
            ("test-watermark", VoidMark::Test),
        ] {
            if has_class(class) {
                self.content.marks.push(mark);
            }
        }
        if ends_line(&name) {
            self.end_line();
        }
        match name.as_str() {
            "b" => self.start_bold(),
            "table" => {
                self.tables.push(self.content.tables.len());
                self.content.tables.push(HtmlTable::default());
            }
            "tr" => {
                if let Some(table) = self.table() {
                    table.start_row();
                }
            }
            "td" | "th" => {
                if let Some(table) = self.table() {
                    table.start_cell();
                }
            }
            _ => {}
        }
        if !is_void(&name) && self.open.len() < MAX_OPEN_ELEMENTS {
            self.open.push(Element {
                name,
                is_invoice_header: has_class("invoice-header"),
            });
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(hidden) = &self.hidden {
            if hidden == name {
                self.hidden = None;
            }
            return;
        }
        if ends_line(name) {
            self.end_line();
        }
        match name {
            "b" => self.end_bold(),
            "table" => {
                self.tables.pop();
            }
            "tr" | "td" | "th" => {
                if let Some(table) = self.table() {
                    table.in_cell = false;
                }
            }
            _ => {}
        }
        if let Some(index) = self.open.iter().rposition(|element| element.name == name) {
            self.open.truncate(index);
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if let Some(table) = self.table() {
            table.add(text);
        }
        match self.parts.last_mut() {
            Some(part) => part.push_str(text),
            None => self.parts.push(text.to_owned()),
        }
        if text.trim().is_empty() {
            return;
        }
        self.in_heading |= self.open.iter().any(|element| is_heading(&element.name));
        if self.content.trader.is_none() && self.is_in_trader() {
            self.trader.push_str(text);
        }
    }

    fn is_in_trader(&self) -> bool {
        let mut open = self.open.iter();
        open.any(|element| element.is_invoice_header)
            && open.any(|element| element.name == "h4")
            && open.any(|element| element.name == "b")
    }

    fn start_bold(&mut self) {
        // Bold inside bold begins no label.
        if self.bold == 0 {
            if self.parts.is_empty() {
                self.parts.push(String::new());
            }
            self.parts.push(String::new());
        }
        self.bold = self.bold.saturating_add(1);
    }

    fn end_bold(&mut self) {
        self.bold = self.bold.saturating_sub(1);
        let trader = collapsed(&std::mem::take(&mut self.trader));
        if self.content.trader.is_none() && !trader.is_empty() {
            self.content.trader = Some(trader);
        }
    }

    fn end_line(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let in_heading = std::mem::take(&mut self.in_heading);
        self.bold = 0;
        if let Some(table) = self.table() {
            table.add(" ");
        }
        let text = collapsed(&parts.concat());
        if text.is_empty() {
            return;
        }
        let fields = parts
            .iter()
            .skip(1)
            .filter_map(|part| Field::split(part))
            .collect();
        self.content.lines.push(Line {
            text,
            fields,
            in_heading,
        });
    }

    fn table(&mut self) -> Option<&mut HtmlTable> {
        let index = self.tables.last()?;
        self.content.tables.get_mut(*index)
    }
}

impl Field {
    fn split(part: &str) -> Option<Self> {
        let (label, value) = part.split_once(':')?;
        Some(Self {
            label: collapsed(label).to_uppercase(),
            value: collapsed(value),
        })
    }
}

impl HtmlTable {
    fn start_row(&mut self) {
        self.in_cell = false;
        self.rows.push(Vec::new());
    }

    fn start_cell(&mut self) {
        if self.rows.is_empty() {
            self.start_row();
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
            self.in_cell = true;
        }
    }

    fn add(&mut self, text: &str) {
        if self.in_cell
            && let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut())
        {
            cell.push_str(text);
        }
    }
}

pub(super) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_hidden(name: &str) -> bool {
    is_among(name, "noscript script style template title")
}

fn is_heading(name: &str) -> bool {
    is_among(name, "h1 h2 h3 h4 h5 h6")
}

fn is_void(name: &str) -> bool {
    is_among(
        name,
        "area base br col embed hr img input link meta source wbr",
    )
}

fn ends_line(name: &str) -> bool {
    const BLOCKS: &str = "address article body br center dd div dl dt footer form header hr li main \
                          ol p section table tbody td tfoot th thead tr ul";
    is_heading(name) || is_among(name, BLOCKS)
}

fn is_among(name: &str, elements: &str) -> bool {
    elements.split(' ').any(|element| element == name)
}
