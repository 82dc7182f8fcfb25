//! The description against the one that was released last: what callers rely on stays.
//!
//! After a release: `cargo run -p reference > infra/reference/released/openapi.json`.

use std::path::PathBuf;

use serde_json::{Value, json};

/// What people read and may change freely.
const FREE: [&str; 7] = ["description", "example", "examples", "info", "links", "servers", "summary"];
/// Lists that may grow, and none of whose values may go.
const GROWING: [&str; 4] = ["enum", "tags", "x-error-codes", "x-order"];

/// What was promised before and is not kept now.
fn broken(before: &Value, now: &Value, place: &str, is_request: bool, found: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(before), Value::Object(_)) => {
            let added = now["required"].as_array().into_iter().flatten();
            let old = before.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            if is_request {
                found.extend(
                    added.filter(|name| !old.contains(name)).map(|name| format!("{place} now needs {name}")),
                );
            }
            for (name, value) in before {
                let inner = format!("{place}/{name}");
                let is_request = is_request || name.ends_with("Request") || name.starts_with("Claimed");
                let still = now.get(name);
                match name.as_str() {
                    name if FREE.contains(&name) && !place.ends_with("/properties") => {}
                    "required" if value.is_array() => {
                        let kept = now["required"].as_array().cloned().unwrap_or_default();
                        let gone = old.iter().filter(|name| !is_request && !kept.contains(name));
                        found.extend(gone.map(|name| format!("{place} may now be without {name}")));
                    }
                    name if GROWING.contains(&name) && value.is_array() => {
                        let kept = still.and_then(Value::as_array).cloned().unwrap_or_default();
                        let gone =
                            value.as_array().into_iter().flatten().filter(|value| !kept.contains(value));
                        found.extend(gone.map(|value| format!("{inner} lost {value}")));
                    }
                    "maxLength" | "maximum" | "maxItems" | "maxProperties" if is_request => {
                        if still.and_then(Value::as_f64) < value.as_f64() {
                            found.push(format!("{inner} is narrower"));
                        }
                    }
                    "minLength" | "minimum" if is_request => {
                        if still.and_then(Value::as_f64) > value.as_f64() {
                            found.push(format!("{inner} is narrower"));
                        }
                    }
                    _ => match still {
                        Some(still) => broken(value, still, &inner, is_request, found),
                        None => found.push(format!("{inner} is gone")),
                    },
                }
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            let gone = before.iter().filter(|value| !now.contains(value));
            found.extend(gone.map(|value| format!("{place} lost or changed {value}")));
        }
        (before, now) if before == now => {}
        (before, now) => found.push(format!("{place} was {before} and is {now}")),
    }
}

fn breaks(before: &Value, now: &Value) -> Vec<String> {
    let mut found = Vec::new();
    broken(before, now, "", false, &mut found);
    found
}

#[test]
fn nothing_that_was_released_is_broken() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("released/openapi.json");
    let released = std::fs::read_to_string(path).expect("the released description");
    let released: Value = serde_json::from_str(&released).expect("JSON");
    let found = breaks(&released, &reference::openapi(""));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_breaks_callers_is_found() {
    let released = reference::openapi("");
    let changed = |pointer: &str, change: &dyn Fn(&mut Value)| {
        let mut now = released.clone();
        change(now.pointer_mut(pointer).expect("a place"));
        breaks(&released, &now).len()
    };
    let without = |name: &'static str| {
        move |value: &mut Value| {
            value.as_object_mut().expect("an object").remove(name);
        }
    };
    let schemas = "/components/schemas";
    assert_eq!(changed("/paths", &without("/api/v1/receipts")), 1);
    assert_eq!(changed("/paths/~1api~1v1~1campaign/get/responses", &without("429")), 1);
    assert_eq!(changed(&format!("{schemas}/Submission/properties"), &without("entries")), 1);
    assert_eq!(changed(&format!("{schemas}/MessageKey/enum"), &|list| *list = json!(["entered"])), 25);
    assert_eq!(
        changed(&format!("{schemas}/LookupRequest/properties/phone/maxLength"), &|most| *most = json!(15)),
        1
    );
    assert_eq!(
        changed(&format!("{schemas}/CodeCheckRequest/required"), &|list| *list = json!(["code", "phone"])),
        1
    );
    assert_eq!(changed(&format!("{schemas}/Campaign/required"), &|list| *list = json!([])), 11);
}

#[test]
fn what_only_adds_is_let_through() {
    let released = reference::openapi("");
    let mut now = released.clone();
    now["components"]["schemas"]["MessageKey"]["enum"].as_array_mut().expect("a list").push(json!("another"));
    now["components"]["schemas"]["Campaign"]["properties"]["another"] = json!({ "type": "boolean" });
    now["components"]["schemas"]["LookupRequest"]["properties"]["phone"]["maxLength"] = json!(17);
    now["info"]["description"] = json!("other words");
    assert_eq!(breaks(&released, &now), Vec::<String>::new());
}
