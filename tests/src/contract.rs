//! Checks replies against the API description, more strictly than published: with patterns and
//! enums that callers must not rely on, and no undescribed fields.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::text_of;
use api_pages::description::{Replies, describe};
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use crate::http::Reply;

struct Contract {
    paths: Map<String, Value>,
    bodies: HashMap<String, Validator>,
    /// Names with true if required, and the validator.
    headers: HashMap<String, (bool, Validator)>,
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::new);

/// Endpoint id, status and error code.
pub type Described = (String, u16, Option<String>);

/// Checks status, headers and body, and panics if they differ. Returns the described reply; `None`
/// outside the API.
pub fn check(method: &str, path: &str, reply: &Reply) -> Option<Described> {
    CONTRACT.check(method, path, reply)
}

pub fn described() -> Vec<Described> {
    let mut all = Vec::new();
    for endpoint in CONTRACT
        .paths
        .values()
        .filter_map(Value::as_object)
        .flat_map(Map::values)
    {
        let id = text_of(&endpoint["operationId"]);
        for (status, described) in endpoint["responses"].as_object().expect("responses") {
            let status = status.parse().expect("a status");
            match described["x-error-codes"].as_array() {
                None => all.push((id.to_owned(), status, None)),
                Some(codes) => all.extend(codes.iter().map(|code| {
                    (
                        id.to_owned(),
                        status,
                        Some(code.as_str().expect("text").to_owned()),
                    )
                })),
            }
        }
    }
    all
}

impl Contract {
    fn new() -> Self {
        let mut description = describe(Replies::Closed);
        close(&mut description["components"]["schemas"]);
        let components = json!({ "schemas": description["components"]["schemas"] });
        let names: Vec<String> = description["components"]["schemas"]
            .as_object()
            .expect("schemas")
            .keys()
            .cloned()
            .collect();
        let of = |schema: Value| {
            let mut whole = schema;
            whole["components"] = components.clone();
            let options = jsonschema::options()
                .with_draft(Draft::Draft202012)
                .should_validate_formats(true);
            options.build(&whole).expect("a schema")
        };
        let body = |name: String| {
            let link = format!("#/components/schemas/{name}");
            (link.clone(), of(json!({ "$ref": link })))
        };
        let headers = description["components"]["headers"]
            .as_object()
            .expect("headers")
            .clone();
        Self {
            paths: description["paths"].as_object().expect("paths").clone(),
            bodies: names.into_iter().map(body).collect(),
            headers: headers
                .into_iter()
                .map(|(name, header)| {
                    (
                        name,
                        (header["required"] == true, of(header["schema"].clone())),
                    )
                })
                .collect(),
        }
    }

    fn check(&self, method: &str, path: &str, reply: &Reply) -> Option<Described> {
        let path = path.split('?').next().unwrap_or_default();
        let shown = format!("{method} {path}: {} {}", reply.status, reply.text);
        // Pages may be cached, and their 404 is HTML.
        let is_page = reply
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("text/html"));
        if !path.starts_with("/api/") && (is_page || reply.header("etag").is_some()) {
            self.check_header("X-Request-Id", "X-Request-Id", reply, &shown);
            return None;
        }
        for name in ["X-Request-Id", "Cache-Control"] {
            self.check_header(name, name, reply, &shown);
        }
        let Some((template, methods)) = self.methods(path) else {
            if reply.status != 200 {
                self.check_body("#/components/schemas/ErrorBody", method, reply, &shown);
                assert!(
                    matches!(
                        reply.error_code_unless_empty().as_deref(),
                        None | Some("not_found" | "method_not_allowed")
                    ),
                    "{shown}"
                );
            }
            return None;
        };
        let endpoint = methods
            .get(&method.to_ascii_lowercase())
            .filter(|_| method == method.to_uppercase());
        let (endpoint, wrong_method) = match endpoint {
            Some(endpoint) => (endpoint, false),
            None => (methods.values().next().expect("a method"), true),
        };
        assert_eq!(
            reply.status == 405,
            wrong_method,
            "{template} takes another method: {shown}"
        );
        let status = reply.status.as_u16();
        let described = &endpoint["responses"][status.to_string()];
        assert!(described.is_object(), "not described: {shown}");
        for (name, header) in described["headers"].as_object().expect("headers") {
            let component = header["$ref"]
                .as_str()
                .and_then(|link| link.rsplit('/').next());
            self.check_header(name, component.expect("a component"), reply, &shown);
        }
        for name in self.headers.keys() {
            let undescribed = described["headers"].get(name).is_none();
            assert!(
                !undescribed || reply.header(name).is_none(),
                "{name} is not described: {shown}"
            );
        }
        let media = &described["content"]["application/json"];
        self.check_body(text_of(&media["schema"]["$ref"]), method, reply, &shown);
        let code = reply.error_code_unless_empty();
        if let Some(codes) = described["x-error-codes"]
            .as_array()
            .filter(|_| !reply.text.is_empty())
        {
            assert!(codes.contains(&json!(code)), "no such error here: {shown}");
        }
        Some((text_of(&endpoint["operationId"]).to_owned(), status, code))
    }

    /// The matching path template, and its methods. Fixed paths win over parameters.
    fn methods(&self, path: &str) -> Option<(&str, &Map<String, Value>)> {
        let mut matching: Vec<_> = self
            .paths
            .iter()
            .filter(|(template, _)| matches(template, path))
            .collect();
        matching.sort_by_key(|(template, _)| template.contains('{'));
        let (template, methods) = matching.first()?;
        Some((template.as_str(), methods.as_object()?))
    }

    fn check_header(&self, name: &str, component: &str, reply: &Reply, shown: &str) {
        let (required, validator) = &self.headers[component];
        let Some(value) = reply.header(name) else {
            assert!(!required, "{name} is missing: {shown}");
            return;
        };
        // Numeric headers have numeric schemas.
        let number = value
            .parse::<u64>()
            .map(Value::from)
            .ok()
            .filter(|number| validator.is_valid(number));
        assert!(
            number.is_some() || validator.is_valid(&json!(value)),
            "{name}: {value} in {shown}"
        );
    }

    fn check_body(&self, schema: &str, method: &str, reply: &Reply, shown: &str) {
        assert_eq!(
            reply.header("content-type"),
            Some("application/json"),
            "{shown}"
        );
        if method == "HEAD" {
            return;
        }
        let body = reply.json();
        let faults: Vec<_> = self.bodies[schema]
            .iter_errors(&body)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:#?} in {shown}");
    }
}

fn matches(template: &str, path: &str) -> bool {
    let parts: (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    let same = |(expected, part): (&&str, &&str)| {
        expected == part || (expected.starts_with('{') && !part.is_empty())
    };
    parts.0.len() == parts.1.len() && parts.0.iter().zip(&parts.1).all(same)
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members
                .get("properties")
                .is_some_and(|fields| fields.is_object())
                && members.contains_key("x-order")
            {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
            members.values_mut().for_each(close);
        }
        Value::Array(members) => members.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
