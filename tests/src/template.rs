//! The deployment's templates as JSON.

use std::path::PathBuf;

use serde_json::Value;

pub fn file_text(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn service() -> Value {
    parse(&file_text("template.yaml"))
}

/// The deployer's policy.
pub fn deployer() -> Value {
    serde_json::from_str(&file_text("infra/stack/deployer.json")).expect("JSON")
}

/// `CheckCode` for `check-code`.
pub fn logical_id(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

/// Properties of a type's resources, by logical id.
pub fn resources<'a>(
    template: &'a Value,
    kind: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let all = template["Resources"].as_object().expect("resources");
    let wanted = all
        .iter()
        .filter(move |(_, resource)| resource["Type"] == kind);
    wanted.map(|(id, resource)| (id.as_str(), &resource["Properties"]))
}

/// Asserts that a part has these members, among others.
pub fn assert_has(part: &Value, expected: &Value, whose: &str) {
    assert_eq!(chosen(part, expected), *expected, "{whose}");
}

/// The members in `wanted`.
fn chosen(part: &Value, wanted: &Value) -> Value {
    match (part, wanted) {
        (Value::Object(_), Value::Object(wanted)) => {
            let member = |(name, wanted): (&String, _)| (name.clone(), chosen(&part[name], wanted));
            wanted.iter().map(member).collect()
        }
        _ => part.clone(),
    }
}

/// Panics on what is not a template.
pub fn parse(text: &str) -> Value {
    local::template::parse(text).expect("a template")
}
