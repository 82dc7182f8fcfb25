//! The JSON Schema of campaign files, for editors and forms. `ops campaign apply` checks more.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::fields::File;

static FILE: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<File>().to_value();
    complete(&mut schema);
    schema
});

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

/// Demands every field, in a file's order.
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
        words.insert("additionalProperties".to_owned(), json!(false));
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

/// Allows `null` for an omitted field, and describes defaults.
fn publish(schema: &mut Value) {
    let Value::Object(words) = schema else { return };
    words.retain(|word, _| !word.starts_with("x-") && word != "default");
    each_inner(words, &mut |field| {
        let (left_out, text) = (Schema(field).left_out(), Schema(field).text());
        let in_words = left_out.map(|words| format!("{text} Left out: {words}."));
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
}

#[derive(Clone, Copy)]
pub(super) struct Schema<'a>(&'a Value);

pub(super) enum Kind<'a> {
    /// Characters.
    Text(RangeInclusive<usize>),
    Bool,
    /// A maximum; the minimum is 1.
    Integer(u64),
    Choice(Vec<&'a str>),
    Object,
    /// Maximum length.
    List(usize, Schema<'a>),
    /// Maximum number of fields, of any name.
    Map(usize, Schema<'a>),
    Any,
}

impl Schema<'static> {
    pub(super) fn of_file() -> Self {
        Self(&FILE)
    }
}

impl<'a> Schema<'a> {
    fn word(self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    fn text_of(self, name: &str) -> &'a str {
        self.word(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number_of(self, name: &str) -> usize {
        let number = self.word(name).and_then(Value::as_u64);
        number
            .and_then(|number| number.try_into().ok())
            .unwrap_or(usize::MAX)
    }

    pub(super) fn text(self) -> &'a str {
        self.text_of("description")
    }

    pub(super) fn example(self) -> &'a str {
        self.text_of("x-example")
    }

    pub(super) fn left_out(self) -> Option<&'a str> {
        self.word("x-left-out").and_then(Value::as_str)
    }

    pub(super) fn default(self) -> Option<&'a Value> {
        self.word("default")
    }

    pub(super) fn holds(self) -> Option<&'a str> {
        self.word("x-holds").and_then(Value::as_str)
    }

    /// True if a rule says more about wrong values.
    pub(super) fn has_rule(self) -> bool {
        self.word("x-rule").is_some()
    }

    pub(super) fn has_pattern(self) -> bool {
        self.word("pattern").is_some()
    }

    pub(super) fn meaning(self, word: &str) -> Option<&'a str> {
        self.word("x-enumDescriptions")?.get(word)?.as_str()
    }

    pub(super) fn field(self, name: &str) -> Option<Self> {
        self.word("properties")?.get(name).map(Self)
    }

    pub(super) fn fields(self) -> impl Iterator<Item = (&'a str, Self)> {
        let names = self.word("x-order").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.filter_map(move |name| Some((name, self.field(name)?)))
    }

    pub(super) fn kind(self) -> Kind<'a> {
        if let Some(Value::Array(words)) = self.word("enum") {
            return Kind::Choice(words.iter().filter_map(Value::as_str).collect());
        }
        let inner = |name| Self(self.word(name).unwrap_or(&Value::Null));
        match self.text_of("type") {
            "string" => Kind::Text(self.number_of("minLength")..=self.number_of("maxLength")),
            "boolean" => Kind::Bool,
            "integer" => Kind::Integer(self.word("maximum").and_then(Value::as_u64).unwrap_or(0)),
            "array" => Kind::List(self.number_of("maxItems"), inner("items")),
            "object" if self.word("x-order").is_some() => Kind::Object,
            "object" => Kind::Map(
                self.number_of("maxProperties"),
                inner("additionalProperties"),
            ),
            _ => Kind::Any,
        }
    }
}
