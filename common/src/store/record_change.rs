//! The update that turns a record from what was read into what it becomes. It names what differs and nothing else, so that
//! attributes of a newer build, which this one does not know, stay, also those within maps.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;

use super::Item;

/// The time of an event; one that differs makes another event.
const AT: &str = "at";

/// The parts of an update expression.
#[derive(Default)]
pub(crate) struct RecordChange {
    set: Vec<String>,
    remove: Vec<String>,
    /// Placeholders by name.
    names: HashMap<String, String>,
    pub(crate) values: Item,
}

impl RecordChange {
    pub(crate) fn between(before: &Item, after: &Item) -> Self {
        let mut change = Self::default();
        change.compare_maps("", before, after);
        change
    }

    /// Removes an attribute that this build does not keep in its own form.
    #[must_use]
    pub(crate) fn removing(mut self, name: &str) -> Self {
        let path = self.path("", name);
        self.remove.push(path);
        self
    }

    pub(crate) fn expression(&self) -> String {
        let clause = |word: &str, parts: &[String]| {
            if parts.is_empty() {
                String::new()
            } else {
                format!("{word} {} ", parts.join(", "))
            }
        };
        clause("SET", &self.set) + &clause("REMOVE", &self.remove)
    }

    /// Names by placeholder.
    pub(crate) fn names(&self) -> HashMap<String, String> {
        self.names
            .iter()
            .map(|(name, placeholder)| (placeholder.clone(), name.clone()))
            .collect()
    }

    fn compare_maps(&mut self, path: &str, before: &Item, after: &Item) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (before, after) = (before.get(name), after.get(name));
            // A name that no expression uses is refused.
            if before != after {
                let path = self.path(path, name);
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

    fn path(&mut self, within: &str, name: &str) -> String {
        let count = self.names.len();
        let placeholder = self
            .names
            .entry(name.to_owned())
            .or_insert_with(|| format!("#c{count}"));
        if within.is_empty() {
            placeholder.clone()
        } else {
            format!("{within}.{placeholder}")
        }
    }

    fn value(&mut self, value: AttributeValue) -> String {
        let placeholder = format!(":c{}", self.values.len());
        self.values.insert(placeholder.clone(), value);
        placeholder
    }
}

fn is_same_event(before: &Item, after: &Item) -> bool {
    before.get(AT) == after.get(AT)
}

/// True if a list only grew, and its events are still the same ones; all of a list that lost one are written again.
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
    use serde_dynamo::aws_sdk_dynamodb_1::to_item;
    use serde_json::{Value, json};

    use super::*;

    /// The expression with its names and values in it.
    fn change(before: &Value, after: &Value) -> String {
        let [before, after] = [before, after].map(|item| to_item(item).expect("an item"));
        let change = RecordChange::between(&before, &after);
        let mut text = change.expression();
        for (placeholder, name) in change.names() {
            text = text.replace(&format!("{placeholder} "), &format!("{name} "));
            text = text.replace(&format!("{placeholder}."), &format!("{name}."));
            text = text.replace(&format!("{placeholder}["), &format!("{name}["));
            text = text.replace(&format!("{placeholder},"), &format!("{name},"));
        }
        text.trim().to_owned()
    }

    #[test]
    fn only_what_differs_is_named() {
        let before = json!({ "a": 1, "b": { "c": 1, "d": { "e": 1 } }, "f": 1 });
        assert_eq!(change(&before, &before), "");
        let after = json!({ "a": 1, "b": { "c": 2, "d": {} }, "g": null });
        assert_eq!(
            change(&before, &after),
            "SET b.c = :c0, g = :c1 REMOVE b.d.e, f"
        );
    }

    #[test]
    fn another_event_replaces_an_object() {
        let before = json!({ "decision": { "at": 1, "by": "asha", "why": "seen" } });
        let wordless = json!({ "decision": { "at": 1, "by": "asha" } });
        assert_eq!(change(&before, &wordless), "REMOVE decision.why");
        let other = json!({ "decision": { "at": 2, "by": "juma", "why": "seen" } });
        assert_eq!(change(&before, &other), "SET decision = :c0");
    }

    #[test]
    fn a_list_grows_or_its_events_change_in_place() {
        let [one, two] = [1, 2].map(|at| json!({ "at": at, "why": "x" }));
        let before = json!({ "past": [one] });
        assert_eq!(
            change(&before, &json!({ "past": [one, two] })),
            "SET past = list_append(past, :c0)"
        );
        assert_eq!(
            change(&before, &json!({ "past": [{ "at": 1 }] })),
            "REMOVE past[0].why"
        );
        assert_eq!(change(&before, &json!({ "past": [two] })), "SET past = :c0");
        assert_eq!(
            change(&before, &json!({ "past": [{ "at": 1 }, two] })),
            "SET past = :c0"
        );
        assert_eq!(change(&before, &json!({ "past": [] })), "SET past = :c0");
    }
}
