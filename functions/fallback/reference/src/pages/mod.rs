//! The reference pages, made from the description and from prose.
//!
//! A page is a `document` of blocks. `prose` reads pages written in Markdown; `endpoints`, `outcomes` and `errors` make
//! theirs from the description, with `objects` for fields and `samples` for code. `html`, `markdown` and `search`
//! render a document; `layout` is the frame of HTML pages, and `inline` the Markdown within a line.

mod document;
mod endpoints;
mod error_advice;
mod errors;
mod html;
mod inline;
mod layout;
mod markdown;
mod objects;
mod outcomes;
mod prose;
mod samples;
mod search;

use serde_json::Value;

use self::document::{Block, Document, Grid};
use crate::EXAMPLE_BASE_URL;
use crate::tables::{self, Table};

/// A page: its path, its name in the navigation, and its source.
pub(crate) struct Page {
    pub(crate) path: &'static str,
    name: &'static str,
    make: Make,
}

/// The source of a page.
enum Make {
    /// Markdown.
    Prose(&'static str),
    /// Made from the description.
    Built(fn(&Source<'_>) -> Document),
}

/// The material that pages are made from.
pub(crate) struct Source<'a> {
    pub(crate) description: &'a Value,
    /// The base URL of the API, without a trailing slash.
    pub(crate) base_url: &'a str,
}

/// The pages by navigation group.
const GROUPS: [(&str, &[Page]); 4] = [
    (
        "Guides",
        &[
            prose("/docs", "Get started", include_str!("prose/overview.md")),
            prose(
                "/docs/entry-form",
                "A whole entry form",
                include_str!("prose/entry-form.md"),
            ),
            prose(
                "/docs/conventions",
                "Conventions",
                include_str!("prose/conventions.md"),
            ),
            prose(
                "/docs/idempotency",
                "Idempotency and retries",
                include_str!("prose/idempotency.md"),
            ),
            prose("/docs/polling", "Polling", include_str!("prose/polling.md")),
            prose(
                "/docs/receipts",
                "Receipts, step by step",
                include_str!("prose/receipts.md"),
            ),
            prose(
                "/docs/gateway",
                "API Gateway replies",
                include_str!("prose/gateway.md"),
            ),
            prose(
                "/docs/going-live",
                "Going live",
                include_str!("prose/going-live.md"),
            ),
        ],
    ),
    (
        "Endpoints",
        &[
            built("/docs/endpoints", "All endpoints", endpoints::all),
            built("/docs/endpoints/campaign", "Campaign", endpoints::campaign),
            built("/docs/endpoints/codes", "Codes", endpoints::codes),
            built(
                "/docs/endpoints/submissions",
                "Submissions",
                endpoints::submissions,
            ),
            built("/docs/endpoints/receipts", "Receipts", endpoints::receipts),
        ],
    ),
    (
        "Reference",
        &[
            built("/docs/outcomes", "Outcomes and states", outcomes::page),
            built("/docs/errors", "Errors", errors::page),
            prose(
                "/docs/sentinels",
                "Test mode",
                include_str!("prose/sentinels.md"),
            ),
            prose("/docs/limits", "Limits", include_str!("prose/limits.md")),
            prose("/docs/changes", "Changes", include_str!("prose/changes.md")),
        ],
    ),
    (
        "Draws",
        &[
            prose(
                "/docs/draws",
                "How winners are drawn",
                include_str!("prose/draws.md"),
            ),
            prose(
                "/docs/draws/my-entry",
                "Was my entry in the draw?",
                include_str!("prose/my-entry.md"),
            ),
        ],
    ),
];

const fn prose(path: &'static str, name: &'static str, text: &'static str) -> Page {
    Page {
        path,
        name,
        make: Make::Prose(text),
    }
}

const fn built(path: &'static str, name: &'static str, make: fn(&Source<'_>) -> Document) -> Page {
    Page {
        path,
        name,
        make: Make::Built(make),
    }
}

pub(crate) fn all() -> impl Iterator<Item = &'static Page> {
    GROUPS.iter().flat_map(|(_, pages)| pages.iter())
}

impl Page {
    pub(crate) fn html(&self, source: &Source<'_>) -> String {
        layout::around(self.path, &self.document(source)).into_string()
    }

    pub(crate) fn markdown(&self, source: &Source<'_>) -> String {
        markdown::render(&self.document(source))
    }

    fn document(&self, source: &Source<'_>) -> Document {
        match self.make {
            Make::Prose(text) => {
                let base = if source.base_url.is_empty() {
                    EXAMPLE_BASE_URL
                } else {
                    source.base_url
                };
                prose::parse(&text.replace("{{base}}", base), |name| {
                    include(source, name)
                })
            }
            Make::Built(make) => make(source),
        }
    }
}

/// The "not found" page, for paths under `/docs`.
pub(crate) fn not_found() -> String {
    let link = |page: &Page| format!("[{}]({})", page.name, page.path);
    let document = Document {
        title: "Page not found".to_owned(),
        lead: "There is no page at this address. It may have moved: search for it, or choose one of these."
            .to_owned(),
        blocks: vec![Block::List { ordered: false, items: all().map(link).collect() }],
    };
    layout::around("", &document).into_string()
}

/// The search index of all pages.
pub(crate) fn search_index(source: &Source<'_>) -> String {
    let entries = all().flat_map(|page| search::entries(page.path, &page.document(source)));
    Value::Array(entries.collect()).to_string()
}

/// The list of pages for language models: <https://llmstxt.org>.
pub(crate) fn llms_txt(source: &Source<'_>) -> String {
    let base = source.base_url;
    let mut text =
        "# Campaign Entry Service\n\n> JSON HTTP API: a brand's server enters consumers into promotional \
                    campaigns by code or receipt.\n"
            .to_owned();
    for (group, pages) in &GROUPS {
        text.push_str(&format!("\n## {group}\n\n"));
        for page in *pages {
            let lead = inline::plain(&page.document(source).lead);
            text.push_str(&format!(
                "- [{}]({base}{}.md): {lead}\n",
                page.name, page.path
            ));
        }
    }
    text.push_str(&format!(
        "\n## API description\n\n- [OpenAPI 3.1]({base}/openapi.json)\n"
    ));
    text
}

pub(crate) use layout::{POLICY, SCRIPT, STYLE};

/// The blocks for `{{name}}` in a Markdown page.
fn include(source: &Source<'_>, name: &str) -> Vec<Block> {
    match name {
        "clients" => vec![samples::clients()],
        "enter" => vec![samples::enter()],
        "forms" => vec![samples::forms()],
        "common-parameters" => vec![endpoints::common_parameters(source)],
        "rate-limit-headers" => {
            endpoints::headers(source, &["RateLimit-Policy", "RateLimit", "Retry-After"])
        }
        "entered" => vec![samples_of_entered(source)],
        "test-codes" => table(&tables::test_codes()),
        "test-receipts" => table(&tables::test_receipts()),
        "limits" => table(&tables::limits()),
        _ => Vec::new(),
    }
}

/// The reply of the first walkthrough.
fn samples_of_entered(source: &Source<'_>) -> Block {
    let media =
        source.part("/paths/~1api~1v1~1submissions/post/responses/200/content/application~1json");
    endpoints::json_of(
        source,
        "Reply",
        at(media, &["examples", "entered", "value"]),
        at(media, &["schema"]),
    )
}

fn table(table: &Table) -> Vec<Block> {
    vec![
        Block::section(table.name, table.title),
        Block::Paragraph(table.text.to_owned()),
        Block::Table(Grid {
            // Rows of transitions and display statuses have no unique name.
            id: (table.name != "transitions" && table.name != "display-status")
                .then(|| table.name.to_owned()),
            label: table.title.to_owned(),
            head: table.head.iter().map(|head| (*head).to_owned()).collect(),
            rows: table.rows.clone(),
        }),
    ]
}

impl Source<'_> {
    /// A part of the description, by JSON Pointer.
    fn part(&self, pointer: &str) -> &Value {
        self.description.pointer(pointer).unwrap_or(&Value::Null)
    }

    fn schema(&self, name: &str) -> &Value {
        self.part(&format!("/components/schemas/{name}"))
    }

    /// Follows a `$ref`; returns any other value unchanged.
    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match text_of(value, "$ref").strip_prefix('#') {
            Some(pointer) => self.part(pointer),
            None => value,
        }
    }
}

/// A nested member; null if it is missing.
pub(crate) fn at<'v>(value: &'v Value, names: &[&str]) -> &'v Value {
    names
        .iter()
        .try_fold(value, |value, name| value.get(name))
        .unwrap_or(&Value::Null)
}

/// A string member; empty if it is missing.
pub(crate) fn text_of<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// The name of the schema that a `$ref` points to.
fn linked(value: &Value) -> Option<&str> {
    text_of(value, "$ref")
        .rsplit_once('/')
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_that_a_page_of_markdown_asks_for_is_made() {
        let description = crate::openapi("");
        let source = Source {
            description: &description,
            base_url: "",
        };
        for page in all() {
            let Make::Prose(text) = page.make else {
                continue;
            };
            for name in text
                .lines()
                .filter_map(|line| line.strip_prefix("{{")?.strip_suffix("}}"))
            {
                assert!(
                    !include(&source, name).is_empty(),
                    "{} asks for {name}",
                    page.path
                );
            }
        }
    }

    #[test]
    fn every_schema_of_a_reply_stands_on_a_page_once() {
        let description = crate::openapi("");
        let source = Source {
            description: &description,
            base_url: "",
        };
        let pages: Vec<String> = all().map(|page| page.html(&source)).collect();
        for (name, _) in members(source.part("/components/schemas"))
            .filter(|(name, _)| !name.ends_with("Request"))
        {
            let place = objects::place_of(name);
            let (_, place) = place.split_once('#').expect("a place");
            let places = pages
                .iter()
                .map(|page| page.matches(&format!("id=\"{place}\"")).count());
            assert_eq!(places.sum::<usize>(), 1, "{name}");
        }
    }
}
