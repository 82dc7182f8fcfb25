//! The description is complete, bounded, and consistent with its examples.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod examples;

use std::collections::BTreeSet;
use std::path::Path;

use api_pages::description::{Replies, describe};
use common::error::ErrorCode;
use common::http::reply::status;
use common::http::routes::ROUTES;
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

fn description() -> Value {
    describe(Replies::Open)
}

fn file(name: &str) -> String {
    let file = api_pages::files()
        .into_iter()
        .find(|(known, _)| known == name);
    file.expect(name).1
}

fn endpoints(description: &Value) -> Vec<(String, String, Value)> {
    let mut endpoints = Vec::new();
    for (path, methods) in description["paths"].as_object().expect("paths") {
        for (method, endpoint) in methods.as_object().expect("methods") {
            endpoints.push((method.to_uppercase(), path.clone(), endpoint.clone()));
        }
    }
    endpoints
}

/// All objects with their paths, except examples.
fn objects<'a>(value: &'a Value, place: String, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(members) => {
            found.push((place.clone(), value));
            for (name, member) in members {
                if !matches!(name.as_str(), "examples" | "example" | "links") {
                    objects(member, format!("{place}/{name}"), found);
                }
            }
        }
        Value::Array(members) => {
            for (index, member) in members.iter().enumerate() {
                objects(member, format!("{place}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_a(schema: &Value, kind: &str) -> bool {
    let stated = &schema["type"];
    stated == kind
        || stated
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|one| one == kind))
}

#[test]
fn every_route_is_described_and_nothing_else() {
    let described: BTreeSet<_> = endpoints(&description())
        .into_iter()
        .map(|(method, path, _)| (method, path))
        .collect();
    let served: BTreeSet<_> = ROUTES
        .iter()
        .map(|route| (route.method.to_owned(), route.path.to_owned()))
        .collect();
    assert_eq!(described, served);
}

/// Request fields with any text; words exclude control characters.
const UNBOUND: [&str; 3] = ["/region", "/branch", "/qr_payload"];

#[test]
fn every_text_list_and_number_is_bounded() {
    let description = describe(Replies::Closed);
    let mut found = Vec::new();
    objects(&description, String::new(), &mut found);
    let mut looked_at = 0;
    // Ignored if malformed, so without limit.
    let ignored = ["AcceptLanguage", "ClientIp", "Locale", "RequestId"]
        .map(|name| format!("/components/parameters/{name}/schema"));
    for (place, schema) in found {
        if ignored.contains(&place)
            || schema["enum"].is_array()
            || !schema["const"].is_null()
            || place.contains("securitySchemes")
        {
            continue;
        }
        let bounds: &[&str] = if is_a(schema, "string") {
            &["maxLength"]
        } else if is_a(schema, "integer") {
            &["minimum", "maximum", "format"]
        } else if is_a(schema, "array") {
            &["maxItems"]
        } else {
            continue;
        };
        looked_at += 1;
        for bound in bounds {
            assert!(!schema[*bound].is_null(), "{place} has no {bound}");
        }
        if is_a(schema, "string") {
            let is_free = UNBOUND.iter().any(|name| place.ends_with(name));
            let has_form = schema["pattern"].is_string() || schema["format"].is_string();
            assert!(is_free || has_form, "{place} has no form");
        }
    }
    assert!(looked_at > 80, "{looked_at}");
}

#[test]
fn error_codes_stand_under_their_status_with_an_example() {
    let description = description();
    let mut seen = BTreeSet::new();
    for (method, path, endpoint) in endpoints(&description) {
        for (stated, reply) in endpoint["responses"].as_object().expect("responses") {
            let Some(codes) = reply["x-error-codes"].as_array() else {
                assert_eq!(stated, "200", "{method} {path}");
                continue;
            };
            let examples = reply["content"]["application/json"]["examples"]
                .as_object()
                .expect("examples");
            for code in codes {
                let code = code.as_str().expect("text");
                let known = ErrorCode::ALL
                    .iter()
                    .find(|known| known.as_str() == code)
                    .expect("a code");
                assert_eq!(
                    status(*known).as_u16().to_string(),
                    *stated,
                    "{method} {path} {code}"
                );
                assert!(
                    examples
                        .values()
                        .any(|example| example["value"]["error"]["code"] == code),
                    "{method} {path} has no example of {code}"
                );
                seen.insert(code.to_owned());
            }
            for example in examples.values() {
                let code = &example["value"]["error"]["code"];
                assert!(
                    codes.contains(code),
                    "{method} {path} shows {code} under {stated}"
                );
            }
        }
    }
    let all: BTreeSet<_> = ErrorCode::ALL
        .iter()
        .map(|code| code.as_str().to_owned())
        .collect();
    let never: Vec<_> = all.difference(&seen).collect();
    assert_eq!(
        never,
        ["campaign_not_assigned", "session_expired"],
        "reserved, and no others"
    );
}

#[test]
fn replies_have_all_their_fields_always() {
    let description = description();
    let schemas = description["components"]["schemas"]
        .as_object()
        .expect("schemas");
    for (name, schema) in schemas {
        let Some(fields) = schema["properties"].as_object() else {
            continue;
        };
        let ordered: BTreeSet<_> = schema["x-order"]
            .as_array()
            .expect("an order")
            .iter()
            .map(Value::to_string)
            .collect();
        assert_eq!(ordered.len(), fields.len(), "{name}");
        if name.ends_with("Request") || name.starts_with("Claimed") {
            continue;
        }
        let required = schema["required"].as_array().expect("required fields");
        for field in fields
            .keys()
            .filter(|field| !required.contains(&json!(field)))
        {
            assert!(
                matches!(
                    (name.as_str(), field.as_str()),
                    ("Error", "field" | "errors") | ("Campaign", "instant")
                ),
                "{name}.{field}"
            );
        }
    }
}

#[test]
fn links_lead_to_operations_and_take_what_the_reply_has() {
    let description = description();
    let mut linked = BTreeSet::new();
    let endpoints = endpoints(&description);
    for (_, _, endpoint) in &endpoints {
        let Some(links) = endpoint["responses"]["200"]["links"].as_object() else {
            continue;
        };
        for link in links.values() {
            let target = link["operationId"].as_str().expect("an endpoint");
            let found = endpoints
                .iter()
                .find(|(_, _, other)| other["operationId"] == target);
            let (_, _, endpoint) = found.unwrap_or_else(|| panic!("no {target}"));
            for parameter in endpoint["parameters"].as_array().expect("parameters") {
                let pointer = parameter["$ref"]
                    .as_str()
                    .expect("a link")
                    .trim_start_matches('#');
                let parameter = description.pointer(pointer).expect("a parameter");
                let name = parameter["name"].as_str().expect("a name");
                let given = link["parameters"][name].is_string();
                assert!(
                    given || parameter["required"] != true,
                    "{target} needs {name}"
                );
            }
            for value in link["requestBody"]
                .as_object()
                .into_iter()
                .flat_map(serde_json::Map::values)
            {
                // Expressions inside a value need braces.
                assert!(
                    !value.as_str().is_some_and(|text| text.starts_with('$')),
                    "{value}"
                );
            }
            linked.insert(target.to_owned());
        }
    }
    let expected = [
        "createSubmission",
        "getReceipt",
        "getSubmission",
        "refreshUploadUrl",
    ];
    assert_eq!(linked.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_written_description_has_the_order_that_people_read_in() {
    let description = description();
    let text = file("openapi.json");
    assert_eq!(
        serde_json::from_str::<Value>(&text).expect("JSON"),
        description,
        "nothing is lost"
    );
    for (from, order) in [
        (
            "{\n  \"openapi\": \"3.1.0\",",
            "info paths /api/v1/campaign /api/v1/codes/check /api/v1/receipts",
        ),
        (
            "\"operationId\": \"createSubmission\",\n      ",
            "phone code consent responses entered id ref updated_at already_used",
        ),
        ("\"SubmissionRequest\": {", "phone code consent"),
    ] {
        let (_, mut rest) = text.split_once(from).expect(from);
        for name in order.split(' ') {
            let found = rest.split_once(&format!("\"{name}\":"));
            assert!(found.is_some(), "`{name}` does not come next");
            rest = found.map(|(_, after)| after).unwrap_or_default();
        }
    }
}

#[test]
fn every_value_of_an_enum_has_a_meaning() {
    let description = description();
    for name in [
        "SubmissionState",
        "ReviewStatus",
        "DisplayStatus",
        "MessageKey",
        "ReceiptState",
        "ReceiptType",
        "CampaignStatus",
        "PrecheckResult",
    ] {
        let schema = &description["components"]["schemas"][name];
        for value in schema["x-known-values"].as_array().expect("values") {
            let meaning = schema["x-enumDescriptions"][value.as_str().expect("text")]
                .as_str()
                .unwrap_or_default();
            assert!(meaning.len() > 5, "{name}: {value}");
        }
    }
}

#[test]
fn every_placeholder_is_filled_in() {
    let written = description().to_string();
    assert_eq!(written.find("{{"), None, "{written}");
}

#[test]
fn generated_files_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(api_pages::FOLDER);
    for (name, text) in api_pages::files() {
        let kept = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(
            kept == text,
            "{name} is not up to date: cargo run -p api-pages"
        );
    }
}

fn answered(description: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (name, schema) in description["components"]["schemas"]
        .as_object()
        .expect("schemas")
    {
        if !name.ends_with("Request")
            && !name.starts_with("Claimed")
            && !["Channel", "PhotoType"].contains(&name.as_str())
        {
            objects(schema, format!("/components/schemas/{name}"), &mut found);
        }
    }
    objects(
        &description["components"]["headers"],
        "/components/headers".to_owned(),
        &mut found,
    );
    found
}

#[test]
fn replies_bind_no_generated_client() {
    let description = description();
    let mut known = 0;
    for (place, schema) in answered(&description) {
        for word in ["pattern", "enum", "const"] {
            assert!(schema[word].is_null(), "{place} has {word}");
        }
        known += usize::from(schema["x-known-values"].is_array());
        assert_ne!(
            schema["$ref"], "#/components/schemas/PhotoType",
            "{place} is closed in requests"
        );
    }
    assert!(known > 10, "{known}");
    let closed = describe(Replies::Closed);
    let bound = answered(&closed)
        .iter()
        .filter(|(_, schema)| schema["pattern"].is_string())
        .count();
    assert!(bound > 30, "tests check {bound} patterns");
}

#[test]
fn patterns_are_read_alike_in_every_language() {
    let description = description();
    let mut found = Vec::new();
    objects(&description, String::new(), &mut found);
    let mut looked_at = 0;
    for (place, schema) in found {
        let Some(pattern) = schema["pattern"].as_str() else {
            continue;
        };
        looked_at += 1;
        assert!(
            schema["format"].is_null(),
            "{place} has a format beside its pattern"
        );
        assert!(
            pattern.is_ascii() && !pattern.contains("\\u"),
            "{place}: {pattern}"
        );
    }
    assert!(looked_at > 8, "{looked_at}");
}

#[test]
fn the_pages_say_what_each_state_shows() {
    let page = file("docs/outcomes.markdown");
    for row in [
        "| `pending` | `under_review` | `receipt_in_review` |",
        "| `accepted` | any | `entered` |",
        "| `rejected` | `declined` | `needs_attention` |",
        "| `unknown` | any | `checking` |",
    ] {
        assert!(page.contains(row), "{row}: {page}");
    }
}

#[test]
fn fields_of_a_choice_are_found_under_their_heading() {
    let places: Value = serde_json::from_str(&file("search.json")).expect("JSON");
    let titles: Vec<_> = places
        .as_array()
        .expect("places")
        .iter()
        .map(|place| &place[0])
        .collect();
    for title in ["qr_payload (Body)", "time (Body)"] {
        assert!(titles.contains(&&json!(title)), "{title}");
    }
}
