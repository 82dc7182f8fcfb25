//! Reads pages written in Markdown: headings, paragraphs, lists, tables, code blocks, and `{{name}}` alone on a line
//! for blocks made from the description.

use super::document::{Block, Document, Grid, Heading, Language, Sample};

/// `include` makes the blocks for a `{{name}}`.
pub(super) fn parse(text: &str, include: impl Fn(&str) -> Vec<Block>) -> Document {
    let mut document = Document {
        title: String::new(),
        lead: String::new(),
        blocks: Vec::new(),
    };
    let mut label = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() {
        } else if let Some(title) = line.strip_prefix("# ") {
            document.title = title.to_owned();
            label = title.to_owned();
        } else if let Some((level, heading)) = heading(line) {
            label.clone_from(&heading.text);
            document
                .blocks
                .push(Block::Heading(Heading { level, ..heading }));
        } else if let Some(info) = line.strip_prefix("```") {
            let (tag, caption) = info.split_once(' ').unwrap_or((info, ""));
            let code: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            document.blocks.push(Block::Code(Sample {
                caption: caption.to_owned(),
                language: Language::parse(tag),
                text: code.join("\n"),
            }));
        } else if let Some(name) = line
            .strip_prefix("{{")
            .and_then(|line| line.strip_suffix("}}"))
        {
            document.blocks.extend(include(name));
        } else {
            // A part ends at an empty line.
            let mut part = vec![line];
            while let Some(line) =
                lines.next_if(|line| !line.is_empty() && !line.starts_with("```"))
            {
                part.push(line);
            }
            let block = paragraph(&part, &label);
            match block {
                Block::Paragraph(text) if document.lead.is_empty() => document.lead = text,
                block => document.blocks.push(block),
            }
        }
    }
    document
}

/// `## Title {#id}`, or a third level.
fn heading(line: &str) -> Option<(u8, Heading)> {
    let (level, rest) = match (line.strip_prefix("## "), line.strip_prefix("### ")) {
        (Some(rest), _) => (2, rest),
        (None, Some(rest)) => (3, rest),
        (None, None) => return None,
    };
    let (text, id) = rest
        .strip_suffix('}')
        .and_then(|rest| rest.split_once(" {#"))?;
    Some((
        level,
        Heading {
            level,
            id: id.to_owned(),
            text: text.to_owned(),
            note: None,
        },
    ))
}

fn paragraph(lines: &[&str], label: &str) -> Block {
    let first = lines.first().copied().unwrap_or_default();
    if first.starts_with("| ") {
        let cells = |line: &&str| -> Vec<String> {
            line.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect()
        };
        let mut rows = lines.iter().map(cells);
        let head = rows.next().unwrap_or_default();
        return Block::Table(Grid {
            id: None,
            label: label.to_owned(),
            head,
            rows: rows.skip(1).collect(),
        });
    }
    let item = |line: &str| {
        let text = line.strip_prefix("- ").or_else(|| {
            line.split_once(". ")
                .filter(|(n, _)| n.parse::<u8>().is_ok())
                .map(|(_, text)| text)
        });
        text.map(str::to_owned)
    };
    if item(first).is_some() {
        let mut items: Vec<String> = Vec::new();
        for line in lines {
            match (item(line), items.last_mut()) {
                (Some(text), _) => items.push(text),
                (None, Some(last)) => {
                    last.push(' ');
                    last.push_str(line.trim());
                }
                (None, None) => {}
            }
        }
        return Block::List {
            ordered: !first.starts_with("- "),
            items,
        };
    }
    Block::Paragraph(lines.join(" "))
}
