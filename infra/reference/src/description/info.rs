//! What the description says to people before its operations.

use serde_json::{Value, json};

use super::tables::{self, Table};

/// The version of the API. Within v1, changes add.
pub(crate) const VERSION: &str = "1.0.0";

/// Title, version, description; `docs` is where the reference pages are.
pub(super) fn info(docs: &str) -> Value {
    json!({
        "title": "Campaign Entry Service",
        "version": VERSION,
        "summary": "Enters consumers into promotional campaigns, by code or by receipt.",
        "description": description(),
        "contact": { "name": "Operations of the Campaign Entry Service", "url": docs },
        "license": { "name": "Apache 2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
    })
}

/// The groups of operations.
pub(super) fn tags() -> Value {
    json!([
        { "name": "Campaign", "description": "What a campaign needs, and the copy for its messages." },
        { "name": "Codes", "description": "Pre-checking a code without using it." },
        { "name": "Receipts", "description": "Announcing receipts and uploading their photos." },
        { "name": "Submissions", "description": "Entering consumers, and what came of it." },
    ])
}

fn description() -> String {
    let mut text = "A brand's server sends a code or a receipt, a phone number and consent; the service decides, \
        once and for good, whether that consumer is in.\n\n\
        - What happens to a consumer is a reply with status 200 and a `message_key`. An error means that the request \
        is at fault; nothing is recorded then.\n\
        - Times are in UTC, phones in any usual spelling, names in lower snake case. No code and no phone is ever in \
        a URL.\n\
        - Every reply has `X-Request-Id` and `Cache-Control: no-store`; its body is JSON.\n\
        - Changes within v1 only add: new fields, message keys, error codes and values may come at any time. Ignore \
        fields that you do not know, and show `message` for a message key that you do not know.\n\
        - Of several problems, the first decides in this order: the path and method, the key, SVC-Campaign, the key's \
        ceiling, Idempotency-Key, the body, its fields in the order of `x-order`, test codes, what the campaign needs.\n\
        - What the network in front of the service refuses (a request over 10 MB, say) is not in the shape of these \
        replies.\n"
        .to_owned();
    for table in tables::all() {
        text.push_str(&in_markdown(&table));
    }
    text
}

fn in_markdown(table: &Table) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head: Vec<String> = table.head.iter().map(|head| (*head).to_owned()).collect();
    let rule = vec!["---".to_owned(); head.len()];
    let rows: String = table.rows.iter().map(|cells| row(cells)).collect();
    format!("\n## {}\n\n{}\n\n{}{}{rows}", table.title, table.text, row(&head), row(&rule))
}
