//! The Markdown from which HTML and `.md` pages are made.
//!
//! Lines with `:::` are directives, which end with `:::end`: `:::columns` with `:::aside` between
//! its halves, `:::details SUMMARY`, `:::choice` around one sample in several languages, and
//! `:::fields PREFIX` around fields, whose ids begin with the prefix. `:::table ID LABEL` and
//! `:::caption TEXT` precede a table and a code block.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Language in Markdown, label of its tab, name.
const LANGUAGES: [(&str, &str, &str); 6] = [
    ("sh", "curl", "Shell"),
    ("js", "Node.js", "Node.js"),
    ("php", "PHP", "PHP"),
    ("py", "Python", "Python"),
    ("json", "JSON", "JSON"),
    ("text", "Text", "Text"),
];

pub(super) fn language(tag: &str) -> (&'static str, &'static str) {
    let known = LANGUAGES.iter().find(|(known, ..)| *known == tag);
    known.map_or(("Text", "Text"), |(_, tab, name)| (tab, name))
}

pub(crate) fn heading(level: usize, id: &str, text: &str) -> String {
    format!("{} {text} {{#{id}}}\n\n", "#".repeat(level))
}

pub(super) fn sample(tag: &str, caption: &str, text: &str) -> String {
    let caption = match caption {
        "" => String::new(),
        caption => format!(":::caption {caption}\n\n"),
    };
    format!("{caption}```{tag}\n{text}\n```\n\n")
}

pub(super) fn details(summary: &str, inside: &str) -> String {
    format!(":::details {summary}\n\n{inside}:::end\n\n")
}

pub(super) fn choice(samples: &str) -> String {
    format!(":::choice\n\n{samples}:::end\n\n")
}

pub(super) fn columns(left: &str, right: &str) -> String {
    format!(":::columns\n\n{left}:::aside\n\n{right}:::end\n\n")
}

pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | ").replace('\n', " "));
    let rows: String = rows.into_iter().map(row).collect();
    format!(
        "| {} |\n| {} |\n{rows}\n",
        head.join(" | "),
        vec!["---"; head.len()].join(" | ")
    )
}

pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) kind: String,
    /// `required`, `optional` or nothing.
    pub(super) note: &'a str,
    pub(super) description: &'a str,
    pub(super) inside: String,
}

/// A field of a list: [`parse_fields`] reads it again.
pub(super) fn field(name: &str, kind: &str, note: &str, description: &str, inside: &str) -> String {
    let comma = if note.is_empty() { "" } else { ", " };
    let inside: String = inside.lines().map(|line| format!("  {line}\n")).collect();
    format!("- `{name}` ({kind}{comma}{note}): {description}\n{inside}")
}

pub(super) fn fields(prefix: &str, lines: &str) -> String {
    format!(":::fields {prefix}\n{lines}:::end\n\n")
}

pub(super) fn parse_fields(lines: &str) -> Vec<Field<'_>> {
    let mut found: Vec<Field<'_>> = Vec::new();
    for line in lines.lines() {
        if let (Some(inner), Some(field)) = (line.strip_prefix("  "), found.last_mut()) {
            field.inside.push_str(inner);
            field.inside.push('\n');
        } else if let Some((name, rest)) = line
            .strip_prefix("- `")
            .and_then(|line| line.split_once("` ("))
            && let Some((kind, description)) = rest.split_once("): ")
        {
            let (kind, note) = kind
                .rsplit_once(", ")
                .filter(|(_, note)| ["required", "optional"].contains(note))
                .unwrap_or((kind, ""));
            found.push(Field {
                name,
                kind: kind.to_owned(),
                note,
                description,
                inside: String::new(),
            });
        }
    }
    found
}

pub(super) fn split(markdown: &str) -> (&str, &str, &str) {
    let (title, rest) = markdown.split_once("\n\n").unwrap_or((markdown, ""));
    let (lead, rest) = rest.split_once("\n\n").unwrap_or((rest, ""));
    (title.trim_start_matches("# "), lead, rest)
}

/// A row's id: its first cell as a URL fragment.
pub(super) fn row_id(table: &str, first: &str) -> String {
    let first = first.to_lowercase();
    let words = first.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("{table}.{}", words.join("-"))
}

pub(super) fn parser(markdown: &str) -> Parser<'_> {
    Parser::new_ext(
        markdown,
        Options::ENABLE_TABLES | Options::ENABLE_HEADING_ATTRIBUTES,
    )
}

pub(super) fn inline_events(line: &str) -> Vec<Event<'static>> {
    let heading = format!("# {line}");
    let is_inside = |event: &Event<'_>| {
        !matches!(
            event,
            Event::Start(Tag::Heading { .. }) | Event::End(TagEnd::Heading(_))
        )
    };
    let events = parser(&heading).filter(is_inside);
    events.map(Event::into_static).collect()
}

pub(super) fn plain(line: &str) -> String {
    plain_of(inline_events(line))
}

pub(super) fn plain_of<'a>(events: impl IntoIterator<Item = Event<'a>>) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                text.push_str(&part);
            }
            Event::SoftBreak => text.push(' '),
            _ => {}
        }
    }
    text
}

/// Removes directives, and links to other pages' Markdown.
pub(super) fn served(markdown: &str) -> String {
    let mut text = String::new();
    let mut is_code = false;
    for line in markdown.lines() {
        is_code ^= line.starts_with("```");
        let line = match line.strip_prefix(":::").map(|line| line.split_once(' ')) {
            Some(Some(("details", summary))) => format!("**{}**", links(summary)),
            Some(Some(("caption", caption))) => links(caption),
            Some(_) => continue,
            None if is_code => line.to_owned(),
            None if line.is_empty() && text.ends_with("\n\n") => continue,
            None => links(line),
        };
        text.push_str(&line);
        text.push('\n');
    }
    format!("{}\n", text.trim_end())
}

/// `/docs/errors#not_found` becomes `/docs/errors.md#not_found`.
fn links(line: &str) -> String {
    let mut parts = line.split("](/docs");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (path, rest) = part.split_at(part.find(['#', ')']).unwrap_or(part.len()));
        // Files have no twin.
        let ending = if path.contains('.') { "" } else { ".md" };
        text.push_str(&format!("](/docs{path}{ending}{rest}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_twins_of_pages() {
        let line = "Send `a_b` to **the [page](/docs/errors#not_found)**, [x] [all](/docs) [file](/docs/a.py) [out](https://a.b/c)";
        assert_eq!(
            served(line),
            "Send `a_b` to **the [page](/docs/errors.md#not_found)**, [x] [all](/docs.md) [file](/docs/a.py) [out](https://a.b/c)\n"
        );
        assert_eq!(plain(line), "Send a_b to the page, [x] all file out");
    }

    #[test]
    fn fields_are_read_as_they_are_written() {
        let inner = "- `b` (string (uuid)): An id.\n";
        let kind = "[A](/docs#A) or null, 1 to 3";
        let lines = field("a", kind, "optional", "One (or more): some.", inner);
        let read = parse_fields(&lines);
        let rewritten = read.iter().map(|read| {
            field(
                read.name,
                &read.kind,
                read.note,
                read.description,
                &read.inside,
            )
        });
        assert_eq!(rewritten.collect::<String>(), lines);
        let read = read.first().expect("a field");
        assert_eq!((read.note, read.inside.as_str()), ("optional", inner));
    }
}
