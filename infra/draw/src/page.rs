//! Pages with named parts, such as `{{style}}`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::digest::Digest;

/// A name without a part stays.
pub(crate) fn fill(page: &str, parts: &[(&str, &str)]) -> String {
    let mut pieces = page.split("{{");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let part = piece.split_once("}}").and_then(|(named, text)| {
            let (_, part) = parts.iter().find(|(name, _)| *name == named)?;
            Some([*part, text])
        });
        filled.extend(part.unwrap_or(["{{", piece]));
    }
    filled
}

/// The digest that admits a script or style in a page's policy.
pub(crate) fn content_security_digest(text: &str) -> String {
    format!(
        "sha256-{}",
        STANDARD.encode(Digest::from_parts(&[text.as_bytes()]).as_bytes())
    )
}

/// Text for HTML, also within an attribute in double quotes.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
