//! The form of a campaign: the parts of a campaign file, with what was typed and what is wrong.

use ops_core::campaign_file::Problem;
use ops_core::campaign_file::form::{ON, Part, PartKind, Typed, parts};

use crate::prelude::*;

/// Groups by their parts.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "The campaign",
        &["slug", "name", "brand", "timezone", "window"],
    ),
    (
        "Who can enter, and how often",
        &["code", "limits", "entries_per_submission", "wrong_codes"],
    ),
    ("Receipts", &["receipt"]),
    ("A partner that checks codes", &["partner"]),
    ("Texts for consumers", &["messages", "consent"]),
    ("Instant prizes", &["instant"]),
    ("Personal data", &["retention"]),
];

/// Lines of a field that shows a list.
const MAX_ROWS: usize = 12;

pub(super) struct Fields<'a> {
    pub(super) typed: &'a Typed,
    pub(super) problems: &'a [Problem],
    /// True if the campaign exists, so that its slug stays.
    pub(super) is_stored: bool,
}

impl Fields<'_> {
    pub(super) fn render(&self) -> Markup {
        let parts = parts();
        let found = |name: &&str| parts.iter().find(|part| part.path == **name);
        html! {
            (self.summary(&parts))
            @for (title, names) in GROUPS {
                section.group {
                    h2 { (title) }
                    @for part in names.iter().filter_map(&found) { (self.part(part)) }
                }
            }
        }
    }

    fn summary(&self, parts: &[Part]) -> Markup {
        html! {
            @if !self.problems.is_empty() {
                div.problems role="alert" {
                    p.bad { (count(self.problems.len())) " Nothing was changed." }
                    ul {
                        @for problem in self.problems {
                            li {
                                @match place(problem, parts) {
                                    Some(path) => a href={ "#" (path) } { (label(path)) ": " (words(problem, path)) },
                                    None => (problem.message),
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn part(&self, part: &Part) -> Markup {
        match &part.kind {
            PartKind::Block(inner) | PartKind::Switched(inner) => self.block(part, inner),
            PartKind::Texts(_) => html! {},
            PartKind::Flag => html! {
                label.inline {
                    input type="checkbox" id=(part.path) name=(part.path) value=(ON) checked[self.is_on(&part.path)];
                    " " (label(&part.path))
                }
                p.soft { (marked(part.help)) }
            },
            PartKind::Text(_)
            | PartKind::Time
            | PartKind::Number(_)
            | PartKind::Choice(_)
            | PartKind::Lines(_)
            | PartKind::Yaml => self.field(part),
        }
    }

    fn block(&self, part: &Part, inner: &[Part]) -> Markup {
        let is_switched = matches!(part.kind, PartKind::Switched(_));
        let has_problem = self.problems_of(part).next().is_some();
        html! {
            fieldset.switched[is_switched] id=[(!is_switched).then_some(&part.path)] {
                legend { (label(&part.path)) }
                p.soft { (marked(part.help)) }
                @if is_switched {
                    label.inline {
                        input type="checkbox" id=(part.path) name=(part.path) value=(ON) checked[self.is_on(&part.path)];
                        " Set these"
                    }
                    @if let Some(left_out) = part.left_out { p.soft { "Otherwise: " (marked(left_out)) "." } }
                }
                @if has_problem { (self.said(part)) }
                div.inside {
                    @for part in inner { (self.part(part)) }
                    @if let [first, ..] = inner && matches!(first.kind, PartKind::Texts(_)) { (self.texts(inner)) }
                }
            }
        }
    }

    /// A row for each key, with a column for each language.
    fn texts(&self, languages: &[Part]) -> Markup {
        let of = |part: &Part| match &part.kind {
            PartKind::Texts(texts) => texts.clone(),
            _ => Vec::new(),
        };
        let columns: Vec<_> = languages.iter().map(of).collect();
        let keys = columns.first().map_or(0, Vec::len);
        let is_open = columns.iter().flatten().any(|part| {
            !self.typed(&part.path).is_empty() || self.problems_of(part).next().is_some()
        });
        html! {
            details open[is_open] {
                summary { (keys) " texts in each language; an empty one is the service’s own, which is shown in it" }
                @for row in 0..keys {
                    div.pair {
                        @for (language, texts) in languages.iter().zip(&columns) {
                            @if let Some(part) = texts.get(row) { (self.text_of_key(language, part)) }
                        }
                    }
                }
            }
        }
    }

    fn text_of_key(&self, language: &Part, part: &Part) -> Markup {
        let own = serde_json::from_str(part.example).unwrap_or_else(|_| part.example.to_owned());
        html! {
            div {
                label for=(part.path) { (part.name.replace('_', " ")) ", " (language.help.trim_end_matches('.')) }
                textarea id=(part.path) name=(part.path) rows="2" lang=(language.name) placeholder=(own) { (self.typed(&part.path)) }
                (self.said(part))
            }
        }
    }

    fn field(&self, part: &Part) -> Markup {
        let Part { path, kind, .. } = part;
        let help = format!("{path}-help");
        let is_wrong = self.problems_of(part).next().is_some();
        let invalid = is_wrong.then_some("true");
        let typed = self.typed(path);
        let is_fixed = self.is_stored && path == "slug";
        html! {
            div.field {
                label for=(path) {
                    (label(path))
                    @if part.left_out.is_none() && !is_fixed { span.soft { " (needed)" } }
                }
                @match kind {
                    PartKind::Choice(words) => select id=(path) name=(path) aria-describedby=(help) aria-invalid=[invalid] {
                        @for word in *words { option value=(word) selected[word == typed] { (word) } }
                    },
                    PartKind::Lines(_) | PartKind::Yaml => {
                        @let rows = (typed.lines().count() + 2).min(MAX_ROWS);
                        textarea.lines id=(path) name=(path) rows=(rows) wrap="off" spellcheck="false" aria-describedby=(help) aria-invalid=[invalid] { "\n" (typed) }
                    },
                    PartKind::Text(max) if *max > 500 => {
                        textarea id=(path) name=(path) rows="3" aria-describedby=(help) aria-invalid=[invalid] { "\n" (typed) }
                    },
                    _ => input id=(path) name=(path) type=(kind_of(kind)) value=(typed) readonly[is_fixed]
                        autocomplete="off" aria-describedby=(help) aria-invalid=[invalid];,
                }
                (self.said(part))
                p.soft id=(help) { (help_of(part)) }
            }
        }
    }

    fn said(&self, part: &Part) -> Markup {
        html! { @for problem in self.problems_of(part) { p.wrong { (words(problem, &part.path)) } } }
    }

    fn problems_of<'s>(&'s self, part: &'s Part) -> impl Iterator<Item = &'s Problem> {
        let shows_all = matches!(part.kind, PartKind::Lines(_) | PartKind::Yaml);
        self.problems.iter().filter(move |problem| {
            let rest = problem
                .field
                .as_deref()
                .and_then(|field| field.strip_prefix(&part.path));
            rest.is_some_and(|rest| rest.is_empty() || shows_all && rest.starts_with(['.', '[']))
        })
    }

    fn typed(&self, path: &str) -> &str {
        self.typed.get(path).map_or("", String::as_str)
    }

    fn is_on(&self, path: &str) -> bool {
        self.typed(path) == ON
    }
}

/// The path of the field that shows a problem.
fn place<'p>(problem: &Problem, parts: &'p [Part]) -> Option<&'p str> {
    let field = problem.field.as_deref()?;
    parts.iter().find_map(|part| {
        let rest = field.strip_prefix(part.path.as_str())?;
        if !(rest.is_empty() || rest.starts_with(['.', '['])) {
            return None;
        }
        let inner = match &part.kind {
            PartKind::Block(inner) | PartKind::Switched(inner) | PartKind::Texts(inner) => {
                place(problem, inner)
            }
            _ => None,
        };
        inner.or(Some(part.path.as_str()))
    })
}

/// Such as `Line 3, range: is not a range of this file`.
fn words(problem: &Problem, path: &str) -> Markup {
    let field = problem.field.as_deref().unwrap_or_default();
    let rest = field.strip_prefix(path).unwrap_or_default();
    let (is_item, inside) = match rest.split_once(']') {
        Some((_, inside)) if rest.starts_with('[') => (true, inside.trim_start_matches('.')),
        _ => (false, rest.trim_start_matches('.')),
    };
    html! {
        @if is_item { "line " (problem.line) ", " }
        @if !inside.is_empty() { (inside) " " }
        (marked(&labelled(&problem.message)))
    }
}

fn count(problems: usize) -> String {
    match problems {
        1 => "One thing is not right yet.".to_owned(),
        count => format!("{count} things are not right yet."),
    }
}

/// Of fields whose name says too little.
const LABELS: [(&str, &str); 33] = [
    ("slug", "Short name"),
    ("timezone", "Time zone"),
    ("window", "When it takes entries"),
    ("window.start", "Begins"),
    ("window.end", "Ends"),
    ("code", "Codes"),
    ("code.checked_by", "Who checks the codes"),
    ("limits", "Limits of one phone"),
    ("limits.phone_daily", "Submissions a day"),
    ("limits.phone_total", "Submissions in all"),
    ("entries_per_submission", "Entries for each submission"),
    ("wrong_codes.count", "How many"),
    ("wrong_codes.minutes", "Within so many minutes"),
    ("messages", "Own texts"),
    ("consent.version", "Version of the text"),
    ("consent.en", "In English"),
    ("consent.sw", "In Swahili"),
    ("retention", "How long personal data is kept"),
    ("retention.phones_days", "Days for phones"),
    ("retention.photos_days", "Days for photos"),
    ("receipt.required", "Every submission needs a receipt"),
    ("receipt.typed", "A receipt’s code and time can be typed"),
    (
        "receipt.on_no_match",
        "Receipts without a participating product",
    ),
    ("receipt.max_entries", "Most entries of one receipt"),
    ("receipt.draw_period", "How often the draw is, in words"),
    ("partner.url", "Address"),
    ("partner.secret.name", "Name of the secret"),
    ("partner.timeout_seconds", "Seconds to wait for an answer"),
    ("partner.max_in_flight", "Most requests at a time"),
    ("partner.code", "Form of the codes"),
    ("partner.body", "What is sent"),
    ("partner.reply", "Parts of the reply"),
    ("partner.outcomes", "What its answers mean"),
];

/// The last part of a path, if it has no words of its own: `Brand`.
fn label(path: &str) -> String {
    if let Some((_, words)) = LABELS.iter().find(|(known, _)| *known == path) {
        return (*words).to_owned();
    }
    let name = path.rsplit('.').next().unwrap_or(path).replace('_', " ");
    let mut chars = name.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// A field outside its form, such as `Limits of one phone: submissions a day`.
pub(super) fn field_words(path: &str) -> String {
    match path.split_once(['.', '[']) {
        None => label(path),
        Some((block, rest)) if path.contains('[') => format!("{}: {rest}", label(block)),
        Some((block, _)) => format!("{}: {}", label(block), label(path)),
    }
}

/// A message with the labels of the fields that it names.
fn labelled(message: &str) -> String {
    let named = LABELS.iter().filter(|(path, _)| path.contains('.'));
    named.fold(message.to_owned(), |message, (path, words)| {
        message.replace(path, &format!("“{words}”"))
    })
}

fn kind_of(kind: &PartKind) -> &'static str {
    match kind {
        PartKind::Time => "datetime-local",
        PartKind::Number(_) => "number",
        _ => "text",
    }
}

fn help_of(part: &Part) -> Markup {
    let has_example = matches!(part.kind, PartKind::Text(_) | PartKind::Yaml);
    html! {
        (marked(part.help))
        @match &part.kind {
            PartKind::Time => " In the campaign’s time zone.",
            PartKind::Number(max) => { " At most " (grouped(*max)) "." },
            PartKind::Lines(cells) => {
                " A line for each, with " code { (cells.join(" | ")) } "; rows copied from a spreadsheet can be pasted. Several texts in a \
                 cell have " code { ";" } " between them."
            },
            _ => {},
        }
        @if has_example { " Such as " code { (part.example) } "." }
        @if let Some(left_out) = part.left_out { " Empty: " (marked(left_out)) "." }
    }
}

/// Text with `code` between backticks.
pub(super) fn marked(text: &str) -> Markup {
    html! {
        @for (index, piece) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_file_is_in_a_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        grouped.sort();
        let parts = parts();
        let mut names: Vec<_> = parts.iter().map(|part| &part.name).collect();
        names.sort();
        assert_eq!(grouped, names);
    }
}
