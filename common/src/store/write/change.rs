//! Changes that keep attributes of a newer build, also within maps and lists.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde_dynamo::aws_sdk_dynamodb_1::to_item;

use super::Write;
use crate::store::Item;

/// Attributes that identify an object.
const IDENTITY: [&str; 4] = ["at", "key", "name", "file"];

impl Write {
    /// Names only what differs: an expression has at most 4 KB.
    pub(crate) fn change<T: Serialize>(mut self, before: Option<&T>, after: &T) -> Self {
        let [before, after] = self.items(before, after);
        self.compare_maps("", &before, &after);
        self
    }

    /// Writes differing attributes whole, for records with many changes.
    pub(crate) fn merge<T: Serialize>(
        mut self,
        stored: &Item,
        before: Option<&T>,
        after: &T,
    ) -> Self {
        let [before, after] = self.items(before, after);
        let merged = merged_maps(stored, &before, &after);
        let gone = stored.keys().filter(|name| !merged.contains_key(*name));
        let mut change = self.remove(gone.map(String::as_str));
        for (name, value) in merged {
            if stored.get(&name) != Some(&value) {
                change = change.set_attribute(&name, value);
            }
        }
        change
    }

    fn items<T: Serialize>(&mut self, before: Option<&T>, after: &T) -> [Item; 2] {
        let before = before.map_or_else(|| Ok(Item::new()), to_item);
        [self.kept(before), self.kept(to_item(after))]
    }

    fn compare_maps(&mut self, path: &str, before: &Item, after: &Item) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (before, after) = (before.get(name), after.get(name));
            // DynamoDB refuses unused names.
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
            (Some(M(before)), Some(M(after))) if is_same_object(before, after) => {
                self.compare_maps(&path, before, after);
            }
            (Some(L(before)), Some(L(after))) if are_same_objects(before, after) => {
                for (index, (before, after)) in before.iter().zip(after).enumerate() {
                    self.compare(format!("{path}[{index}]"), Some(before), Some(after));
                }
                let added = after.get(before.len()..).unwrap_or_default();
                if !added.is_empty() {
                    let added = self.value(L(added.to_vec()));
                    self.push("SET", format!("{path} = list_append({path}, {added})"));
                }
            }
            (_, Some(after)) => {
                let after = self.value(after.clone());
                self.push("SET", format!("{path} = {after}"));
            }
            (_, None) => self.push("REMOVE", path),
        }
    }
}

/// `after` with what `stored` has and `before` does not know.
fn merged_maps(stored: &Item, before: &Item, after: &Item) -> Item {
    let is_foreign = |name: &String| !before.contains_key(name) && !after.contains_key(name);
    let foreign = stored.iter().filter(|(name, _)| is_foreign(name));
    let foreign = foreign.map(|(name, value)| (name.clone(), value.clone()));
    let known = after.iter().map(|(name, after)| {
        let values = stored.get(name).zip(before.get(name));
        let value = values.map(|(stored, before)| merged(stored, before, after));
        (name.clone(), value.unwrap_or_else(|| after.clone()))
    });
    foreign.chain(known).collect()
}

fn merged(
    stored: &AttributeValue,
    before: &AttributeValue,
    after: &AttributeValue,
) -> AttributeValue {
    use AttributeValue::{L, M};
    match (stored, before, after) {
        (M(stored), M(before), M(after)) if is_same_object(before, after) => {
            M(merged_maps(stored, before, after))
        }
        (L(stored), L(before), L(after)) => {
            let value = |after: &AttributeValue| {
                let mut pairs = stored.iter().zip(before);
                let pair = pairs.find(|(_, before)| is_same(before, after));
                pair.map_or_else(
                    || after.clone(),
                    |(stored, before)| merged(stored, before, after),
                )
            };
            L(after.iter().map(value).collect())
        }
        (_, _, after) => after.clone(),
    }
}

fn is_same_object(before: &Item, after: &Item) -> bool {
    IDENTITY
        .iter()
        .all(|name| before.get(*name) == after.get(*name))
}

fn is_same(before: &AttributeValue, after: &AttributeValue) -> bool {
    match (before, after) {
        (AttributeValue::M(before), AttributeValue::M(after)) => is_same_object(before, after),
        (before, after) => before == after,
    }
}

/// True if a list only grew, with the same objects.
fn are_same_objects(before: &[AttributeValue], after: &[AttributeValue]) -> bool {
    // An update cannot change a list in two ways.
    let is_unchanged = before
        .iter()
        .zip(after)
        .all(|(before, after)| before == after);
    before.len() <= after.len()
        && before
            .iter()
            .zip(after)
            .all(|(before, after)| is_same(before, after))
        && (is_unchanged || before.len() == after.len())
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::Client;
    use aws_sdk_dynamodb::config::{BehaviorVersion, Config};
    use serde_dynamo::aws_sdk_dynamodb_1::from_item;
    use serde_json::{Value, json};

    use super::*;
    use crate::store::table::Table;
    use crate::store::write::Kind;

    fn write() -> Write {
        let config = Config::builder().behavior_version(BehaviorVersion::latest());
        let client = Client::from_conf(config.build());
        let env = [("TABLE".to_owned(), "table".to_owned())];
        let table = Table::from_env(&env.into_iter().collect(), &client, "TABLE", "key");
        table.expect("a table").write("key", Kind::Update)
    }

    /// A change's expression, with names for placeholders.
    fn change(before: &Value, after: &Value) -> String {
        let change = write().change(Some(before), after);
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
            "REMOVE b.d.e, f SET b.c = :v0, g = :v1"
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

    #[test]
    fn merging_keeps_what_only_the_stored_record_has() {
        let stored = json!({
            "foreign": 1, "same": { "foreign": 2 }, "gone": { "foreign": 3 },
            "map": { "known": 1, "removed": 1, "foreign": { "deep": 4 } },
            "list": [{ "key": "a", "n": 1, "foreign": 5 }, { "key": "b", "n": 1, "foreign": 6 }],
            "secret": { "name": "old", "foreign": 7 },
        });
        let before = json!({
            "same": {}, "gone": {}, "map": { "known": 1, "removed": 1 },
            "list": [{ "key": "a", "n": 1 }, { "key": "b", "n": 1 }], "secret": { "name": "old" },
        });
        let after = json!({
            "same": {}, "map": { "known": 2 },
            "list": [{ "key": "c", "n": 1 }, { "key": "b", "n": 2 }], "secret": { "name": "new" },
        });
        let [stored, before, after] =
            [stored, before, after].map(|json| to_item(json).expect("items"));
        let merged: Value = from_item(merged_maps(&stored, &before, &after)).expect("a value");
        assert_eq!(
            merged,
            json!({
                "foreign": 1, "same": { "foreign": 2 }, "map": { "known": 2, "foreign": { "deep": 4 } },
                "list": [{ "key": "c", "n": 1 }, { "key": "b", "n": 2, "foreign": 6 }],
                "secret": { "name": "new" },
            })
        );
    }
}
