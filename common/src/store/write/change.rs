//! A change names only what differs, so that attributes of a newer build stay, also those within
//! maps.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde_dynamo::aws_sdk_dynamodb_1::to_item;

use super::Write;
use crate::store::Item;

/// An event with another time is another event.
const AT: &str = "at";

impl Write {
    pub(crate) fn change(mut self, before: &impl Serialize, after: &impl Serialize) -> Self {
        let (before, after) = (self.kept(to_item(before)), self.kept(to_item(after)));
        self.compare_maps("", &before, &after);
        self
    }

    /// Writes attributes that differ whole: an expression is limited to 4 KB.
    pub(crate) fn change_whole(mut self, before: &impl Serialize, after: &impl Serialize) -> Self {
        let before: Item = self.kept(to_item(before));
        let after: Item = self.kept(to_item(after));
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        let mut change = self.remove(gone.map(String::as_str));
        for (name, value) in after {
            if before.get(&name) != Some(&value) {
                change = change.set_attribute(&name, value);
            }
        }
        change
    }

    fn compare_maps(&mut self, path: &str, before: &Item, after: &Item) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (before, after) = (before.get(name), after.get(name));
            // A name that no expression uses is refused.
            if before != after {
                let name = self.name(name);
                let path = if path.is_empty() {
                    name
                } else {
                    format!("{path}.{name}")
                };
                self.compare(path, before, after);
            }
        }
    }

    fn compare(
        &mut self,
        path: String,
        before: Option<&AttributeValue>,
        after: Option<&AttributeValue>,
    ) {
        use AttributeValue::{L, M};
        match (before, after) {
            (before, after) if before == after => {}
            (Some(M(before)), Some(M(after))) if is_same_event(before, after) => {
                self.compare_maps(&path, before, after);
            }
            (Some(L(before)), Some(L(after))) if are_same_events(before, after) => {
                for (index, (before, after)) in before.iter().zip(after).enumerate() {
                    self.compare(format!("{path}[{index}]"), Some(before), Some(after));
                }
                let added = after.get(before.len()..).unwrap_or_default();
                if !added.is_empty() {
                    let added = self.value(L(added.to_vec()));
                    self.set
                        .push(format!("{path} = list_append({path}, {added})"));
                }
            }
            (_, Some(after)) => {
                let after = self.value(after.clone());
                self.set.push(format!("{path} = {after}"));
            }
            (_, None) => self.remove.push(path),
        }
    }
}

fn is_same_event(before: &Item, after: &Item) -> bool {
    before.get(AT) == after.get(AT)
}

/// True if a list only grew, and its events are the same ones.
fn are_same_events(before: &[AttributeValue], after: &[AttributeValue]) -> bool {
    let is_same = |(before, after): (&AttributeValue, &AttributeValue)| match (before, after) {
        (AttributeValue::M(before), AttributeValue::M(after)) => is_same_event(before, after),
        (before, after) => before == after,
    };
    // An update cannot change a list in two ways.
    let is_unchanged = before
        .iter()
        .zip(after)
        .all(|(before, after)| before == after);
    before.len() <= after.len()
        && before.iter().zip(after).all(is_same)
        && (is_unchanged || before.len() == after.len())
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::Client;
    use aws_sdk_dynamodb::config::{BehaviorVersion, Config};
    use serde_json::{Value, json};

    use super::*;
    use crate::store::write::Kind;

    fn write() -> Write {
        let config = Config::builder().behavior_version(BehaviorVersion::latest());
        let client = Client::from_conf(config.build());
        Write::new(&client, "table", Item::new(), Kind::Update)
    }

    /// The expression of a change, with names in place of their placeholders.
    fn change(before: &Value, after: &Value) -> String {
        let change = write().change(before, after);
        change.expression().unwrap_or_default().replace('#', "")
    }

    #[test]
    fn attributes_of_a_condition_are_named() {
        let write = write()
            .rename("#day", "day:2026".to_owned())
            .when("attribute_not_exists(#scope) OR #day < :limit")
            .add("day:2026", AttributeValue::N("1".to_owned()));
        assert_eq!(write.names["#scope"], "scope");
        assert_eq!(write.expression().as_deref(), Some("ADD #day :v0"));
        assert_eq!(write.names.len(), 2);
    }

    #[test]
    fn only_what_differs_is_named() {
        let before = json!({ "a": 1, "b": { "c": 1, "d": { "e": 1 } }, "f": 1 });
        assert_eq!(change(&before, &before), "");
        let after = json!({ "a": 1, "b": { "c": 2, "d": {} }, "g": null });
        assert_eq!(
            change(&before, &after),
            "SET b.c = :v0, g = :v1 REMOVE b.d.e, f"
        );
    }

    #[test]
    fn another_event_replaces_an_object() {
        let before = json!({ "decision": { "at": 1, "by": "asha", "why": "seen" } });
        let wordless = json!({ "decision": { "at": 1, "by": "asha" } });
        assert_eq!(change(&before, &wordless), "REMOVE decision.why");
        let other = json!({ "decision": { "at": 2, "by": "juma", "why": "seen" } });
        assert_eq!(change(&before, &other), "SET decision = :v0");
    }

    #[test]
    fn a_list_grows_or_its_events_change_in_place() {
        let [one, two] = [1, 2].map(|at| json!({ "at": at, "why": "x" }));
        let before = json!({ "past": [one] });
        assert_eq!(
            change(&before, &json!({ "past": [one, two] })),
            "SET past = list_append(past, :v0)"
        );
        assert_eq!(
            change(&before, &json!({ "past": [{ "at": 1 }] })),
            "REMOVE past[0].why"
        );
        assert_eq!(change(&before, &json!({ "past": [two] })), "SET past = :v0");
        assert_eq!(
            change(&before, &json!({ "past": [{ "at": 1 }, two] })),
            "SET past = :v0"
        );
        assert_eq!(change(&before, &json!({ "past": [] })), "SET past = :v0");
    }
}
