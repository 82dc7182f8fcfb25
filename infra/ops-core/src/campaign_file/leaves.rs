use super::schema::{Kind, Schema};
use super::write::{is_nothing, to_json};
use crate::prelude::*;

/// Compared as a whole; never `null`.
pub(crate) struct Leaf {
    /// Such as `limits.phone_daily`, or `receipt.products[chai-250].entries`.
    pub(crate) path: String,
    pub(crate) value: Value,
    pub(crate) place: usize,
    pub(crate) left_out: &'static str,
}

pub(crate) fn leaves(campaign: &Campaign) -> Result<Vec<Leaf>> {
    let fields = to_json(campaign)?;
    let mut leaves = Vec::new();
    for (place, (name, schema)) in Schema::of_file().fields().enumerate() {
        let value = fields.get(name).unwrap_or(&Value::Null);
        walk(
            name.to_owned(),
            schema,
            value,
            &mut |path, schema, value| {
                leaves.push(Leaf {
                    path,
                    value: value.clone(),
                    place,
                    left_out: left_out(schema),
                });
            },
        );
    }
    Ok(leaves)
}

fn left_out(schema: &'static Schema) -> &'static str {
    schema.left_out.as_deref().unwrap_or("none")
}

fn walk(
    path: String,
    schema: &'static Schema,
    value: &Value,
    leaf: &mut dyn FnMut(String, &'static Schema, &Value),
) {
    match (schema.kind(), value) {
        (_, Value::Null) => {}
        (Kind::Object, Value::Object(fields)) => {
            for (name, schema) in schema.fields() {
                if let Some(value) = fields.get(name) {
                    walk(format!("{path}.{name}"), schema, value, leaf);
                }
            }
        }
        (Kind::Map(_, item), Value::Object(fields)) => {
            for (name, value) in fields {
                walk(format!("{path}.{name}"), item, value, leaf);
            }
        }
        (Kind::List(_, item), Value::Array(values)) if matches!(item.kind(), Kind::Object) => {
            for value in values {
                // Unique in a list.
                let named = ["key", "name", "from"];
                let name = named.iter().find_map(|name| value.get(name));
                let name = name.and_then(Value::as_str).unwrap_or_default();
                walk(format!("{path}[{name}]"), item, value, leaf);
            }
        }
        (_, Value::Array(values)) if values.is_empty() => {}
        _ => leaf(path, schema, value),
    }
}

/// Added or removed as a whole: defaults say nothing where the block is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WholeBlock {
    pub(crate) name: &'static str,
    pub(crate) left_out: &'static str,
    pub(crate) is_added: bool,
}

pub(crate) fn whole_blocks(before: &Campaign, after: &Campaign) -> Result<Vec<WholeBlock>> {
    let (old, new) = (to_json(before)?, to_json(after)?);
    let has = |fields: &Map<String, Value>, name: &str| {
        fields.get(name).is_some_and(|value| !value.is_null())
    };
    let whole = |(name, schema): (&'static str, &'static Schema)| {
        let (had, has) = (has(&old, name), has(&new, name));
        let is_whole = matches!(schema.kind(), Kind::Object) && had != has;
        is_whole.then_some(WholeBlock {
            name,
            left_out: schema.left_out.as_deref()?,
            is_added: has,
        })
    };
    Ok(Schema::of_file().fields().filter_map(whole).collect())
}

/// Lists of blocks as lengths, maps as names.
pub(crate) fn summary(
    campaign: &Campaign,
    in_words: impl Fn(&str, &Value) -> String,
) -> Result<Vec<(String, String)>> {
    let mut lines = Vec::new();
    let fields = Value::Object(to_json(campaign)?);
    push_summary(&mut lines, "", Schema::of_file(), &fields, &in_words);
    Ok(lines)
}

fn push_summary(
    lines: &mut Vec<(String, String)>,
    path: &str,
    block: &'static Schema,
    fields: &Value,
    in_words: &dyn Fn(&str, &Value) -> String,
) {
    for (name, schema) in block.fields() {
        let path = super::join(path, name);
        let value = fields.get(name).filter(|value| !is_nothing(value));
        let words = match (schema.kind(), value) {
            (_, None) => left_out(schema).to_owned(),
            (Kind::Object, Some(inner)) if schema.holds.is_none() => {
                push_summary(lines, &path, schema, inner, in_words);
                continue;
            }
            (Kind::Object | Kind::Map(..), Some(Value::Object(fields))) => joined(fields.keys()),
            (_, Some(Value::Array(items))) => items.len().to_string(),
            (_, Some(value)) => in_words(&path, value),
        };
        lines.push((path, words));
    }
}
