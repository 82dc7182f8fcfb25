//! The description by itself: complete, bounded, and true to its own examples.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;

use common::error::ErrorCode;
use common::http::reply::status;
use common::http::routes::ROUTES;
use serde_json::{Value, json};

fn description() -> Value {
    reference::openapi("https://api.example.com")
}

/// Each operation with its path and method.
fn operations(description: &Value) -> Vec<(String, String, Value)> {
    let mut operations = Vec::new();
    for (path, methods) in description["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            operations.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    operations
}

/// Every object of the description with where it stands, examples left out.
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
    stated == kind || stated.as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
}

#[test]
fn every_route_is_described_and_nothing_else() {
    let described: BTreeSet<_> =
        operations(&description()).into_iter().map(|(method, path, _)| (method, path)).collect();
    let served: BTreeSet<_> =
        ROUTES.iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
    assert_eq!(described, served);
}

#[test]
fn every_text_list_and_number_is_bounded() {
    let description = description();
    let mut found = Vec::new();
    objects(&description, String::new(), &mut found);
    let mut looked_at = 0;
    for (place, schema) in found {
        // What is ignored when it is not as described has no bound.
        let ignored = schema["pattern"] == "^[\\s\\S]*$" && place.starts_with("/components/parameters/");
        if ignored
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
            assert!(schema["pattern"].is_string() || schema["format"].is_string(), "{place} has no form");
        }
    }
    assert!(looked_at > 80, "{looked_at}");
}

#[test]
fn every_example_is_valid_and_every_error_has_one() {
    let description = description();
    let mut looked_at = 0;
    for (method, path, operation) in operations(&description) {
        let mut contents = vec![("the request".to_owned(), operation["requestBody"]["content"].clone())];
        for (status, reply) in operation["responses"].as_object().expect("responses") {
            contents.push((status.clone(), reply["content"].clone()));
        }
        for (of, content) in contents {
            let Some(media) = content.get("application/json") else {
                assert_eq!(of, "the request", "{method} {path}: {of} has no body");
                continue;
            };
            let mut schema = media["schema"].clone();
            schema["components"] = description["components"].clone();
            let validator = jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .should_validate_formats(true)
                .build(&schema)
                .expect("a schema");
            for (name, example) in media["examples"].as_object().expect("examples") {
                looked_at += 1;
                let faults: Vec<_> = validator
                    .iter_errors(&example["value"])
                    .map(|fault| format!("{}: {fault}", fault.instance_path()))
                    .collect();
                assert!(faults.is_empty(), "{method} {path} {of} {name}: {faults:?}");
            }
        }
    }
    assert!(looked_at > 120, "{looked_at}");
}

#[test]
fn every_error_code_stands_under_its_status_with_an_example_of_its_own() {
    let description = description();
    let mut seen = BTreeSet::new();
    for (method, path, operation) in operations(&description) {
        for (stated, reply) in operation["responses"].as_object().expect("responses") {
            let Some(codes) = reply["x-error-codes"].as_array() else {
                assert_eq!(stated, "200", "{method} {path}");
                continue;
            };
            let examples = reply["content"]["application/json"]["examples"].as_object().expect("examples");
            for code in codes {
                let code = code.as_str().expect("text");
                let known = ErrorCode::ALL.iter().find(|known| known.as_str() == code).expect("a code");
                assert_eq!(status(*known).as_u16().to_string(), *stated, "{method} {path} {code}");
                assert!(examples.contains_key(code), "{method} {path} has no example of {code}");
                seen.insert(code.to_owned());
            }
            for example in examples.values() {
                let code = &example["value"]["error"]["code"];
                assert!(codes.contains(code), "{method} {path} shows {code} under {stated}");
            }
        }
    }
    let all: BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str().to_owned()).collect();
    let never: Vec<_> = all.difference(&seen).collect();
    assert_eq!(never, ["campaign_not_assigned", "session_expired"], "reserved, and no others");
}

#[test]
fn replies_have_all_their_fields_always() {
    let description = description();
    let schemas = description["components"]["schemas"].as_object().expect("schemas");
    for (name, schema) in schemas {
        let Some(fields) = schema["properties"].as_object() else { continue };
        let ordered: BTreeSet<_> =
            schema["x-order"].as_array().expect("an order").iter().map(Value::to_string).collect();
        assert_eq!(ordered.len(), fields.len(), "{name}");
        if name.ends_with("Request") || name.starts_with("Claimed") {
            continue;
        }
        let required = schema["required"].as_array().expect("required fields");
        for field in fields.keys().filter(|field| !required.contains(&json!(field))) {
            assert!(name == "Error" && matches!(field.as_str(), "field" | "errors"), "{name}.{field}");
        }
    }
}

#[test]
fn links_lead_to_operations_and_take_what_the_reply_has() {
    let description = description();
    let mut linked = BTreeSet::new();
    let operations = operations(&description);
    for (_, _, operation) in &operations {
        let Some(links) = operation["responses"]["200"]["links"].as_object() else { continue };
        for link in links.values() {
            let target = link["operationId"].as_str().expect("an operation");
            assert!(operations.iter().any(|(_, _, other)| other["operationId"] == target), "{target}");
            linked.insert(target.to_owned());
        }
    }
    let expected = ["createSubmission", "getReceipt", "getSubmission", "refreshUploadUrl"];
    assert_eq!(linked.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_older_form_has_nothing_that_it_cannot_say() {
    let older = reference::older::openapi_3_0(&description());
    assert_eq!(older["openapi"], "3.0.3");
    let mut found = Vec::new();
    objects(&older, String::new(), &mut found);
    for (place, schema) in found {
        assert!(!schema["type"].is_array() && !is_a(schema, "null"), "{place}");
        for newer in ["const", "propertyNames", "jsonSchemaDialect"] {
            assert!(schema[newer].is_null(), "{place} has {newer}");
        }
        if !schema["$ref"].is_null() {
            assert_eq!(schema.as_object().map(serde_json::Map::len), Some(1), "{place}");
        }
    }
}
