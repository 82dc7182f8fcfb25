//! The frame of every HTML page: head, navigation, search.

use maud::{DOCTYPE, Markup, html};

use super::document::Document;
use super::inline::html as line;
use super::{GROUPS, html as render};
use crate::digest;

pub(crate) const STYLE: &str = include_str!("style.css");
/// Search, copy buttons and the remembered language; pages are complete without it.
pub(crate) const SCRIPT: &str = include_str!("script.js");
/// Pages load style and script from their own server and nothing else.
pub(crate) const POLICY: &str = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; \
                                 connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn head(path: &str, title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            link rel="icon" href="/favicon.ico" type="image/svg+xml";
            // A changed file gets a new URL, so browsers never need to revalidate.
            link rel="stylesheet" href={ "/docs/style.css?" (digest(STYLE)) };
            @if !path.is_empty() { link rel="alternate" type="text/markdown" href={ (path) ".md" }; }
            title { (title) " · Campaign Entry Service" }
            script src={ "/docs/script.js?" (digest(SCRIPT)) } defer {}
        }
    }
}

pub(super) fn around(path: &str, document: &Document) -> Markup {
    let title = &document.title;
    let parts = document.headings(2);
    let parts = html! {
        @if parts.len() > 1 {
            ul { @for part in &parts { li { a href={ "#" (part.id) } { (line(&part.text)) } } } }
        }
    };
    html! {
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
                            @for page in *pages {
                                li {
                                    a href=(page.path) aria-current=[(page.path == path).then_some("page")] { (page.name) }
                                    @if page.path == path { (parts) }
                                }
                            }
                        }
                    }
                }
                main id="content" tabindex="-1" {
                    h1 { (title) }
                    p.lead { (line(&document.lead)) }
                    @if !path.is_empty() {
                        details.contents { summary { "On this page" } nav aria-label="On this page" { (parts) } }
                    }
                    (render::blocks(&document.blocks, "c"))
                    footer {
                        @if !path.is_empty() { a href={ (path) ".md" } { "This page as Markdown" } " · " }
                        a href="/llms.txt" { "llms.txt" } " · " a href="/openapi.json" { "OpenAPI 3.1" } " · "
                        a href="#content" { "Back to top" }
                    }
                }
            }
        }
    }
}
