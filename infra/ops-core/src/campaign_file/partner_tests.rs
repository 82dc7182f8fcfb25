//! The `partner` block: valid fields, and each mistake's message.

use common::domain::campaign::CodePolicy;
use common::domain::code::CodeForm;
use common::domain::message::MessageKey;
use common::domain::partner::{Method, PartnerRules, PartnerSecret};
use proptest::prelude::*;
use serde_json::json;

use super::tests::problems;
use super::*;

/// A campaign whose `partner` block begins at line 6.
const HEAD: &str = "\
slug: demo
name: Demo
brand: Demo
timezone: UTC
code: { checked_by: partner }
";

const WHOLE: &str = "\
partner:
  url: https://partner.example/redeem
  method: PUT
  headers: { X-Client: chai-bora }
  secret: { header: Authorization, name: partners/chai-bora }
  timeout_seconds: 5
  max_in_flight: 20
  code: exact
  body:
    reference: \"{{reference}}\"
    code: \"{{code}}\"
    more: [{ live: \"{{livemode}}\", to: \"tel:{{phone}}\" }, 7, -1.5, true, null, '', \"7\"]
  reply: { code: /status, message: /text, entries: /entries, prize: /a~1b/0 }
  outcomes: { 0: entered, \"1\": instant_win, NOPE: invalid, \"21\": already_used }
";

/// The minimal block by field, from line 7.
const MINIMAL: [(&str, &str); 4] = [
    ("url", "https://partner.example/redeem"),
    ("body", "{ id: \"{{reference}}\", code: \"{{code}}\" }"),
    ("reply", "{ code: /status }"),
    ("outcomes", "{ \"0\": entered }"),
];

/// The minimal block with a field replaced, or added at line 11.
fn with(name: &str, value: &str) -> String {
    let mut fields = MINIMAL.to_vec();
    match fields.iter_mut().find(|field| field.0 == name) {
        Some(field) => field.1 = value,
        None => fields.push((name, value)),
    }
    let lines: Vec<_> = fields
        .iter()
        .map(|(name, value)| format!("  {name}: {value}\n"))
        .collect();
    format!("{HEAD}partner:\n{}", lines.concat())
}

fn rules(text: &str) -> PartnerRules {
    let file = read("f.yaml", text).expect(text);
    assert_eq!(file.campaign.code, CodePolicy::Partner);
    file.campaign.partner.expect("a partner block")
}

/// The only problem after replacing or adding a field.
fn problem_with(name: &str, value: &str) -> String {
    let found = problems(&with(name, value));
    assert_eq!(found.len(), 1, "{found:?}");
    found.concat()
}

#[test]
fn a_whole_block_is_read() {
    let rules = rules(&format!("{HEAD}{WHOLE}"));
    assert_eq!(rules.url, "https://partner.example/redeem");
    assert_eq!(
        (rules.method, rules.timeout_seconds, rules.code),
        (Method::Put, 5, CodeForm::Exact)
    );
    assert_eq!(rules.max_in_flight, 20);
    assert_eq!(
        rules.headers,
        [("X-Client".to_owned(), "chai-bora".to_owned())].into()
    );
    let (header, name) = ("Authorization".to_owned(), "partners/chai-bora".to_owned());
    assert_eq!(rules.secret, Some(PartnerSecret { header, name }));
    assert_eq!(
        serde_json::to_value(&rules.body).expect("JSON"),
        json!({
            "reference": "{{reference}}",
            "code": "{{code}}",
            "more": [{ "live": "{{livemode}}", "to": "tel:{{phone}}" }, 7, -1.5, true, null, "", "7"],
        })
    );
    assert_eq!(
        serde_json::to_value(&rules.reply).expect("JSON"),
        json!({ "code": "/status", "message": "/text", "entries": "/entries", "prize": "/a~1b/0" })
    );
    let outcomes = [
        ("0", MessageKey::Entered),
        ("1", MessageKey::InstantWin),
        ("21", MessageKey::AlreadyUsed),
        ("NOPE", MessageKey::Invalid),
    ];
    assert_eq!(
        rules.outcomes,
        outcomes.map(|(code, key)| (code.to_owned(), key)).into()
    );
}

#[test]
fn what_is_left_out_is_the_usual() {
    let rules = rules(&with("method", "null"));
    assert_eq!(
        (rules.method, rules.timeout_seconds, rules.secret),
        (Method::Post, 8, None)
    );
    assert!(rules.headers.is_empty());
    assert_eq!((rules.code, rules.max_in_flight), (CodeForm::Folded, 50));
    assert_eq!(
        problem_with("code", "upper"),
        "f.yaml:11: partner.code must be `folded` (upper case, without spaces and dashes) or `exact` (as typed)"
    );
}

#[test]
fn a_partner_judges_codes_or_is_not_there() {
    assert_eq!(
        problems(HEAD),
        [
            "f.yaml:1: partner is missing; add it, such as `partner: { url: ..., body: ..., reply: ..., outcomes: ... }`"
        ]
    );
    for other in ["service", "none"] {
        let text = format!("{HEAD}{WHOLE}")
            .replace("checked_by: partner", &format!("checked_by: {other}"));
        assert_eq!(
            problems(&text),
            [
                "f.yaml:7: partner is here, but code.checked_by is not `partner`; make it so, or remove this"
            ]
        );
    }
}

#[test]
fn a_partner_on_this_machine_can_be_asked_over_http() {
    for url in [
        "http://127.0.0.1:4050/redeem",
        "http://localhost/",
        "https://[::1]:4/",
        "https://partner.example:8443/a?b=c",
    ] {
        assert_eq!(rules(&with("url", &format!("\"{url}\""))).url, url);
    }
}

#[test]
fn a_mistake_is_named_by_its_line_and_field() {
    for (name, value, expected) in [
        (
            "url",
            "http://partner.example/",
            "7: partner.url must begin with `https://`; only a partner on this machine can be asked over http",
        ),
        (
            "url",
            "https://10.0.0.1/",
            "7: partner.url has an address that is not public; the service would refuse to go there",
        ),
        (
            "url",
            "\"https://[fd00::1]/\"",
            "7: partner.url has an address that is not public; the service would refuse to go there",
        ),
        (
            "url",
            "partner.example/x",
            "7: partner.url must be a URL, such as `https://partner.example/redeem`",
        ),
        (
            "url",
            "ftp://partner.example/",
            "7: partner.url must begin with `https://`",
        ),
        (
            "url",
            "https://me:hush@partner.example/",
            "7: partner.url must not hold a user or password; put a secret into `secret`",
        ),
        (
            "url",
            "\"https://partner.example/{{code}}\"",
            "7: partner.url must not hold placeholders; put them into `body`",
        ),
        (
            "method",
            "DELETE",
            "11: partner.method must be `POST`, `PUT` or `GET`",
        ),
        (
            "headers",
            "{ \"X Client\": a }",
            "11: partner.headers.X Client is not a header's name; it must be letters, digits and dashes, such as `X-Client`",
        ),
        (
            "headers",
            "{ Content-Type: text/xml }",
            "11: partner.headers.Content-Type is a header that the service sets itself; remove it",
        ),
        (
            "headers",
            "{ host: a }",
            "11: partner.headers.host is a header that the service sets itself; remove it",
        ),
        (
            "headers",
            "{ X-A: a, x-a: b }",
            "11: partner.headers.x-a is `X-A` again; capital letters make no other header",
        ),
        (
            "headers",
            "{ X-A: a, X-A: b }",
            "11: partner.headers.X-A is there twice; keep one of them",
        ),
        (
            "headers",
            "{ X-A: é }",
            "11: partner.headers.X-A must be printable ASCII on one line",
        ),
        (
            "headers",
            "[X-A]",
            "11: partner.headers must hold fields, such as `{ X-Client: chai-bora }`",
        ),
        (
            "secret",
            "{ header: Content-Length, name: partners/a }",
            "11: partner.secret.header is a header that the service sets itself; remove it",
        ),
        (
            "secret",
            "{ header: Authorization }",
            "11: partner.secret.name is missing; add it, such as `name: partners/chai-bora`",
        ),
        (
            "secret",
            "{ header: Authorization, name: Bearer abc }",
            "11: partner.secret.name must be the name of a secret that begins with `partners/`, of letters, digits and `/_+=.@-`, such as `partners/chai-bora`; never the secret itself",
        ),
        (
            "timeout_seconds",
            "9",
            "11: partner.timeout_seconds must be a whole number of at most 8",
        ),
        (
            "max_in_flight",
            "1001",
            "11: partner.max_in_flight must be a whole number of at most 1000",
        ),
        (
            "max_in_flight",
            "0",
            "11: partner.max_in_flight must be a whole number of at least 1",
        ),
        (
            "timeout_seconds",
            "0",
            "11: partner.timeout_seconds must be a whole number of at least 1",
        ),
        (
            "body",
            "{ id: \"{{reference}}\", code: \"{{cod}} {{code}}\" }",
            "8: partner.body has the placeholder `{{cod}}`, which stands for nothing; there are `{{reference}}`, `{{code}}`, `{{phone}}`, `{{campaign}}`, `{{livemode}}`",
        ),
        (
            "body",
            "{ id: \"{{reference\", code: \"{{code}}\" }",
            "8: partner.body has a placeholder that begins with `{{` and does not end with `}}`",
        ),
        (
            "body",
            "{ \"{{code}}\": \"{{reference}}\" }",
            "8: partner.body has a placeholder in the name of the field `{{code}}`; placeholders go into values",
        ),
        (
            "body",
            "[\"{{code}}\"]",
            "8: partner.body must hold the placeholder `{{reference}}`; without it, asking twice could redeem twice",
        ),
        (
            "body",
            "\"{{reference}}\"",
            "8: partner.body must hold the placeholder `{{code}}`",
        ),
        (
            "body",
            "[\"{{code}}\", \"{{reference}}\", 99999999999999999999]",
            "8: partner.body[2] is not a number that can be sent; put it in quotes to send it as text",
        ),
        (
            "body",
            "[\"{{code}}\", \"{{reference}}\", { n: 0x1F }]",
            "8: partner.body[2].n is not a number that can be sent; put it in quotes to send it as text",
        ),
        (
            "reply",
            "{ message: /text }",
            "9: partner.reply.code is missing; add it, such as `code: /status`",
        ),
        (
            "reply",
            "{ code: status }",
            "9: partner.reply.code must be a JSON Pointer, such as `/status` or `/result/0/text`; in it, `~` is written `~0` and `/` `~1`",
        ),
        (
            "reply",
            "{ code: /status, status: /x }",
            "9: partner.reply.status is not a field of a campaign file; here go `code`, `message`, `entries`, `prize`",
        ),
        (
            "outcomes",
            "{ 0: entred }",
            "10: partner.outcomes.0 is not a message key; did you mean `entered`?",
        ),
        (
            "outcomes",
            "{ 20: invalid }",
            "10: partner.outcomes must hold a code that means `entered` or `instant_win`; without it, every entry is refused",
        ),
        (
            "outcomes",
            "{}",
            "10: partner.outcomes must hold a code that means `entered` or `instant_win`; without it, every entry is refused",
        ),
        (
            "outcomes",
            "entered",
            "10: partner.outcomes must hold fields, such as `{ \"0\": entered, \"20\": invalid }`",
        ),
    ] {
        assert_eq!(problem_with(name, value), format!("f.yaml:{expected}"));
    }
}

#[test]
fn a_placeholder_without_quotes_is_explained() {
    let found = problem_with("body", "{ code: {{code}} }");
    assert!(
        found.starts_with("f.yaml:8: ") && found.contains("in quotes"),
        "{found}"
    );
}

#[test]
fn an_outcome_is_final_and_not_about_a_receipt() {
    for key in [
        "checking",
        "receipt_received",
        "receipt_not_found",
        "file_too_large",
    ] {
        let found = problem_with("outcomes", &format!("{{ 0: entered, 5: {key} }}"));
        assert!(
            found.starts_with("f.yaml:10: partner.outcomes.5 cannot be what a partner decides;"),
            "{found}"
        );
    }
}

#[test]
fn a_secret_and_a_header_do_not_fight() {
    let text = with(
        "secret",
        "{ header: x-key, name: partners/a }\n  headers: { X-Key: b }",
    );
    assert_eq!(
        problems(&text),
        ["f.yaml:11: partner.secret.header is in `headers` too; keep one of them"]
    );
}

#[test]
fn every_problem_is_named_at_once() {
    let text = format!("{HEAD}partner:\n  urls: x\n  method: get\n  outcomes: {{ a: b }}\n");
    let found = problems(&text);
    let lines: Vec<_> = found
        .iter()
        .map(|problem| problem.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines,
        [
            "f.yaml:7: partner.urls",
            "f.yaml:7: partner.url",
            "f.yaml:7: partner.body",
            "f.yaml:7: partner.reply",
            "f.yaml:8: partner.method",
            "f.yaml:9: partner.outcomes.a",
        ]
    );
}

proptest! {
    #[test]
    fn any_value_is_read_or_named(
        field in prop::sample::select(vec!["url", "headers", "secret", "body", "reply", "outcomes", "method"]),
        value in "[a-z0-9{}\\[\\]:,\"' /~.-]{0,40}",
    ) {
        let _ = read("f.yaml", &with(field, &value));
    }
}
