//! Files of the pages, embedded in the program.

use crate::prelude::*;

pub(crate) const STYLE: &str = "/style.css";
pub(crate) const ICON: &str = "/icon.svg";
pub(crate) const OPEN_SCRIPT: &str = "/open.js";
pub(crate) const SCRIPT: &str = "/console.js";

pub(crate) const DRAWS_SCRIPT: &str = "/draws.js";
pub(crate) const REVIEW_SCRIPT: &str = "/review.js";

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const FILES: [(&str, &str, &str); 6] = [
    (STYLE, CSS, include_str!("../assets/style.css")),
    (ICON, "image/svg+xml", include_str!("../assets/icon.svg")),
    (OPEN_SCRIPT, JAVASCRIPT, include_str!("../assets/open.js")),
    (SCRIPT, JAVASCRIPT, include_str!("../assets/console.js")),
    (DRAWS_SCRIPT, JAVASCRIPT, include_str!("../assets/draws.js")),
    (
        REVIEW_SCRIPT,
        JAVASCRIPT,
        include_str!("../assets/review.js"),
    ),
];

pub(crate) fn routes() -> Router<Console> {
    let file = |content_type, text| {
        get(async move || ([(CONTENT_TYPE, content_type)], text).into_response())
    };
    FILES
        .into_iter()
        .fold(Router::new(), |router, (path, content_type, text)| {
            router.route(path, file(content_type, text))
        })
}
