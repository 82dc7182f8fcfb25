//! Examples of the description.

use super::*;

/// Bodies: path, and schema with examples.
fn bodies(description: &Value) -> Vec<(String, Value)> {
    let mut bodies = Vec::new();
    let event = &description["webhooks"]["event"]["post"]["requestBody"]["content"];
    bodies.push(("the event".to_owned(), event["application/json"].clone()));
    for (method, path, endpoint) in endpoints(description) {
        let request = &endpoint["requestBody"]["content"]["application/json"];
        if request.is_object() {
            bodies.push((format!("the request of {method} {path}"), request.clone()));
        }
        for (status, reply) in endpoint["responses"].as_object().expect("responses") {
            let media = &reply["content"]["application/json"];
            assert!(media.is_object(), "{method} {path}: {status} has no body");
            bodies.push((format!("{status} of {method} {path}"), media.clone()));
        }
    }
    bodies
}

fn validator(schema: &Value, components: &Value) -> Validator {
    let mut whole = schema.clone();
    whole["components"] = components.clone();
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .build(&whole)
        .expect("a schema")
}

fn faults(validator: &Validator, value: &Value) -> Vec<String> {
    validator
        .iter_errors(value)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

#[test]
fn every_example_is_as_described() {
    let mut looked_at = 0;
    for description in [description(), describe(Replies::Closed)] {
        for (place, media) in bodies(&description) {
            let validator = validator(&media["schema"], &description["components"]);
            for (name, example) in media["examples"].as_object().expect("examples") {
                looked_at += 1;
                let faults = faults(&validator, &example["value"]);
                assert!(faults.is_empty(), "{place}: {name}: {faults:?}");
            }
        }
    }
    assert!(looked_at > 240, "{looked_at}");
}

#[test]
fn examples_of_submissions_are_of_campaigns_that_have_such() {
    let description = description();
    let examples = |path: &str, method: &str| {
        let reply = &description["paths"][path][method]["responses"]["200"];
        let examples = reply["content"]["application/json"]["examples"]
            .as_object()
            .expect("examples")
            .clone();
        examples
            .into_iter()
            .map(|(name, example)| (name, example["value"].clone()))
            .collect::<Vec<_>>()
    };
    let campaigns = examples("/api/v1/campaign", "get");
    let mut records = 0;
    for (name, submission) in examples("/api/v1/submissions", "post") {
        let of = |(_, campaign): &&(String, Value)| campaign["slug"] == submission["campaign"];
        let campaign = campaigns.iter().find(of).map(|(_, campaign)| campaign);
        let key = submission["message_key"].as_str().expect("a key");
        let by_receipt = !submission["review_status"].is_null() || key.starts_with("receipt_");
        let rules = campaign.map_or(&Value::Null, |campaign| &campaign["receipt"]);
        assert_eq!(by_receipt, rules.is_object(), "{name}");
        assert!(
            campaign.is_none() || submission["upstream"].is_null(),
            "{name}: no partner is asked for these codes"
        );
        let record = &submission["receipt"];
        if record.is_null() {
            continue;
        }
        records += 1;
        assert_eq!(
            submission["livemode"], true,
            "{name}: the tax authority is asked about no test"
        );
        let products = rules["products"].as_array().expect("products");
        let product = products
            .iter()
            .map(|product| product["name"].as_str().expect("text"));
        let bought = record["items_summary"]
            .as_str()
            .and_then(|text| text.split_once(" x "));
        assert!(
            bought.is_some_and(|(_, name)| product.clone().any(|known| known == name)),
            "{name}"
        );
        let branches = rules["branches"].as_array().expect("branches");
        let takes_part = branches
            .iter()
            .any(|branch| branch["key"] == record["branch"]);
        assert_eq!(takes_part, key != "receipt_wrong_store", "{name}");
        assert!(takes_part || record["branch"].is_null(), "{name}");
    }
    assert_eq!(records, 2);
}

#[test]
fn a_request_names_the_reply_that_it_gets() {
    for (method, path, endpoint) in endpoints(&description()) {
        let request = &endpoint["requestBody"]["content"]["application/json"]["examples"];
        let replies = &endpoint["responses"]["200"]["content"]["application/json"]["examples"];
        for (name, example) in request.as_object().into_iter().flatten() {
            let reply = example["x-reply"]
                .as_str()
                .unwrap_or_else(|| panic!("{method} {path}: {name} has no reply"));
            assert!(
                replies[reply].is_object(),
                "{method} {path}: {name} is answered by {reply}"
            );
        }
    }
}

#[test]
fn operations_and_lists_of_examples_lead_with_success() {
    for (method, path, endpoint) in endpoints(&description()) {
        let first = |media: &Value| {
            let name = media["x-order"][0].as_str().expect("an order").to_owned();
            media["examples"][name]["value"].clone()
        };
        let reply = first(&endpoint["responses"]["200"]["content"]["application/json"]);
        if reply["message_key"].is_string() {
            assert_eq!(reply["message_key"], "entered", "{method} {path}");
        }
        if reply["submissions"].is_array() {
            assert_eq!(
                reply["submissions"][0]["display_status"], "entered",
                "{method} {path}"
            );
        }
        assert_ne!(reply["precheck"], "already_used", "{method} {path}");
    }
}
