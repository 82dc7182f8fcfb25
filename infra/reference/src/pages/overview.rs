//! The first page: what the service is, and a first entry with nothing but copy and paste.

use maud::{Markup, html};

use super::Source;
use super::sample::{command, json};

pub(super) fn render(source: &Source<'_>) -> Markup {
    let base = if source.base_url.is_empty() { "https://api.example.com" } else { source.base_url };
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
                p { "Operations gives you one; it begins with " code { "svc_test_" } ". The local stack prints one for each demo campaign; take "
                    "that of Chai Bora Shinda. The command asks for it, so that it stays out of your shell's history." }
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
                (command("", "curl -s \"$BASE/api/v1/submissions\" \\\n  -H \"Authorization: Bearer $KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -H 'Idempotency-Key: my-first-attempt-1' \\\n  -d '{\"phone\": \"0712 345 678\", \"code\": \"TEST-0-VALID.1\", \"consent\": true}'"))
                p { code { "TEST-0-VALID.1" } " is a test code: it always enters. The reply:" }
                (json(source, "", entered, source.schema("Submission")))
            }
            li {
                h3 { "Send it again" }
                p { "The same command gives the same submission, with " code { "Idempotent-Replayed: true" }
                    ": a retry never enters twice. Use a fresh key, such as a UUID, for each attempt." }
            }
            li {
                h3 { "See another outcome" }
                (command("", "curl -s \"$BASE/api/v1/submissions\" \\\n  -H \"Authorization: Bearer $KEY\" \\\n  -H 'Content-Type: application/json' \\\n  -H 'Idempotency-Key: my-second-attempt' \\\n  -d '{\"phone\": \"0712 345 678\", \"code\": \"TEST-0-ALREADY-USED\", \"consent\": true}'"))
                p { "Status 200 again: what happens to a consumer is never an error. Branch on " code { "message_key" } ", show " code { "message" }
                    ". " a href="/docs/sentinels" { "Every outcome has a test code." } }
            }
        }
        h2 id="server" { "From your server" }
        p { "Keys never reach a browser: your page talks to your server, and your server to this API." }
        (command("Node.js", include_str!("enter.mjs").trim_end()))
        (command("PHP", include_str!("enter.php.txt").trim_end()))
        h2 id="rules" { "What to rely on" }
        ul {
            li { "Branch on " code { "message_key" } " and on an error's " code { "code" } ", never on words." }
            li { "While " code { "terminal" } " is false, read the submission again after " code { "poll_after_seconds" } "." }
            li { "After a failed connection, a 409, 429 or 500, send the same request with the same Idempotency-Key again, not before " code { "Retry-After" } "." }
            li { "Pass the consumer's address on as " code { "SVC-Client-IP" } ", so that " a href="/docs/limits" { "limits" } " count consumers, not your server." }
            li { "No code and no phone belongs into a URL or a log." }
            li { "Quote " code { "X-Request-Id" } " when you ask operations." }
        }
        h2 id="clients" { "Generate a client" }
        p { "The whole API is described in " a href="/openapi.json" { "OpenAPI 3.1" } ", and in " a href="/openapi-3.0.json" { "3.0" } " for older generators." }
        (command("", &format!("npx openapi-typescript {base}/openapi.json -o campaign-entry.ts")))
    }
}
