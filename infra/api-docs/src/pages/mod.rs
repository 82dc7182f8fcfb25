//! The reference pages. Every page is `markdown` first: `endpoints` and `errors` write theirs from
//! the description; in `prose/`, `{{name}}` alone on a line stands for generated blocks.

mod endpoints;
mod error_advice;
mod errors;
mod html;
mod layout;
pub(crate) mod markdown;
mod objects;
mod samples;
mod search;

use serde_json::Value;
use sha2::{Digest, Sha256};

use self::markdown::{fields, plain, served, split};
use crate::{EXAMPLE_BASE_URL, tables};

struct Page {
    path: &'static str,
    name: &'static str,
    make: Make,
}

enum Make {
    Prose(&'static str),
    Built(fn(&Source<'_>) -> String),
}

struct Source<'a>(&'a Value);

macro_rules! prose {
    ($path:literal, $name:literal, $file:literal) => {
        Page {
            path: $path,
            name: $name,
            make: Make::Prose(include_str!(concat!("../../prose/", $file))),
        }
    };
}

const GROUPS: [(&str, &[Page]); 4] = [
    (
        "Guides",
        &[
            prose!("/docs", "Get started", "overview.md"),
            prose!("/docs/entry-form", "A whole entry form", "entry-form.md"),
            prose!("/docs/conventions", "Conventions", "conventions.md"),
            prose!(
                "/docs/idempotency",
                "Idempotency and retries",
                "idempotency.md"
            ),
            prose!("/docs/polling", "Polling", "polling.md"),
            prose!("/docs/webhooks", "Webhooks", "webhooks.md"),
            prose!("/docs/receipts", "Receipts, step by step", "receipts.md"),
            prose!("/docs/gateway", "API Gateway replies", "gateway.md"),
            prose!("/docs/going-live", "Going live", "going-live.md"),
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
            prose!("/docs/outcomes", "Outcomes and states", "outcomes.md"),
            built("/docs/errors", "Errors", errors::page),
            prose!("/docs/sentinels", "Test mode", "sentinels.md"),
            prose!("/docs/limits", "Limits", "limits.md"),
            prose!("/docs/changes", "Changes", "changes.md"),
        ],
    ),
    (
        "Draws and instant prizes",
        &[
            prose!("/docs/draws", "How winners are drawn", "draws.md"),
            prose!(
                "/docs/draws/my-entry",
                "Was my entry in the draw?",
                "my-entry.md"
            ),
            prose!("/docs/instant", "Prizes at winning moments", "instant.md"),
            prose!(
                "/docs/instant/my-prize",
                "How are instant prizes given?",
                "my-prize.md"
            ),
        ],
    ),
];

const fn built(path: &'static str, name: &'static str, make: fn(&Source<'_>) -> String) -> Page {
    Page {
        path,
        name,
        make: Make::Built(make),
    }
}

fn all() -> impl Iterator<Item = &'static Page> {
    GROUPS.iter().flat_map(|(_, pages)| pages.iter())
}

pub(crate) fn files(description: &Value) -> Vec<(String, String)> {
    let source = Source(description);
    let mut files = Vec::new();
    let mut places = Vec::new();
    let mut list = "# Campaign Entry Service\n\n> JSON HTTP API: a brand's server enters consumers into promotional \
                    campaigns by code or receipt.\n"
        .to_owned();
    for (group, pages) in &GROUPS {
        list.push_str(&format!("\n## {group}\n\n"));
        for Page { path, name, make } in *pages {
            let page = markdown_of(make, &source);
            let file = path.trim_start_matches('/');
            let (title, lead, rest) = split(&page);
            let rendered = html::render(title, lead, rest);
            let html = layout::around(path, title, lead, &rendered);
            files.push((format!("{file}.html"), html));
            files.push((format!("{file}.markdown"), served(&page)));
            places.extend(rendered.places.iter().map(|place| place.entry(path, title)));
            let lead = plain(lead);
            list.push_str(&format!(
                "- [{name}]({EXAMPLE_BASE_URL}{path}.md): {lead}\n"
            ));
        }
    }
    // For language models: <https://llmstxt.org>.
    list.push_str(&format!(
        "\n## API description\n\n- [OpenAPI 3.1]({EXAMPLE_BASE_URL}/openapi.json)\n"
    ));
    files.push(("llms.txt".to_owned(), list));
    files.push(("search.json".to_owned(), Value::Array(places).to_string()));
    files.push(("missing.html".to_owned(), missing_page()));
    files
}

fn markdown_of(make: &Make, source: &Source<'_>) -> String {
    let text = match make {
        Make::Prose(text) => text.replace("{{base}}", EXAMPLE_BASE_URL),
        Make::Built(make) => return make(source),
    };
    let line = |line: &str| match line
        .strip_prefix("{{")
        .and_then(|line| line.strip_suffix("}}"))
    {
        Some(name) => include(source, name),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn missing_page() -> String {
    let pages = all().map(|page| format!("- [{}]({})\n", page.name, page.path));
    let title = "Page not found";
    let lead = "There is no page at this address. It may have moved: search for it, or choose one of these.";
    let page = html::render(title, lead, &pages.collect::<String>());
    layout::around("", title, lead, &page)
}

fn include(source: &Source<'_>, name: &str) -> String {
    match name {
        "enter" => samples::enter(),
        "forms" => samples::forms(),
        "receivers" => samples::receivers(),
        "common-parameters" => endpoints::common_parameters(source),
        "rate-limit-headers" => fields(
            "reply",
            &["RateLimit-Policy", "RateLimit", "Retry-After"]
                .map(|name| endpoints::header_field(source, name))
                .concat(),
        ),
        "entered" => {
            let media = source
                .part("/paths/~1api~1v1~1submissions/post/responses/200/content/application~1json");
            let value = at(media, &["examples", "entered", "value"]);
            endpoints::json_of(source, "Reply", value, at(media, &["schema"]))
        }
        "message-keys" => tables::message_keys(source.schema("MessageKey")),
        "objects" => objects::of_page(source, "/docs/outcomes"),
        "event" => objects::of_page(source, "/docs/webhooks"),
        "display-status" => tables::display_statuses(),
        "test-codes" => tables::test_codes(),
        "test-receipts" => tables::test_receipts(),
        _ => String::new(),
    }
}

impl Source<'_> {
    fn part(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    fn schema(&self, name: &str) -> &Value {
        self.part(&format!("/components/schemas/{name}"))
    }

    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match text_of(value, "$ref").strip_prefix('#') {
            Some(pointer) => self.part(pointer),
            None => value,
        }
    }
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()).get(..8).unwrap_or_default())
}

pub(crate) fn at<'v>(value: &'v Value, names: &[&str]) -> &'v Value {
    names
        .iter()
        .try_fold(value, |value, name| value.get(name))
        .unwrap_or(&Value::Null)
}

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

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    items(value).filter_map(Value::as_str)
}

fn linked(value: &Value) -> Option<&str> {
    text_of(value, "$ref")
        .rsplit_once('/')
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Replies, describe};

    #[test]
    fn every_block_that_prose_asks_for_is_made() {
        let description = describe(Replies::Open);
        for page in all() {
            let Make::Prose(text) = page.make else {
                continue;
            };
            for name in text
                .lines()
                .filter_map(|line| line.strip_prefix("{{")?.strip_suffix("}}"))
            {
                let block = include(&Source(&description), name);
                assert!(!block.is_empty(), "{} asks for {name}", page.path);
            }
        }
    }

    #[test]
    fn every_schema_of_a_reply_stands_on_a_page_once() {
        let description = describe(Replies::Open);
        let files = files(&description);
        for (name, _) in members(Source(&description).part("/components/schemas"))
            .filter(|(name, _)| !name.ends_with("Request"))
        {
            let place = objects::place_of(name);
            let (_, place) = place.split_once('#').expect("a place");
            let id = format!("id=\"{place}\"");
            let places = files.iter().map(|(_, text)| text.matches(&id).count());
            assert_eq!(places.sum::<usize>(), 1, "{name}");
        }
    }
}
