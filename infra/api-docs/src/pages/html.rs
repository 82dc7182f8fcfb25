use maud::{Markup, PreEscaped, html};
use pulldown_cmark::html::push_html;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use super::markdown::{inline_events, language, parse_fields, parser, plain, plain_of, row_id};
use super::search::Place;

pub(super) struct Rendered {
    pub(super) body: Markup,
    pub(super) parts: Vec<(String, Markup)>,
    pub(super) places: Vec<Place>,
}

/// All but title and lead.
pub(super) fn render(title: &str, lead: &str, markdown: &str) -> Rendered {
    let mut page = Page {
        heading: title.to_owned(),
        places: vec![Place::new(title.to_owned(), "", plain(lead) + " ")],
        ..Page::default()
    };
    let body = page.blocks(&mut markdown.lines());
    Rendered {
        body,
        parts: page.parts,
        places: page.places,
    }
}

pub(super) fn inline(line: &str) -> Markup {
    rendered(inline_events(line))
}

#[derive(Default)]
struct Page<'a> {
    heading: String,
    table: Option<(&'a str, &'a str)>,
    caption: &'a str,
    tags: Vec<String>,
    /// Makes names unique.
    choices: usize,
    parts: Vec<(String, Markup)>,
    places: Vec<Place>,
}

impl<'a> Page<'a> {
    fn blocks(&mut self, lines: &mut dyn Iterator<Item = &'a str>) -> Markup {
        let mut out = String::new();
        let mut text = String::new();
        while let Some(line) = lines.next() {
            let Some(directive) = line.strip_prefix(":::") else {
                text.push_str(line);
                text.push('\n');
                continue;
            };
            out.push_str(&self.markdown(&std::mem::take(&mut text)));
            let (name, argument) = directive.split_once(' ').unwrap_or((directive, ""));
            let block = match name {
                "columns" => {
                    let (left, right) = (self.blocks(lines), self.blocks(lines));
                    html! { div.columns { div { (left) } div.aside { (right) } } }
                }
                "details" => {
                    html! { details { summary { (inline(argument)) } (self.blocks(lines)) } }
                }
                "choice" => self.choice(lines),
                "fields" => {
                    let lines = rest(lines);
                    self.find_fields(argument, &lines);
                    fields(argument, &lines)
                }
                "table" => {
                    self.table = argument.split_once(' ');
                    continue;
                }
                "caption" => {
                    self.caption = argument;
                    continue;
                }
                _ => break,
            };
            out.push_str(&block.into_string());
        }
        out.push_str(&self.markdown(&text));
        PreEscaped(out)
    }

    fn markdown(&mut self, text: &str) -> String {
        let mut events = parser(text);
        let mut out = Vec::new();
        while let Some(event) = events.next() {
            let markup = match event {
                Event::Start(Tag::Heading { level, id, .. }) => {
                    let inside = until(&mut events, |end| matches!(end, TagEnd::Heading(_)));
                    self.heading = plain_of(inside.clone());
                    let id = id.map(|id| id.into_string()).unwrap_or_default();
                    self.heading(level, &id, inside)
                }
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(tag))) => {
                    let text = until(&mut events, |end| *end == TagEnd::CodeBlock);
                    self.tags.push(tag.to_string());
                    figure(&tag, std::mem::take(&mut self.caption), &plain_of(text))
                }
                Event::Start(Tag::Table(_)) => {
                    let inside = until(&mut events, |end| *end == TagEnd::Table);
                    self.table(inside)
                }
                other => {
                    self.find(&other);
                    out.push(other);
                    continue;
                }
            };
            out.push(Event::Html(markup.into_string().into()));
        }
        let mut html = String::new();
        push_html(&mut html, out.into_iter());
        html
    }

    fn choice(&mut self, lines: &mut dyn Iterator<Item = &'a str>) -> Markup {
        self.choices += 1;
        let name = format!("choice-{}", self.choices);
        self.tags.clear();
        let samples = self.blocks(lines);
        html! {
            div.choice role="group" aria-label="Languages" {
                @for (index, tag) in self.tags.iter().enumerate() {
                    @let id = format!("{name}-{tag}");
                    input type="radio" name=(name) id=(id) value=(tag) checked[index == 0];
                    label for=(id) { (language(tag).0) }
                }
                (samples)
            }
        }
    }

    /// Links to itself. A status in brackets at its end stands out.
    fn heading(&mut self, level: HeadingLevel, id: &str, mut inside: Vec<Event<'_>>) -> Markup {
        let status = match inside.last() {
            Some(Event::Text(text)) => text
                .strip_prefix(" (")
                .and_then(|text| text.strip_suffix(')'))
                .filter(|status| status.parse::<u16>().is_ok())
                .map(str::to_owned),
            _ => None,
        };
        if status.is_some() {
            inside.pop();
        }
        let title = plain_of(inside.clone());
        self.places.push(Place::new(title, id, String::new()));
        let text = rendered(inside);
        let content = html! {
            a href={ "#" (id) } { (text) }
            @if let Some(status) = status { " " span.status { (status) } }
        };
        if level == HeadingLevel::H2 {
            self.parts.push((id.to_owned(), text));
            html! { h2 id=(id) { (content) } }
        } else {
            html! { h3 id=(id) { (content) } }
        }
    }

    /// Cells carry their column's name for narrow screens without table head.
    fn table(&mut self, events: Vec<Event<'_>>) -> Markup {
        let (id, label) = match self.table.take() {
            Some((id, label)) => (Some(id).filter(|id| *id != "-"), label.to_owned()),
            None => (None, self.heading.clone()),
        };
        let mut rows: Vec<Vec<Vec<Event<'_>>>> = Vec::new();
        for event in events {
            match event {
                Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
                Event::Start(Tag::TableCell) => {
                    rows.last_mut()
                        .into_iter()
                        .for_each(|row| row.push(Vec::new()));
                }
                Event::End(_) if !matches!(event, Event::End(TagEnd::Strong | TagEnd::Link)) => {}
                inside => {
                    let cell = rows.last_mut().and_then(|row| row.last_mut());
                    cell.into_iter().for_each(|cell| cell.push(inside.clone()));
                }
            }
        }
        let mut rows = rows.into_iter();
        let head = rows.next().unwrap_or_default();
        let names: Vec<String> = head.iter().cloned().map(plain_of).collect();
        let rows: Vec<_> = rows
            .map(|row| (self.find_row(id, &label, &row), row))
            .collect();
        html! {
            div.wide tabindex="0" role="region" aria-label=(label) {
                table {
                    thead { tr { @for cell in head { th scope="col" { (rendered(cell)) } } } }
                    tbody {
                        @for (row_id, row) in rows {
                            tr id=[row_id.as_ref()] {
                                @for (index, cell) in row.into_iter().enumerate() {
                                    td data-head=(names.get(index).map(String::as_str).unwrap_or_default()) {
                                        @match row_id.as_ref().filter(|_| index == 0) {
                                            Some(id) => a href={ "#" (id) } { (rendered(cell)) },
                                            None => (rendered(cell)),
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

    fn find(&mut self, event: &Event<'_>) {
        let Some(place) = self.places.last_mut() else {
            return;
        };
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                place.text.push_str(part);
            }
            Event::SoftBreak | Event::End(TagEnd::Paragraph | TagEnd::Item)
                if !place.text.ends_with(' ') =>
            {
                place.text.push(' ');
            }
            _ => {}
        }
    }

    /// It is a place of its own if its table has an id; returns the row's.
    fn find_row(
        &mut self,
        id: Option<&str>,
        label: &str,
        row: &[Vec<Event<'_>>],
    ) -> Option<String> {
        let cells: Vec<String> = row.iter().cloned().map(plain_of).collect();
        let (first, others) = cells.split_first()?;
        match (id, self.places.last_mut()) {
            (Some(id), _) => {
                let id = row_id(id, first);
                let title = format!("{first} ({label})");
                self.places.push(Place::new(title, &id, others.join(" · ")));
                Some(id)
            }
            (None, Some(place)) => {
                place.text.push_str(&(cells.join(" ") + " "));
                None
            }
            (None, None) => None,
        }
    }

    fn find_fields(&mut self, prefix: &str, lines: &str) {
        for field in parse_fields(lines) {
            let id = format!("{prefix}.{}", field.name);
            let title = format!("{} ({})", field.name, self.heading);
            self.places
                .push(Place::new(title, &id, plain(field.description)));
            self.find_fields(&id, &field.inside);
        }
    }
}

fn rest(lines: &mut dyn Iterator<Item = &str>) -> String {
    lines
        .take_while(|line| *line != ":::end")
        .map(|line| format!("{line}\n"))
        .collect()
}

fn until<'a>(events: &mut Parser<'a>, is_end: impl Fn(&TagEnd) -> bool) -> Vec<Event<'a>> {
    events
        .take_while(|event| !matches!(event, Event::End(end) if is_end(end)))
        .collect()
}

/// Text that looks like HTML stays text.
fn rendered(events: Vec<Event<'_>>) -> Markup {
    let as_text = |event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    };
    let mut html = String::new();
    push_html(&mut html, events.into_iter().map(as_text));
    PreEscaped(html)
}

fn fields(prefix: &str, lines: &str) -> Markup {
    html! {
        dl.fields {
            @for field in parse_fields(lines) {
                @let id = format!("{prefix}.{}", field.name);
                div id=(id) {
                    dt {
                        a href={ "#" (id) } { code { (field.name) } }
                        " " span.kind { (inline(&field.kind)) }
                        @if !field.note.is_empty() { " " span class=(field.note) { (field.note) } }
                    }
                    dd {
                        p { (inline(field.description)) }
                        @if !field.inside.is_empty() { (fields(&id, &field.inside)) }
                    }
                }
            }
        }
    }
}

fn figure(tag: &str, caption: &str, text: &str) -> Markup {
    let caption = if caption.is_empty() {
        language(tag).1
    } else {
        caption
    };
    let text = text.strip_suffix('\n').unwrap_or(text);
    html! {
        figure.sample {
            figcaption { span { (inline(caption)) } }
            pre tabindex="0" { code { @if tag == "json" { (json(text)) } @else { (text) } } }
        }
    }
}

/// Uses the shortest elements: most of a page is samples.
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
