//! The index for searching the pages in the browser: a list of places, each with a title and some text.

use serde_json::{Value, json};

use super::markdown::{
    heading_of, parse_fields, parser, plain, plain_of, row_id, split, text_lines, without_status,
};

/// Maximum text of a place that is searched and shown in parts.
const MAX_TEXT_CHARS: usize = 240;

struct Place {
    title: String,
    anchor: String,
    text: String,
}

/// The places of a page as `[title, page, URL, text]`.
pub(super) fn entries(path: &str, markdown: &str) -> Vec<Value> {
    let (title, lead, rest) = split(markdown);
    let mut places = vec![place(title.to_owned(), "", plain(lead))];
    let mut table = None;
    let mut is_in_table = false;
    let mut lines = text_lines(rest);
    while let Some(line) = lines.next() {
        let was_in_table = std::mem::replace(&mut is_in_table, line.starts_with("| "));
        if let Some((text, id)) = heading_of(line, 2).or_else(|| heading_of(line, 3)) {
            places.push(place(plain(without_status(text)), id, String::new()));
        } else if let Some(prefix) = line.strip_prefix(":::fields ") {
            let fields: Vec<_> = lines
                .by_ref()
                .take_while(|line| *line != ":::end")
                .collect();
            let heading = places.last().map(|place| place.title.clone());
            add_fields(
                prefix,
                &fields.join("\n"),
                &heading.unwrap_or_default(),
                &mut places,
            );
        } else if let Some(id_and_label) = line.strip_prefix(":::table ") {
            table = id_and_label.split_once(' ');
        } else if is_in_table {
            // The head and the rule below it are not found.
            if was_in_table && !line.starts_with("| ---") {
                add_row(table, line, &mut places);
            }
        } else if !line.starts_with(":::") {
            table = table.filter(|_| line.is_empty() && !was_in_table);
            add(&mut places, line);
        }
    }
    let entry = |place: Place| {
        let mark = if place.anchor.is_empty() { "" } else { "#" };
        let url = format!("{path}{mark}{}", place.anchor);
        json!([place.title, title, url, shortened(place.text.trim())])
    };
    places.into_iter().map(entry).collect()
}

fn place(title: String, anchor: &str, text: String) -> Place {
    Place {
        title,
        anchor: anchor.to_owned(),
        text,
    }
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

fn add_fields(prefix: &str, lines: &str, heading: &str, places: &mut Vec<Place>) {
    for field in parse_fields(lines) {
        let id = format!("{prefix}.{}", field.name);
        let title = format!("{} ({heading})", field.name);
        places.push(place(title, &id, plain(field.description)));
        add_fields(&id, &field.inside, heading, places);
    }
}

/// Adds a row, which is a place of its own if its table has an id.
fn add_row(table: Option<(&str, &str)>, line: &str, places: &mut Vec<Place>) {
    let cells = line.trim_matches('|').split('|');
    let cells: Vec<String> = cells.map(|cell| plain(cell.trim())).collect();
    match (table.filter(|(id, _)| *id != "-"), cells.split_first()) {
        (Some((id, label)), Some((first, others))) => places.push(place(
            format!("{first} ({label})"),
            &row_id(id, first),
            others.join(" · "),
        )),
        _ => cells.iter().for_each(|cell| add(places, cell)),
    }
}

fn add(places: &mut [Place], text: &str) {
    let text = plain_of(parser(text));
    if let Some(place) = places.last_mut().filter(|_| !text.is_empty()) {
        place.text.push_str(&text);
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
