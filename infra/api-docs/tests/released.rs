//! Nothing that callers rely on in the last released description may break.
//!
//! After a release, run in this folder: `cp ../../../functions/api-docs/files/openapi.json
//! ../released/`.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::PathBuf;

use api_pages::description::{Replies, describe};
use serde_json::{Map, Value, json};

/// Texts for people, which may change.
const FREE: [&str; 7] = [
    "description",
    "example",
    "examples",
    "info",
    "links",
    "servers",
    "summary",
];
/// Lists that may grow, without losing a value.
const GROWING: [&str; 5] = ["enum", "tags", "x-error-codes", "x-known-values", "x-order"];
/// Members whose keys are names of the API.
const NAMED: [&str; 7] = [
    "content",
    "headers",
    "parameters",
    "paths",
    "properties",
    "responses",
    "schemas",
];
/// Types of a value: requests must not lose any, and replies not gain any.
const KINDS: [&str; 3] = ["anyOf", "oneOf", "type"];
/// Keywords that refuse values. Requests must not gain any.
const REFUSING: [&str; 22] = [
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "propertyNames",
    "type",
];

/// True for parts of requests (`sent`) and of replies (`answered`); the rules of each apply.
#[derive(Clone, Copy, Default)]
struct Use {
    sent: bool,
    answered: bool,
}

struct Comparison<'a> {
    now: &'a Value,
    /// Schemas of requests, and of replies.
    sent: BTreeSet<String>,
    answered: BTreeSet<String>,
    found: Vec<String>,
}

fn breaks(before: &Value, now: &Value) -> Vec<String> {
    let (mut sent, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for operation in before["paths"]
        .as_object()
        .into_iter()
        .flat_map(Map::values)
        .flat_map(members_of)
    {
        reached(before, &operation["requestBody"], &mut sent);
        reached(before, &operation["responses"], &mut answered);
    }
    let mut comparison = Comparison {
        now,
        sent,
        answered,
        found: Vec::new(),
    };
    comparison.compare(before, now, "", Use::default());
    comparison.found
}

fn members_of(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_object().into_iter().flat_map(Map::values)
}

/// Collects the schemas that a part refers to.
fn reached(whole: &Value, part: &Value, names: &mut BTreeSet<String>) {
    match part {
        Value::Object(members) => {
            let link = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = link.and_then(|link| link.strip_prefix("#/components/schemas/"))
                && names.insert(name.to_owned())
                && let Some(schema) = whole.pointer(&format!("/components/schemas/{name}"))
            {
                reached(whole, schema, names);
            }
            members
                .values()
                .for_each(|member| reached(whole, member, names));
        }
        Value::Array(members) => members
            .iter()
            .for_each(|member| reached(whole, member, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn listed(value: Option<&Value>) -> Vec<Value> {
    match value {
        None | Some(Value::Bool(_)) => Vec::new(),
        Some(Value::Array(values)) => values.clone(),
        Some(value) => vec![value.clone()],
    }
}

/// Values by name: the rest of a tag is for people.
fn names(values: Vec<Value>) -> Vec<Value> {
    values
        .into_iter()
        .map(|value| value.get("name").cloned().unwrap_or(value))
        .collect()
}

impl Comparison<'_> {
    fn compare(&mut self, before: &Value, now: &Value, place: &str, of: Use) {
        match (before, now) {
            (Value::Object(before), Value::Object(now)) => {
                let last = place.rsplit('/').next().unwrap_or_default();
                let parent = place.rsplit('/').nth(1).unwrap_or_default();
                let named = NAMED.contains(&last) && !NAMED.contains(&parent);
                if named {
                    for (name, value) in before {
                        let inner = format!("{place}/{name}");
                        self.still(value, now.get(name), &inner, self.used(&inner, of));
                    }
                } else {
                    self.words(before, now, place, of);
                }
            }
            (Value::Array(before), Value::Array(now)) => self.lost(before, now, place),
            (before, now) if before == now => {}
            (before, now) => self
                .found
                .push(format!("{place} was {before} and is {now}")),
        }
    }

    fn still(&mut self, before: &Value, now: Option<&Value>, place: &str, of: Use) {
        match now {
            Some(now) => self.compare(before, now, place, of),
            None => self.found.push(format!("{place} is gone")),
        }
    }

    fn lost(&mut self, before: &[Value], now: &[Value], place: &str) {
        let gone = before.iter().filter(|value| !now.contains(value));
        self.found
            .extend(gone.map(|value| format!("{place} lost or changed {value}")));
    }

    fn gained(&mut self, before: &[Value], now: &[Value], place: &str) {
        let new = now.iter().filter(|value| !before.contains(value));
        self.found
            .extend(new.map(|value| format!("{place} gained {value}")));
    }

    fn used(&self, place: &str, of: Use) -> Use {
        if let Some(name) = place
            .strip_prefix("/components/schemas/")
            .filter(|name| !name.contains('/'))
        {
            return Use {
                sent: self.sent.contains(name),
                answered: self.answered.contains(name),
            };
        }
        let is_parameter = place.starts_with("/components/parameters");
        let is_header = place.starts_with("/components/headers");
        Use {
            sent: of.sent || is_parameter || place.ends_with("/requestBody"),
            answered: of.answered || is_header || place.ends_with("/responses"),
        }
    }

    /// Compares objects with keywords.
    fn words(
        &mut self,
        before: &Map<String, Value>,
        now: &Map<String, Value>,
        place: &str,
        of: Use,
    ) {
        self.demanded(before, now, place, of);
        for (name, value) in before {
            let inner = format!("{place}/{name}");
            let still = now.get(name);
            let of = self.used(&inner, of);
            let only_sent = of.sent && !of.answered;
            match name.as_str() {
                name if FREE.contains(&name) => {}
                "required" => {
                    if !only_sent {
                        self.lost(&listed(Some(value)), &listed(still), &inner);
                        if *value == json!(true) && still != Some(value) {
                            self.found.push(format!("{place} may now be missing"));
                        }
                    }
                }
                name if only_sent && still.is_none() && REFUSING.contains(&name) => {}
                name if GROWING.contains(&name) => {
                    self.lost(&names(listed(Some(value))), &names(listed(still)), &inner);
                }
                name if still.is_some() && KINDS.contains(&name) => {
                    if of.sent || !of.answered {
                        self.lost(&listed(Some(value)), &listed(still), &inner);
                    }
                    if !only_sent {
                        self.gained(&listed(Some(value)), &listed(still), &inner);
                    }
                }
                "maxLength" | "maximum" | "maxItems" | "maxProperties" if only_sent => {
                    if still.and_then(Value::as_f64) < value.as_f64() {
                        self.found.push(format!("{inner} is narrower"));
                    }
                }
                "minLength" | "minimum" | "minItems" | "minProperties" if only_sent => {
                    if still.and_then(Value::as_f64) > value.as_f64() {
                        self.found.push(format!("{inner} is narrower"));
                    }
                }
                _ => self.still(value, still, &inner, of),
            }
        }
    }

    /// Notes new requirements of requests, and new values of replies.
    fn demanded(
        &mut self,
        before: &Map<String, Value>,
        now: &Map<String, Value>,
        place: &str,
        of: Use,
    ) {
        let new = |name: &str| now.contains_key(name) && !before.contains_key(name);
        if of.sent {
            self.gained(
                &listed(before.get("required")),
                &listed(now.get("required")),
                &format!("{place}/required"),
            );
            let words = REFUSING.iter().filter(|word| new(word));
            self.found
                .extend(words.map(|word| format!("{place} has a new {word}")));
        }
        if of.sent
            && now.get("required") == Some(&json!(true))
            && before.get("required") != Some(&json!(true))
        {
            self.found.push(format!("{place} is needed now"));
        }
        if of.answered
            && now.get("nullable") == Some(&json!(true))
            && before.get("nullable") != Some(&json!(true))
        {
            self.found.push(format!("{place} may be null now"));
        }
        if of.answered {
            let words = KINDS.iter().filter(|word| **word != "type" && new(word));
            self.found
                .extend(words.map(|word| format!("{place} has a new {word}")));
        }
        if new("requestBody")
            && now
                .get("requestBody")
                .is_some_and(|body| body["required"] == true)
        {
            self.found.push(format!("{place} needs a body now"));
        }
        let known = listed(before.get("parameters"));
        for link in now
            .get("parameters")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let parameter = link["$ref"]
                .as_str()
                .and_then(|link| self.now.pointer(link.trim_start_matches('#')));
            if !known.contains(link) && parameter.unwrap_or(link)["required"] == true {
                self.found.push(format!("{place} needs {link} now"));
            }
        }
    }
}

#[test]
fn nothing_that_was_released_is_broken() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("released/openapi.json");
    let released = std::fs::read_to_string(path).expect("the released description");
    let released: Value = serde_json::from_str(&released).expect("JSON");
    let found = breaks(&released, &describe(Replies::Open));
    assert!(found.is_empty(), "{found:#?}");
}

enum Change {
    Is(Value),
    Adds(Value),
    Has(&'static str, Value),
    Loses(&'static str),
}

use Change::{Adds, Has, Is, Loses};

impl Change {
    fn apply(self, part: &mut Value) {
        match self {
            Is(value) => *part = value,
            Adds(value) => part.as_array_mut().expect("a list").push(value),
            Has(name, value) => part[name] = value,
            Loses(name) => drop(part.as_object_mut().expect("an object").remove(name)),
        }
    }
}

#[test]
fn what_breaks_callers_is_found() {
    let body = json!({ "required": true, "content": { "application/json": { "schema": {} } } });
    let parameter = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    let released = describe(Replies::Open);
    for (place, change, expected) in [
        // Removed parts.
        ("/paths", Loses("/api/v1/receipts"), 1),
        ("MessageKey/x-known-values", Is(json!(["entered"])), 25),
        ("Campaign/required", Is(json!([])), 12),
        ("/components/headers/Retry-After", Loses("required"), 1),
        // New requirements in a request.
        ("CodeCheckRequest/required", Adds(json!("phone")), 1),
        (
            "/components/parameters/OptionalIdempotencyKey",
            Has("required", json!(true)),
            1,
        ),
        ("GET/parameters", Adds(parameter), 1),
        ("GET", Has("requestBody", body), 1),
        // New restrictions in a request.
        (
            "LookupRequest/properties/phone",
            Has("maxLength", json!(15)),
            1,
        ),
        (
            "LookupRequest/properties/phone",
            Has("minLength", json!(10)),
            1,
        ),
        (
            "SubmissionRequest/properties/consent",
            Has("enum", json!([true])),
            1,
        ),
        ("ReceiptRequest/oneOf", Is(json!([])), 2),
        // New values in a reply.
        (
            "Submission/properties/ref",
            Has("type", json!(["string", "null"])),
            1,
        ),
        ("Submission/properties/ref", Has("nullable", json!(true)), 1),
        (
            "Upstream/properties/code/anyOf",
            Adds(json!({ "type": "boolean" })),
            1,
        ),
        ("Submission/properties/ref", Has("maxLength", json!(10)), 1),
    ] {
        let pointer = match place.strip_prefix("GET") {
            Some(rest) => format!("/paths/~1api~1v1~1campaign/get{rest}"),
            None if place.starts_with('/') => place.to_owned(),
            None => format!("/components/schemas/{place}"),
        };
        let mut now = released.clone();
        change.apply(now.pointer_mut(&pointer).expect("a place"));
        let found = breaks(&released, &now);
        assert_eq!(found.len(), expected, "{place}: {found:?}");
    }
}

#[test]
fn what_only_adds_is_let_through() {
    let released = describe(Replies::Open);
    let mut now = released.clone();
    let schemas = &mut now["components"]["schemas"];
    schemas["MessageKey"]["x-known-values"]
        .as_array_mut()
        .expect("a list")
        .push(json!("another"));
    schemas["Campaign"]["properties"]["another"] = json!({ "type": "boolean" });
    schemas["LookupRequest"]["properties"]["another"] = json!({ "type": "string", "maxLength": 5 });
    let phone = &mut schemas["LookupRequest"]["properties"]["phone"];
    phone["type"] = json!(["string", "null"]);
    phone["maxLength"] = json!(17);
    phone.as_object_mut().expect("an object").remove("pattern");
    let parameters = &mut now["components"]["parameters"];
    parameters["IdempotencyKey"]["required"] = json!(false);
    let optional = json!({ "name": "another", "in": "query", "schema": { "type": "string" } });
    now["paths"]["/api/v1/campaign"]["get"]["parameters"]
        .as_array_mut()
        .expect("a list")
        .push(optional);
    now["info"]["description"] = json!("other words");
    assert_eq!(breaks(&released, &now), Vec::<String>::new());
}
