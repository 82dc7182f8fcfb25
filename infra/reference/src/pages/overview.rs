//! The first page: what the service is, and a first entry with nothing but copy and paste.

use maud::{Markup, html};

use super::Source;
use super::sample::{command, json};
use crate::description::SOME_BASE_URL;

/// Announces a photo; its reply stays in a file, for what follows.
const ANNOUNCE: &str = r#"curl -s "$BASE/api/v1/receipts" \
  -H "Authorization: Bearer $KEY" \
  -H 'Content-Type: application/json' \
  -d '{"type": "photo", "content_type": "image/jpeg", "size_bytes": '"$(wc -c < receipt.jpg)"', "qr_payload": "TEST0VERIFIED.1"}' \
  | tee receipt.json"#;
/// Uploads it.
const UPLOAD: &str = r#"curl -i -X PUT "$(jq -r .upload.url receipt.json)" \
  -H 'content-type: image/jpeg' -H 'if-none-match: *' \
  --data-binary @receipt.jpg"#;
/// Enters with it. A receipt is used once, so its id names the attempt.
const ENTER: &str = r#"curl -si "$BASE/api/v1/submissions" \
  -H "Authorization: Bearer $KEY" \
  -H 'Content-Type: application/json' \
  -H "Idempotency-Key: $(jq -r .id receipt.json)" \
  -d '{"phone": "0718 345 678", "consent": true, "receipt_id": '"$(jq .id receipt.json)"'}'"#;

pub(super) fn render(source: &Source<'_>) -> Markup {
    let base = if source.base_url.is_empty() { SOME_BASE_URL } else { source.base_url };
    let entered = source.part(
        "/paths/~1api~1v1~1submissions/post/responses/200/content/application~1json/examples/entered/value",
    );
    html! {
        h1 { "Enter consumers into your campaign" }
        p.lead { "Your server sends a code or a receipt, a phone number and consent. The service decides, once and for good, "
            "whether that consumer is in, and tells you what to say." }
        h2 id="first-entry" { "A first entry in five minutes" }
        ol.steps {
            li {
                h3 { "Set your test key" }
                p { "Operations, the people who run this service, give you one with your campaign; it begins with " code { "svc_test_" }
                    ". These steps suit a campaign with codes. The command asks for the key, so that it stays out of your shell's history." }
                (command("", &format!("BASE={base}\nprintf 'Test key: ' && read -rs KEY && export BASE KEY")))
            }
            li {
                h3 { "See what the campaign needs" }
                (command("", "curl -s \"$BASE/api/v1/campaign\" -H \"Authorization: Bearer $KEY\""))
                p { code { "capabilities" } " says whether to ask for a code or a receipt; " code { "messages" } " has all copy, also in Swahili with "
                    code { "?locale=sw" } "." }
            }
            li {
                h3 { "Enter a consumer" }
                (command("", &entering("first-of-the-overview", "0712 345 678", "TEST-0-VALID.1")))
                p { code { "TEST-0-VALID.1" } " is a test code. It enters where a printed code would: in a campaign that is live and needs no receipt, from a "
                    "phone below its limits. After the headers, the reply:" }
                (json(source, "", entered, source.schema("Submission")))
            }
            li {
                h3 { "Send it again" }
                p { "The same command gives the same submission: a retry never enters twice. Use a fresh key, such as a UUID, for each attempt. The header "
                    code { "Idempotent-Replayed: true" } " tells that the Idempotency-Key came before; the field " code { "replayed" }
                    ", that a fresh key came with a code and phone that are in already." }
            }
            li {
                h3 { "See another outcome" }
                (command("", &entering("second-of-the-overview", "0713 345 678", "TEST-0-ALREADY-USED")))
                p { "Status 200 again: what happens to a consumer is never an error. Branch on " code { "message_key" } ", show " code { "message" }
                    ". " a href="/docs/sentinels" { "Every outcome has a test code." } }
            }
        }
        h2 id="receipt" { "With a receipt" }
        p { "Where the campaign needs one: announce it, put the photo where the answer says, enter. " code { "TEST0VERIFIED" } " is a "
            a href="/docs/sentinels#test-receipts" { "test receipt" } "; with a live key, leave " code { "qr_payload" } " out. The commands take any JPEG named "
            code { "receipt.jpg" } ", and " code { "jq" } " to read replies." }
        (command("Announce", ANNOUNCE))
        (command("Upload, with exactly the headers of `upload.headers`; curl and browsers set `content-length` by themselves", UPLOAD))
        (command("Enter; the campaign may need a `code` too", ENTER))
        p { "A consumer's browser can do the upload itself; the other two are your server's. The receipt is judged within seconds: read the submission until "
            code { "terminal" } " is true." }
        h2 id="server" { "From your server" }
        p { "Keys never reach a browser: your page talks to your server, and your server to this API." }
        (command("Node.js 18 or later: save as `enter.mjs`, run `node enter.mjs`", include_str!("enter.mjs").trim_end()))
        (command("PHP with curl: save as `enter.php`, run `php enter.php`", include_str!("enter.php.txt").trim_end()))
        h2 id="rules" { "What to rely on" }
        ul {
            li { "Branch on " code { "message_key" } " and on an error's " code { "code" } ", never on words." }
            li { "While " code { "terminal" } " is false, read the submission again after " code { "poll_after_seconds" } "." }
            li { "After a failed connection, a 409, 429 or 500, send the request again, unchanged and under its first Idempotency-Key, not before " code { "Retry-After" } "." }
            li { "Pass the consumer's address on as " code { "SVC-Client-IP" } ", so that " a href="/docs/limits" { "limits" } " count consumers, not your server." }
            li { "No code and no phone belongs in a URL or a log." }
            li { "Quote " code { "X-Request-Id" } " when you report a problem." }
        }
        h2 id="clients" { "Generate a client" }
        p { "The whole API is described in " a href="/openapi.json" { "OpenAPI 3.1" } ", and in " a href="/openapi-3.0.json" { "3.0" } " for older generators." }
        (command("", &format!("npx openapi-typescript {base}/openapi.json -o campaign-entry.ts")))
        p { "Lists of values in replies may grow within v1, and fields may come: have the generator take values and fields that it does not know, or a client "
            "that was fine yesterday refuses a reply." }
    }
}

/// A command that enters with a code. It shows the headers of the reply too.
fn entering(key: &str, phone: &str, code: &str) -> String {
    format!(
        "curl -si \"$BASE/api/v1/submissions\" \\\n  -H \"Authorization: Bearer $KEY\" \\\n  \
         -H 'Content-Type: application/json' \\\n  -H 'Idempotency-Key: {key}' \\\n  \
         -d '{{\"phone\": \"{phone}\", \"code\": \"{code}\", \"consent\": true}}'"
    )
}
