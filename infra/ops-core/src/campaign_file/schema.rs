//! The JSON Schema of campaign files, for editors and forms. `ops campaign apply` checks more.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;

use super::fields::File;
use crate::prelude::*;

static FILE: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<File>().to_value();
    complete(&mut schema);
    schema
});

#[expect(clippy::expect_used, reason = "the schema is a constant, and tested")]
static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| serde_json::from_value(FILE.clone()).expect("the words of a schema"));

/// Draft 7, which editors know.
pub fn schema() -> Value {
    let mut schema = FILE.clone();
    publish(&mut schema);
    if let Value::Object(fields) = &mut schema {
        fields.insert("title".to_owned(), json!("Campaign file"));
        fields.remove("description");
    }
    schema
}

fn complete(schema: &mut Value) {
    let Value::Object(words) = schema else { return };
    // Rust's number formats.
    words.remove("format");
    if let Some(text) = words.get_mut("description")
        && let Some(lines) = text.as_str()
    {
        *text = json!(lines.replace('\n', " "));
    }
    if let Some(default) = words.get("default") {
        let in_words = default
            .as_str()
            .map_or_else(|| default.to_string(), str::to_owned);
        for name in ["x-left-out", "x-example"] {
            words.entry(name).or_insert_with(|| json!(in_words));
        }
    }
    if let Some(Value::Array(names)) = words.remove("required") {
        let is_required = |name: &&Value| {
            let field = words
                .get("properties")
                .and_then(|fields| fields.get(name.as_str()?));
            field.is_some_and(|field| {
                ["default", "x-left-out"]
                    .iter()
                    .all(|word| field.get(word).is_none())
            })
        };
        let required: Vec<Value> = names.iter().filter(is_required).cloned().collect();
        words.insert("required".to_owned(), json!(required));
        words.insert("x-order".to_owned(), json!(names));
    }
    each_inner(words, &mut complete);
}

fn each_inner(words: &mut Map<String, Value>, change: &mut dyn FnMut(&mut Value)) {
    for (word, value) in words {
        match (word.as_str(), value) {
            ("properties", Value::Object(fields)) => fields.values_mut().for_each(&mut *change),
            ("items" | "additionalProperties", schema) => change(schema),
            _ => {}
        }
    }
}

fn publish(schema: &mut Value) {
    let Value::Object(words) = schema else { return };
    let is_object = words.contains_key("x-order");
    words.retain(|word, _| !word.starts_with("x-") && word != "default");
    each_inner(words, &mut |field| {
        let word = |name| field.get(name).and_then(Value::as_str);
        let text = word("description").unwrap_or_default();
        let in_words = word("x-left-out").map(|words| format!("{text} Left out: {words}."));
        publish(field);
        if let Some(text) = in_words {
            let mut inner = field.take();
            inner
                .as_object_mut()
                .map(|words| words.remove("description"));
            *field =
                json!({ "anyOf": [inner, { "type": "null" }], "description": text.trim_start() });
        }
    });
    if is_object {
        words.insert("additionalProperties".to_owned(), json!(false));
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Schema {
    r#type: String,
    #[serde(rename = "description")]
    pub(super) text: String,
    /// A valid value, as written in a file.
    #[serde(rename = "x-example")]
    pub(super) example: String,
    #[serde(rename = "x-left-out")]
    pub(super) left_out: Option<String>,
    pub(super) default: Option<Value>,
    #[serde(rename = "x-holds")]
    pub(super) holds: Option<String>,
    /// A rule says more about a wrong one.
    #[serde(rename = "x-rule")]
    pub(super) has_rule: bool,
    #[serde(rename = "x-time")]
    pub(super) is_time: bool,
    pub(super) pattern: Option<String>,
    /// The pattern in words, after `must be`.
    #[serde(rename = "x-form")]
    pub(super) form: Option<String>,
    #[serde(rename = "x-enumDescriptions")]
    pub(super) meanings: HashMap<String, String>,
    r#enum: Option<Vec<String>>,
    properties: HashMap<String, Self>,
    #[serde(rename = "x-order")]
    order: Option<Vec<String>>,
    items: Box<Option<Self>>,
    additional_properties: Box<Option<Self>>,
    min_length: usize,
    max_length: usize,
    minimum: u64,
    maximum: u64,
    max_items: usize,
    max_properties: usize,
}

pub(super) enum Kind<'a> {
    /// Characters.
    Text(RangeInclusive<usize>),
    Bool,
    Integer(RangeInclusive<u64>),
    Choice(&'a [String]),
    Object,
    /// Maximum length.
    List(usize, &'a Schema),
    /// Maximum number of fields, of any name.
    Map(usize, &'a Schema),
    Any,
}

impl Schema {
    pub(super) fn of_file() -> &'static Self {
        &SCHEMA
    }

    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name)
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &Self)> {
        let names = self.order.iter().flatten();
        names.filter_map(|name| Some((name.as_str(), self.field(name)?)))
    }

    pub(super) fn kind(&self) -> Kind<'_> {
        if let Some(words) = &self.r#enum {
            return Kind::Choice(words);
        }
        match (
            self.r#type.as_str(),
            &*self.items,
            &*self.additional_properties,
        ) {
            ("string", ..) => Kind::Text(self.min_length..=self.max_length),
            ("boolean", ..) => Kind::Bool,
            ("integer", ..) => Kind::Integer(self.minimum..=self.maximum),
            ("array", Some(item), _) => Kind::List(self.max_items, item),
            ("object", _, Some(item)) => Kind::Map(self.max_properties, item),
            ("object", ..) => Kind::Object,
            _ => Kind::Any,
        }
    }
}
