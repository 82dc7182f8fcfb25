//! Renders a page as Markdown.

use super::document::{Block, Document, Field, Grid, Sample};
use super::inline::markdown as line;

pub(super) fn render(document: &Document) -> String {
    let mut text = format!("# {}\n\n{}\n", document.title, line(&document.lead));
    blocks(&mut text, &document.blocks);
    text
}

fn blocks(text: &mut String, all: &[Block]) {
    for block in all {
        text.push('\n');
        match block {
            Block::Heading(heading) => {
                let note = heading
                    .note
                    .as_deref()
                    .map(|note| format!(" ({note})"))
                    .unwrap_or_default();
                let marks = "#".repeat(heading.level.into());
                text.push_str(&format!(
                    "{marks} {}{note} {{#{}}}\n",
                    line(&heading.text),
                    heading.id
                ));
            }
            Block::Paragraph(words) => text.push_str(&format!("{}\n", line(words))),
            Block::List { ordered, items } => {
                for (index, item) in items.iter().enumerate() {
                    let mark = if *ordered {
                        format!("{}.", index + 1)
                    } else {
                        "-".to_owned()
                    };
                    text.push_str(&format!("{mark} {}\n", line(item)));
                }
            }
            Block::Table(grid) => table(text, grid),
            Block::Fields(all) => fields(text, all, 0),
            Block::Code(sample) => code(text, sample),
            Block::Choice(samples) => {
                for (index, sample) in samples.iter().enumerate() {
                    text.push_str(if index > 0 { "\n" } else { "" });
                    code(text, sample);
                }
            }
            Block::Details {
                summary,
                blocks: inside,
            } => {
                text.push_str(&format!("**{}**\n", line(summary)));
                blocks(text, inside);
            }
            Block::Columns { left, right } => {
                // Drops the empty line at the end: each block brings its own in front.
                text.pop();
                blocks(text, left);
                blocks(text, right);
            }
        }
    }
}

fn code(text: &mut String, sample: &Sample) {
    let caption = if sample.caption.is_empty() {
        String::new()
    } else {
        format!("{}\n\n", line(&sample.caption))
    };
    text.push_str(&format!(
        "{caption}```{}\n{}\n```\n",
        sample.language.tag(),
        sample.text
    ));
}

fn table(text: &mut String, grid: &Grid) {
    let mut row = |cells: Vec<String>| text.push_str(&format!("| {} |\n", cells.join(" | ")));
    row(grid.head.clone());
    row(vec!["---".to_owned(); grid.head.len()]);
    grid.rows
        .iter()
        .for_each(|cells| row(cells.iter().map(|cell| line(cell)).collect()));
}

fn fields(text: &mut String, all: &[Field], depth: usize) {
    for field in all {
        let indent = "  ".repeat(depth);
        let note = if field.note.is_empty() {
            String::new()
        } else {
            format!(", {}", field.note)
        };
        let kind = line(&field.kind);
        text.push_str(&format!(
            "{indent}- `{}` ({kind}{note}): {}\n",
            field.name,
            line(&field.description)
        ));
        fields(text, &field.fields, depth + 1);
    }
}
