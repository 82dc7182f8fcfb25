use maud::{DOCTYPE, Markup, html};

use super::html::{Rendered, inline};
use super::{GROUPS, digest};

const STYLE: &str = include_str!("../../../../functions/api-docs/files/style.css");
const SCRIPT: &str = include_str!("../../../../functions/api-docs/files/script.js");

fn head(path: &str, title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            link rel="icon" href="/favicon.ico" type="image/svg+xml";
            // A changed file gets a new URL, so browsers keep it.
            link rel="stylesheet" href={ "/docs/style.css?" (digest(STYLE)) };
            @if !path.is_empty() { link rel="alternate" type="text/markdown" href={ (path) ".md" }; }
            title { (title) " · Campaign Entry Service" }
            script src={ "/docs/script.js?" (digest(SCRIPT)) } defer {}
        }
    }
}

/// The "not found" page has no path.
pub(super) fn around(path: &str, title: &str, lead: &str, page: &Rendered) -> String {
    let parts = html! {
        @if page.parts.len() > 1 {
            ul { @for (id, text) in &page.parts { li { a href={ "#" (id) } { (text) } } } }
        }
    };
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            (head(path, title))
            body {
                a.skip href="#content" { "Skip to content" }
                header {
                    input.toggle type="checkbox" id="menu" aria-label="Show all pages";
                    label.toggle for="menu" { "Menu" }
                    a.brand href="/docs" { span.mark aria-hidden="true" { "✓" } span { "Campaign Entry Service" } }
                    div.search hidden {
                        input type="search" id="search" placeholder="Search" title="Press / to search" aria-label="Search" role="combobox"
                            aria-expanded="false" aria-controls="results" aria-autocomplete="list" autocomplete="off";
                        ul id="results" role="listbox" aria-label="Results" hidden {}
                    }
                }
                nav aria-label="Pages" {
                    @for (group, pages) in &GROUPS {
                        h2 { (group) }
                        ul {
                            @for other in *pages {
                                li {
                                    a href=(other.path) aria-current=[(other.path == path).then_some("page")] { (other.name) }
                                    @if other.path == path { (parts) }
                                }
                            }
                        }
                    }
                }
                main id="content" tabindex="-1" {
                    h1 { (title) }
                    p.lead { (inline(lead)) }
                    @if !path.is_empty() {
                        details.contents { summary { "On this page" } nav aria-label="On this page" { (parts) } }
                    }
                    (page.body)
                    footer {
                        @if !path.is_empty() { a href={ (path) ".md" } { "This page as Markdown" } " · " }
                        a href="/llms.txt" { "llms.txt" } " · " a href="/openapi.json" { "OpenAPI 3.1" } " · "
                        a href="#content" { "Back to top" }
                    }
                }
            }
        }
    };
    whole.into_string()
}
