#[derive(Clone, Copy)]
pub(crate) struct File {
    pub(crate) content_type: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const JSON: &str = "application/json";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! pages {
    ($($name:literal)*) => {
        [$((
            concat!("/", $name),
            include_str!(concat!("../files/", $name, ".html")),
            include_str!(concat!("../files/", $name, ".markdown")),
        )),*]
    };
}

const PAGES: [(&str, &str, &str); 23] = pages![
    "docs" "docs/entry-form" "docs/conventions" "docs/idempotency" "docs/polling" "docs/webhooks" "docs/receipts"
    "docs/gateway" "docs/going-live" "docs/endpoints" "docs/endpoints/campaign" "docs/endpoints/codes"
    "docs/endpoints/submissions" "docs/endpoints/receipts" "docs/outcomes" "docs/errors" "docs/sentinels"
    "docs/limits" "docs/changes" "docs/draws" "docs/draws/my-entry"
    "docs/instant" "docs/instant/my-prize"
];

macro_rules! files {
    ($($path:literal $content_type:ident $text:expr;)*) => {
        [$(($path, $content_type, $text)),*]
    };
}

const FILES: [(&str, &str, &str); 12] = files![
    "/openapi.json" JSON include_str!("../files/openapi.json");
    "/docs/style.css" CSS include_str!("../files/style.css");
    "/docs/script.js" SCRIPT include_str!("../files/script.js");
    "/docs/search.json" JSON include_str!("../files/search.json");
    "/docs/client.mjs" SCRIPT include_str!("../../../infra/clients/typescript/client.mjs");
    "/docs/photo.mjs" SCRIPT include_str!("../../../infra/clients/typescript/photo.mjs");
    "/docs/client.php" TEXT include_str!("../../../infra/clients/php/client.php");
    "/docs/africastalking.php" TEXT include_str!("../../../infra/clients/php/africastalking.php");
    "/docs/campaign_entry.py" TEXT include_str!("../../../infra/clients/python/campaign_entry.py");
    "/llms.txt" TEXT include_str!("../files/llms.txt");
    "/robots.txt" TEXT "User-agent: *\nDisallow: /api/\n";
    "/favicon.ico" SVG include_str!("../files/favicon.svg");
];

pub(crate) const MISSING_PAGE: File = File {
    content_type: HTML,
    text: include_str!("../files/missing.html"),
};

/// Pages also have a trailing slash, or `.md`.
pub(crate) fn find(path: &str) -> Option<File> {
    let file = |content_type, text| File { content_type, text };
    let page = |path: &str| PAGES.iter().find(|(page, ..)| *page == path);
    if let Some((_, content_type, text)) = FILES.iter().find(|(file, ..)| *file == path) {
        return Some(file(content_type, text));
    }
    if let Some((_, _, markdown)) = path.strip_suffix(".md").and_then(page) {
        return Some(file(MARKDOWN, markdown));
    }
    page(path.strip_suffix('/').unwrap_or(path)).map(|(_, html, _)| file(HTML, html))
}
