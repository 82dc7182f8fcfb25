//! The page that every error's `docs_url` leads to: what happened and how to fix it, one paragraph a
//! code, made from the table that the errors themselves are made from.

use common::error::ErrorCode;
use common::http::reply::status;

/// The page.
pub(crate) fn render() -> String {
    let sections: String = ErrorCode::ALL.iter().copied().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Errors of the Campaign Entry Service</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Errors</h1>\n<p>An error means that the request is at fault, not the consumer. Branch on \
         <code>code</code>; <code>message</code> and <code>fix</code> are for developers and may change.</p>\n\
         {sections}</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = ":root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:0}\
main{max-width:44rem;margin:auto;padding:1rem}section{padding:.5rem 1rem}section:target{outline:2px solid}\
h2{font-size:1.1rem}code{font-family:ui-monospace,monospace}";

fn section(code: ErrorCode) -> String {
    let name = code.as_str();
    format!(
        "<section id=\"{name}\">\n<h2><code>{name}</code> ({})</h2>\n<p>{}</p>\n<p>{}</p>\n</section>\n",
        status(code).as_u16(),
        in_html(code.message()),
        in_html(code.fix())
    )
}

/// Text in HTML, with what stands between backticks as code.
fn in_html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let parts = escaped.split('`').enumerate();
    parts
        .map(|(index, part)| if index % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_paragraph() {
        let page = render();
        for code in ErrorCode::ALL {
            assert!(page.contains(&format!("<section id=\"{}\">", code.as_str())), "{}", code.as_str());
        }
        assert!(page.contains("<code>Authorization: Bearer &lt;API_KEY&gt;</code>"));
    }
}
