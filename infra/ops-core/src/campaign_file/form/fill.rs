use super::super::schema::{Kind, Schema};
use super::super::write::{flow, is_nothing, to_json};
use super::{ON, Typed, is_switched, join, lines};
use crate::prelude::*;

pub fn fill(campaign: &Campaign) -> Result<Typed> {
    let mut typed = Typed::new();
    let fields = Value::Object(to_json(campaign)?);
    push(
        &mut typed,
        "",
        Schema::of_file(),
        &fields,
        campaign.timezone,
    );
    Ok(typed)
}

/// The country's time zone, and defaults.
pub fn empty() -> Typed {
    let mut typed = Typed::new();
    push(&mut typed, "", Schema::of_file(), &Value::Null, Tz::UTC);
    let zone = Tz::Africa__Dar_es_Salaam.name().to_owned();
    typed.insert("timezone".to_owned(), zone);
    typed.insert("code.checked_by".to_owned(), "service".to_owned());
    typed
}

fn push(typed: &mut Typed, path: &str, block: &Schema, fields: &Value, zone: Tz) {
    for (name, schema) in block.fields() {
        let path = join(path, name);
        let value = fields.get(name).filter(|value| !value.is_null());
        if let Kind::Object = schema.kind() {
            if is_switched(schema) && value.is_some_and(|value| !is_nothing(value)) {
                typed.insert(path.clone(), ON.to_owned());
            }
            push(typed, &path, schema, value.unwrap_or(&Value::Null), zone);
        } else if let Some(value) = value.or(schema.default.as_ref()) {
            typed.insert(path, text(value, schema, zone));
        }
    }
}

fn text(value: &Value, schema: &Schema, zone: Tz) -> String {
    match (value, schema.kind()) {
        (Value::String(at), _) if schema.is_time => local(at, zone),
        (Value::String(text), Kind::Any) => flow(&json!(text), schema),
        (Value::String(text), _) => text.clone(),
        (Value::Bool(is_on), Kind::Bool) => if *is_on { ON } else { "" }.to_owned(),
        (Value::Array(items), Kind::List(_, item)) if matches!(item.kind(), Kind::Object) => {
            lines::write(items, item)
        }
        (Value::Array(_), _) => flow(value, schema),
        (Value::Object(fields), Kind::Map(_, item)) => {
            let line = |(name, value)| format!("{}: {}\n", json!(name), flow(value, item));
            fields.iter().map(line).collect()
        }
        (_, Kind::Any) => format!("{value:#}"),
        _ => value.to_string(),
    }
}

/// Without seconds, if there are none.
fn local(at: &str, zone: Tz) -> String {
    let Ok(at) = at.parse::<Timestamp>() else {
        return at.to_owned();
    };
    let is_minute = at.as_millis() % 60_000 == 0;
    let format = if is_minute {
        "%Y-%m-%dT%H:%M"
    } else {
        "%Y-%m-%dT%H:%M:%S%.f"
    };
    at.in_zone(zone).format(format).to_string()
}
