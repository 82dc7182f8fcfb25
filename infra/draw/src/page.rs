//! Pages with named parts, such as `{{style}}`.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::digest::Digest;

/// Writes a page; `write_part` writes what a name stands for.
pub(crate) fn fill<W: Write>(
    page: &str,
    out: &mut W,
    mut write_part: impl FnMut(&str, &mut W) -> io::Result<()>,
) -> io::Result<()> {
    for (at, piece) in page.split("{{").enumerate() {
        let text = match piece.split_once("}}") {
            Some((name, text)) if at > 0 => {
                write_part(name, out)?;
                text
            }
            Some(_) | None => piece,
        };
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}

/// How a page's policy names the one script or style that it allows.
pub(crate) fn content_security_digest(text: &str) -> String {
    format!(
        "sha256-{}",
        STANDARD.encode(Digest::from_parts(&[text.as_bytes()]).as_bytes())
    )
}

/// Text that is never markup.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
