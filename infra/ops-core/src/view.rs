//! Views of records: each has one JSON document, from which tables and lines are picked.

use crate::prelude::*;

/// Heading or name, and a JSON Pointer.
pub(crate) type Columns = [(&'static str, &'static str)];

/// `campaign` and `environment` instead of the scope.
pub(crate) fn of_record(record: &impl Serialize) -> Value {
    let mut view = json!(record);
    if let Some(fields) = view.as_object_mut()
        && fields.get("scope").is_some_and(Value::is_object)
        && let Some(Value::Object(scope)) = fields.remove("scope")
    {
        fields.extend(scope);
    }
    view
}

/// Makes text of times, which records have in milliseconds. What a campaign sends to its partner is
/// the brand's own.
pub(crate) fn write_times_out(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut().filter(|(name, _)| *name != "body") {
                match value.as_i64() {
                    Some(at) if is_time(name) => {
                        *value = Timestamp::from_millis(at).to_string().into();
                    }
                    Some(_) | None => write_times_out(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(write_times_out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_time(name: &str) -> bool {
    ["at", "start", "end"].contains(&name)
        || ["_at", "_until", "_since"]
            .iter()
            .any(|end| name.ends_with(end))
}

pub(crate) fn extended(
    mut view: Value,
    more: impl IntoIterator<Item = (impl Into<String>, Value)>,
) -> Value {
    if let Some(fields) = view.as_object_mut() {
        fields.extend(more.into_iter().map(|(name, value)| (name.into(), value)));
    }
    view
}

/// A value as text: a list with commas.
pub(crate) fn cell(
    view: &Value,
    pointer: &str,
    time: impl Fn(Timestamp) -> String,
    number: impl Fn(u64) -> String,
) -> Option<String> {
    let is_time = is_time(pointer.rsplit('/').next().unwrap_or_default());
    Some(match view.pointer(pointer)? {
        Value::Null => return None,
        Value::String(text) => match text.parse() {
            Ok(at) if is_time => time(at),
            Ok(_) | Err(_) => text.clone(),
        },
        Value::Array(items) => joined(items.iter().filter_map(Value::as_str)),
        Value::Number(found) => match (found.as_i64(), found.as_u64()) {
            (Some(at), _) if is_time => time(Timestamp::from_millis(at)),
            (_, Some(found)) => number(found),
            (_, None) => found.to_string(),
        },
        other => other.to_string(),
    })
}

/// A row per document. Times are those of `zone`, which a heading should name, unless a document
/// has its own `timezone`.
pub(crate) fn table<'a>(
    columns: &[(&str, &str)],
    views: impl IntoIterator<Item = &'a Value>,
    zone: Tz,
) -> String {
    let row = |view: &Value| {
        let own = view
            .get("timezone")
            .and_then(|zone| zone.as_str()?.parse().ok());
        let time = |at| local_time(at, own.unwrap_or(zone));
        let cell = |(_, pointer): &(&str, &str)| or_dash(cell(view, pointer, time, grouped));
        columns.iter().map(cell).collect()
    };
    let headings: Vec<_> = columns.iter().map(|(heading, _)| *heading).collect();
    aligned(&headings, views.into_iter().map(row))
}

/// Names and values of a document, without those that it does not have.
pub(crate) fn facts(columns: &Columns, view: &Value, zone: Tz) -> Vec<(&'static str, String)> {
    let fact = |(name, pointer): &(&'static str, &str)| {
        Some((
            *name,
            cell(view, pointer, |at| zoned_time(at, zone), grouped)?,
        ))
    };
    let columns = columns.iter();
    let columns = columns.filter(|(name, _)| !name.ends_with("_local"));
    columns.filter_map(fact).collect()
}
