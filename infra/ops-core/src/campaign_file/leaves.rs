//! A campaign as a flat list of values, each with its path in the file. Each value is compared as a whole.

use common::domain::campaign::Campaign;
use serde_json::{Map, Value};

use super::schema::{Kind, Schema};
use super::write::to_json;
use crate::failure::Failure;

/// A value, not `null`.
pub(crate) struct Leaf {
    /// Such as `limits.phone_daily`, or `receipt.products[chai-250].entries`.
    pub(crate) path: String,
    pub(crate) value: Value,
    /// The place of its outermost field in a file.
    pub(crate) place: usize,
    /// The default, in words.
    pub(crate) left_out: &'static str,
}

/// The values of a campaign, in the order of a file.
pub(crate) fn leaves(campaign: &Campaign) -> Result<Vec<Leaf>, Failure> {
    let fields = to_json(campaign)?;
    let mut leaves = Vec::new();
    for (place, (name, schema)) in Schema::of_file().fields().enumerate() {
        if let Some(value) = fields.get(name) {
            let left_out = schema.left_out().unwrap_or(NONE);
            let path = name.to_owned();
            push(
                &mut leaves,
                schema,
                value,
                Leaf {
                    path,
                    value: Value::Null,
                    place,
                    left_out,
                },
            );
        }
    }
    Ok(leaves)
}

/// A block that is added or removed as a whole. The defaults of its fields say nothing where the block is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WholeBlock {
    pub(crate) name: &'static str,
    /// The meaning of leaving it out, in words.
    pub(crate) left_out: &'static str,
    pub(crate) is_added: bool,
}
/// The blocks that only one of two campaigns has.
pub(crate) fn whole_blocks(
    before: &Campaign,
    after: &Campaign,
) -> Result<Vec<WholeBlock>, Failure> {
    let (old, new) = (to_json(before)?, to_json(after)?);
    let has = |fields: &Map<String, Value>, name: &str| {
        fields.get(name).is_some_and(|value| !value.is_null())
    };
    let whole = |(name, schema): (&'static str, Schema<'static>)| {
        let (had, has) = (has(&old, name), has(&new, name));
        let is_whole = matches!(schema.kind(), Kind::Object) && had != has;
        is_whole.then_some(WholeBlock {
            name,
            left_out: schema.left_out()?,
            is_added: has,
        })
    };
    Ok(Schema::of_file().fields().filter_map(whole).collect())
}

/// The default of a value whose field names none.
const NONE: &str = "none";

/// Adds the leaves of one value; `at` says where it is.
fn push(leaves: &mut Vec<Leaf>, schema: Schema<'static>, value: &Value, at: Leaf) {
    let inside = |path: String, left_out| Leaf {
        path,
        value: Value::Null,
        place: at.place,
        left_out,
    };
    match (schema.kind(), value) {
        (_, Value::Null) => {}
        (Kind::Object, Value::Object(fields)) => {
            for (name, schema) in schema.fields() {
                if let Some(value) = fields.get(name) {
                    let path = format!("{}.{name}", at.path);
                    push(
                        leaves,
                        schema,
                        value,
                        inside(path, schema.left_out().unwrap_or(NONE)),
                    );
                }
            }
        }
        (Kind::Map(_, item), Value::Object(fields)) => {
            for (name, value) in fields {
                push(
                    leaves,
                    item,
                    value,
                    inside(format!("{}.{name}", at.path), NONE),
                );
            }
        }
        (Kind::List(_, item), Value::Array(values)) if matches!(item.kind(), Kind::Object) => {
            for value in values {
                let path = format!("{}[{}]", at.path, name_of(value.as_object()));
                push(leaves, item, value, inside(path, NONE));
            }
        }
        (_, Value::Array(values)) if values.is_empty() => {}
        _ => leaves.push(Leaf {
            value: value.clone(),
            ..at
        }),
    }
}

/// The name of an item of a list, which is unique in a file.
fn name_of(item: Option<&Map<String, Value>>) -> &str {
    let name = item.and_then(|fields| fields.get("key").or_else(|| fields.get("name")));
    name.and_then(Value::as_str).unwrap_or_default()
}
