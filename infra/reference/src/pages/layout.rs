//! What all pages share: head, navigation, style, and the policy that keeps a page to itself.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::{PAGES, Page};

const STYLE: &str = include_str!("style.css");
/// Adds a button for copying to every sample; pages are whole without it.
const SCRIPT: &str = include_str!("copy.js");

/// The page around its content.
pub(super) fn around(page: &Page, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                title { (page.name) " · Campaign Entry Service" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#content" { "Skip to content" }
                header {
                    a.brand href="/docs" { span.mark aria-hidden="true" { "✓" } "Campaign Entry Service" }
                    nav aria-label="Pages" {
                        ul {
                            @for other in &PAGES {
                                li { a href=(other.path) aria-current=[(other.path == page.path).then_some("page")] { (other.name) } }
                            }
                        }
                    }
                    p.files { a href="/openapi.json" { "OpenAPI 3.1" } " " a href="/openapi-3.0.json" { "3.0" } }
                }
                main id="content" tabindex="-1" { (content) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Nothing is loaded from anywhere; the style and the script are known by their digests.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}
