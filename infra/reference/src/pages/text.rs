//! Words as markup: paragraphs, and code between backticks.

use maud::{Markup, html};

/// A line, with what stands between backticks as code.
pub(super) fn line(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Paragraphs, with an empty line between them.
pub(super) fn paragraphs(text: &str) -> Markup {
    html! { @for paragraph in text.split("\n\n") { p { (line(paragraph)) } } }
}
