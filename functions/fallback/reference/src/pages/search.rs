//! The index for searching the pages in the browser: a list of places, each with a title and some text.

use serde_json::{Value, json};

use super::document::{Block, Document, Field, Grid};
use super::inline::plain;

/// Maximum text of a place that is searched and shown in parts.
const MAX_TEXT_CHARS: usize = 240;

struct Place {
    title: String,
    anchor: String,
    text: String,
}

/// The places of a page as `[title, page, URL, text]`.
pub(super) fn entries(path: &str, document: &Document) -> Vec<Value> {
    let first = Place {
        title: document.title.clone(),
        anchor: String::new(),
        text: plain(&document.lead),
    };
    let mut places = vec![first];
    collect(&document.blocks, &mut places);
    let entry = |place: Place| {
        let url = if place.anchor.is_empty() {
            path.to_owned()
        } else {
            format!("{path}#{}", place.anchor)
        };
        json!([
            place.title,
            document.title,
            url,
            shortened(place.text.trim())
        ])
    };
    places.into_iter().map(entry).collect()
}

/// The text up to the last whole word that fits.
fn shortened(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_TEXT_CHARS) else {
        return text.to_owned();
    };
    let start = text.get(..end).unwrap_or_default();
    format!(
        "{} …",
        start.rsplit_once(' ').map_or(start, |(words, _)| words)
    )
}

fn collect(blocks: &[Block], places: &mut Vec<Place>) {
    for block in blocks {
        match block {
            Block::Heading(heading) => places.push(Place {
                title: plain(&heading.text),
                anchor: heading.id.clone(),
                text: String::new(),
            }),
            Block::Paragraph(text) => add(places, text),
            Block::List { items, .. } => items.iter().for_each(|item| add(places, item)),
            Block::Table(grid) => grid.rows.iter().for_each(|row| add_row(places, grid, row)),
            Block::Fields(fields) => {
                let heading = places
                    .last()
                    .map(|place| place.title.clone())
                    .unwrap_or_default();
                collect_fields(fields, &heading, places);
            }
            Block::Details { blocks, .. } => collect(blocks, places),
            Block::Columns { left, right } => {
                collect(left, places);
                collect(right, places);
            }
            Block::Code(_) | Block::Choice(_) => {}
        }
    }
}

fn collect_fields(fields: &[Field], heading: &str, places: &mut Vec<Place>) {
    for field in fields {
        places.push(Place {
            title: format!("{} ({heading})", field.name),
            anchor: field.id.clone(),
            text: plain(&field.description),
        });
        collect_fields(&field.fields, heading, places);
    }
}

/// Adds a row that can be linked to as its own place.
fn add_row(places: &mut Vec<Place>, grid: &Grid, row: &[String]) {
    let Some(anchor) = grid.row_id(row) else {
        row.iter().for_each(|cell| add(places, cell));
        return;
    };
    let mut cells = row.iter().map(|cell| plain(cell));
    let title = format!("{} ({})", cells.next().unwrap_or_default(), grid.label);
    places.push(Place {
        title,
        anchor,
        text: cells.collect::<Vec<_>>().join(" · "),
    });
}

fn add(places: &mut [Place], text: &str) {
    if let Some(place) = places.last_mut() {
        place.text.push_str(&plain(text));
        place.text.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_at_a_word() {
        assert_eq!(shortened("one two"), "one two");
        let text = "seven77 ".repeat(40);
        let short = shortened(&text);
        assert!(
            short.ends_with("seven77 …") && short.chars().count() <= MAX_TEXT_CHARS + 2,
            "{short}"
        );
    }
}
