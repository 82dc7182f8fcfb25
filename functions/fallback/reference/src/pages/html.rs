//! Renders the blocks of a page as HTML.

use maud::{Markup, PreEscaped, html};

use super::document::{Block, Field, Grid, Heading, Language, Sample};
use super::inline::html as line;

/// `prefix` makes the names of choices unique on the page.
pub(super) fn blocks(all: &[Block], prefix: &str) -> Markup {
    html! {
        @for (index, block) in all.iter().enumerate() { (render(block, &format!("{prefix}-{index}"))) }
    }
}

fn render(block: &Block, name: &str) -> Markup {
    match block {
        Block::Heading(heading) => title(heading),
        Block::Paragraph(text) => html! { p { (line(text)) } },
        Block::List {
            ordered: true,
            items,
        } => html! { ol { @for item in items { li { (line(item)) } } } },
        Block::List {
            ordered: false,
            items,
        } => html! { ul { @for item in items { li { (line(item)) } } } },
        Block::Table(grid) => table(grid),
        Block::Fields(all) => fields(all),
        Block::Code(sample) => figure(sample),
        Block::Choice(samples) => choice(samples, name),
        Block::Details {
            summary,
            blocks: inside,
        } => html! {
            details { summary { (line(summary)) } (blocks(inside, name)) }
        },
        Block::Columns { left, right } => html! {
            div.columns {
                div { (blocks(left, &format!("{name}l"))) }
                div.aside { (blocks(right, &format!("{name}r"))) }
            }
        },
    }
}

fn title(heading: &Heading) -> Markup {
    let content = html! {
        a href={ "#" (heading.id) } { (line(&heading.text)) }
        @if let Some(note) = &heading.note { " " span.status { (note) } }
    };
    match heading.level {
        2 => html! { h2 id=(heading.id) { (content) } },
        _ => html! { h3 id=(heading.id) { (content) } },
    }
}

/// Each cell carries its column's name, which narrow screens show instead of the table head.
fn table(grid: &Grid) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(grid.label) {
            table {
                thead { tr { @for head in &grid.head { th scope="col" { (line(head)) } } } }
                tbody {
                    @for row in &grid.rows {
                        @let id = grid.row_id(row);
                        tr id=[id.as_ref()] {
                            @for (index, cell) in row.iter().enumerate() {
                                td data-head=(grid.head.get(index).map(String::as_str).unwrap_or_default()) {
                                    @match id.as_ref().filter(|_| index == 0) {
                                        Some(id) => a href={ "#" (id) } { (line(cell)) },
                                        None => (line(cell)),
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn fields(all: &[Field]) -> Markup {
    html! {
        dl.fields {
            @for field in all {
                div id=(field.id) {
                    dt {
                        a href={ "#" (field.id) } { code { (field.name) } }
                        " " span.kind { (line(&field.kind)) }
                        @if !field.note.is_empty() { " " span class=(field.note) { (field.note) } }
                    }
                    dd { p { (line(&field.description)) } @if !field.fields.is_empty() { (fields(&field.fields)) } }
                }
            }
        }
    }
}

fn figure(sample: &Sample) -> Markup {
    let caption = if sample.caption.is_empty() {
        sample.language.name()
    } else {
        &sample.caption
    };
    let text = &sample.text;
    html! {
        figure.sample {
            figcaption { span { (line(caption)) } }
            pre tabindex="0" { code { @if sample.language == Language::Json { (json(text)) } @else { (text) } } }
        }
    }
}

fn choice(samples: &[Sample], name: &str) -> Markup {
    html! {
        div.choice role="group" aria-label="Languages" {
            @for (index, sample) in samples.iter().enumerate() {
                @let id = format!("{name}-{}", sample.language.tag());
                input type="radio" name=(name) id=(id) value=(sample.language.tag()) checked[index == 0];
                label for=(id) { (sample.language.tab()) }
            }
            @for sample in samples { (figure(sample)) }
        }
    }
}

/// Highlights names, strings and other values, with the shortest elements possible: most of a page is samples.
fn json(text: &str) -> Markup {
    let mut marked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c.is_ascii_alphanumeric() || c == '-') {
        let (before, tail) = rest.split_at(at);
        let end = if tail.starts_with('"') {
            end_of_string(tail)
        } else {
            tail.find([',', '\n', '}', ']']).unwrap_or(tail.len())
        };
        let (token, after) = tail.split_at(end);
        let element = match (tail.starts_with('"'), after.starts_with(':')) {
            (true, true) => "b",
            (true, false) => "i",
            (false, _) => "u",
        };
        let token = html! { (token) }.into_string();
        marked.push_str(&format!("{before}<{element}>{token}</{element}>"));
        rest = after;
    }
    PreEscaped(format!("{marked}{rest}"))
}

/// The end of the string that the text starts with.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return index + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}
