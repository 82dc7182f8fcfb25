//! Inline Markdown: code between backticks, bold between double asterisks, and links.

use maud::{Markup, html};

enum Piece<'a> {
    Text(&'a str),
    Code(&'a str),
    Bold(&'a str),
    Link { text: &'a str, target: &'a str },
}

pub(super) fn html(line: &str) -> Markup {
    html! {
        @for piece in pieces(line) {
            @match piece {
                Piece::Text(text) => (text),
                Piece::Code(text) => code { (text) },
                Piece::Bold(text) => strong { (html(text)) },
                Piece::Link { text, target } => a href=(target) { (html(text)) },
            }
        }
    }
}

/// A line as Markdown, with links to pages changed to their Markdown files.
pub(super) fn markdown(line: &str) -> String {
    let piece = |piece: Piece<'_>| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Code(text) => format!("`{text}`"),
        Piece::Bold(text) => format!("**{}**", markdown(text)),
        Piece::Link { text, target } => format!("[{}]({})", markdown(text), markdown_link(target)),
    };
    pieces(line).into_iter().map(piece).collect()
}

/// A line without markup.
pub(super) fn plain(line: &str) -> String {
    let piece = |piece: Piece<'_>| match piece {
        Piece::Text(text) | Piece::Code(text) => text.to_owned(),
        Piece::Bold(text) | Piece::Link { text, .. } => plain(text),
    };
    pieces(line).into_iter().map(piece).collect()
}

/// `/docs/errors#not_found` as `/docs/errors.md#not_found`.
fn markdown_link(target: &str) -> String {
    if !target.starts_with("/docs") {
        return target.to_owned();
    }
    match target.split_once('#') {
        Some((page, place)) => format!("{page}.md#{place}"),
        None => format!("{target}.md"),
    }
}

fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = line;
    let mut from = 0;
    while let Some(at) = rest
        .get(from..)
        .and_then(|tail| tail.find(['`', '*', '[']))
        .map(|at| at + from)
    {
        let (before, tail) = rest.split_at(at);
        match piece(tail) {
            Some((piece, after)) => {
                found.push(Piece::Text(before));
                found.push(piece);
                (rest, from) = (after, 0);
            }
            // No markup starts here: an ordinary character.
            None => from = at + 1,
        }
    }
    found.push(Piece::Text(rest));
    found
}

/// The markup that the text starts with, and the rest of the text.
fn piece(tail: &str) -> Option<(Piece<'_>, &str)> {
    if let Some(code) = tail.strip_prefix('`') {
        let (code, after) = code.split_once('`')?;
        return Some((Piece::Code(code), after));
    }
    if let Some(bold) = tail.strip_prefix("**") {
        let (bold, after) = bold.split_once("**")?;
        return Some((Piece::Bold(bold), after));
    }
    let (text, after) = tail.strip_prefix('[')?.split_once("](")?;
    let (target, after) = after.split_once(')')?;
    let is_link = !text.contains('\n')
        && (target.starts_with('/') || target.starts_with('#') || target.starts_with("http"));
    is_link.then_some((Piece::Link { text, target }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_elements_and_anything_else_stays() {
        let line = "Send `a_b` to **the [page](/docs/errors#not_found)**, 2 * 3 [x] <b>";
        assert_eq!(
            html(line).into_string(),
            "Send <code>a_b</code> to <strong>the <a href=\"/docs/errors#not_found\">page</a></strong>, 2 * 3 [x] &lt;b&gt;"
        );
        assert_eq!(
            markdown(line),
            "Send `a_b` to **the [page](/docs/errors.md#not_found)**, 2 * 3 [x] <b>"
        );
        assert_eq!(plain(line), "Send a_b to the page, 2 * 3 [x] <b>");
    }
}
