use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PartnerRequest;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Template(Value);

text_enum! {
    pub enum Placeholder {
        Reference = "{{reference}}",
        Code = "{{code}}",
        Phone = "{{phone}}",
        Campaign = "{{campaign}}",
        /// A JSON boolean if it is the whole text.
        Livemode = "{{livemode}}",
    }
}

impl Placeholder {
    fn value(self, request: &PartnerRequest) -> &str {
        match self {
            Self::Reference => &request.reference,
            Self::Code => &request.code,
            Self::Phone => &request.phone,
            Self::Campaign => &request.campaign,
            Self::Livemode if request.livemode => "true",
            Self::Livemode => "false",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("has the placeholder `{{{{{0}}}}}`, which stands for nothing; there are {known}", known = placeholders())]
    Unknown(String),
    #[error("has a placeholder that begins with `{{{{` and does not end with `}}}}`")]
    Open,
    #[error("has a placeholder in the name of the field `{0}`; placeholders go into values")]
    InName(String),
}

fn placeholders() -> String {
    let known = Placeholder::ALL.map(|known| format!("`{known}`"));
    known.join(", ")
}

impl Template {
    pub fn render(&self, request: &PartnerRequest) -> Value {
        rendered(&self.0, request)
    }

    pub fn holds(&self, placeholder: Placeholder) -> bool {
        holds(&self.0, placeholder)
    }
}

impl TryFrom<Value> for Template {
    type Error = TemplateError;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        check(&value)?;
        Ok(Self(value))
    }
}

impl From<Template> for Value {
    fn from(template: Template) -> Self {
        template.0
    }
}

fn check(value: &Value) -> Result<(), TemplateError> {
    match value {
        Value::String(text) => pieces(text).try_for_each(|piece| piece.map(|_| ())),
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(fields) => {
            fields
                .iter()
                .try_for_each(|(name, value)| match name.contains(OPEN) {
                    true => Err(TemplateError::InName(name.clone())),
                    false => check(value),
                })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn holds(value: &Value, placeholder: Placeholder) -> bool {
    match value {
        Value::String(text) => {
            pieces(text).any(|piece| piece == Ok(Piece::Placeholder(placeholder)))
        }
        Value::Array(items) => items.iter().any(|item| holds(item, placeholder)),
        Value::Object(fields) => fields.values().any(|value| holds(value, placeholder)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn rendered(value: &Value, request: &PartnerRequest) -> Value {
    match value {
        Value::String(text) => rendered_text(text, request),
        Value::Array(items) => items.iter().map(|item| rendered(item, request)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), rendered(value, request)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn rendered_text(text: &str, request: &PartnerRequest) -> Value {
    let pieces: Vec<Piece<'_>> = pieces(text).filter_map(Result::ok).collect();
    if let [Piece::Placeholder(Placeholder::Livemode)] = pieces.as_slice() {
        return Value::Bool(request.livemode);
    }
    let text = |piece| match piece {
        Piece::Text(text) => text,
        Piece::Placeholder(placeholder) => Placeholder::value(placeholder, request),
    };
    // One pass: a placeholder inside a value is not replaced.
    Value::String(pieces.into_iter().map(text).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    Placeholder(Placeholder),
}

fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>, TemplateError>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(inner) = rest.strip_prefix(OPEN) else {
            let (literal, after) = rest.split_at(rest.find(OPEN).unwrap_or(rest.len()));
            rest = after;
            return Some(Ok(Piece::Text(literal)));
        };
        let Some((name, after)) = inner.split_once(CLOSE) else {
            rest = "";
            return Some(Err(TemplateError::Open));
        };
        let whole = rest
            .get(..rest.len().saturating_sub(after.len()))
            .unwrap_or_default();
        rest = after;
        let known = Placeholder::ALL
            .into_iter()
            .find(|known| known.as_str() == whole);
        Some(
            known
                .map(Piece::Placeholder)
                .ok_or_else(|| TemplateError::Unknown(name.to_owned())),
        )
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn request() -> PartnerRequest {
        PartnerRequest {
            reference: "sub-1".to_owned(),
            code: "{{phone}}\"\\".to_owned(),
            phone: "+255712345678".to_owned(),
            campaign: "demo".to_owned(),
            livemode: true,
        }
    }

    fn render(value: Value) -> Value {
        Template::try_from(value)
            .expect("a template")
            .render(&request())
    }

    fn error(value: Value) -> String {
        Template::try_from(value)
            .expect_err("no template")
            .to_string()
    }

    #[test]
    fn placeholders_are_replaced_once_wherever_a_value_is() {
        assert_eq!(
            render(json!({
                "a": ["{{reference}}", { "b": "x {{campaign}}/{{phone}} y" }],
                "code": "{{code}}", "n": 1, "f": 1.5, "z": null, "t": true, "brace": "}} {",
            })),
            json!({
                "a": ["sub-1", { "b": "x demo/+255712345678 y" }],
                "code": "{{phone}}\"\\", "n": 1, "f": 1.5, "z": null, "t": true, "brace": "}} {",
            })
        );
    }

    #[test]
    fn livemode_alone_is_a_boolean_and_text_inside_text() {
        assert_eq!(
            render(json!([
                "{{livemode}}",
                "live: {{livemode}}",
                "{{livemode}}{{livemode}}"
            ])),
            json!([true, "live: true", "truetrue"])
        );
    }

    #[test]
    fn a_test_is_not_meant_seriously() {
        let request = PartnerRequest {
            livemode: false,
            ..request()
        };
        let template =
            Template::try_from(json!(["{{livemode}}", "live: {{livemode}}"])).expect("a template");
        assert_eq!(template.render(&request), json!([false, "live: false"]));
    }

    #[test]
    fn what_cannot_render_is_named() {
        assert_eq!(
            error(json!({ "a": ["{{cod}}"] })),
            "has the placeholder `{{cod}}`, which stands for nothing; there are `{{reference}}`, `{{code}}`, \
             `{{phone}}`, `{{campaign}}`, `{{livemode}}`"
        );
        for unknown in [
            "{{}}",
            "{{Code}}",
            "{{ code }}",
            "{{{code}}}",
            "{{code}} {{x}}",
        ] {
            assert!(
                error(json!(unknown)).starts_with("has the placeholder"),
                "{unknown}"
            );
        }
        assert_eq!(
            error(json!("{{code")),
            "has a placeholder that begins with `{{` and does not end with `}}`"
        );
        assert_eq!(
            error(json!({ "{{code}}": 1 })),
            "has a placeholder in the name of the field `{{code}}`; placeholders go into values"
        );
    }

    #[test]
    fn it_knows_what_it_holds() {
        let template =
            Template::try_from(json!({ "a": [{ "b": "x{{code}}" }] })).expect("a template");
        assert!(template.holds(Placeholder::Code) && !template.holds(Placeholder::Phone));
        assert!(serde_json::from_str::<Template>("\"{{x}}\"").is_err());
    }

    fn some_json() -> impl Strategy<Value = Value> {
        let text = prop::collection::vec(
            prop::sample::select(vec![
                "{{code}}",
                "{{phone}}",
                "{{reference}}",
                "{{campaign}}",
                "{{livemode}}",
                "{",
                "}}",
                "{{",
                "x",
                "é",
            ]),
            0..6,
        )
        .prop_map(|parts| Value::String(parts.concat()));
        let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::Bool), text];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec(("[a-z{]{0,4}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_is_left_to_replace(json in some_json(), livemode in any::<bool>()) {
            if let Ok(template) = Template::try_from(json) {
                let request = PartnerRequest { code: "K7M2".to_owned(), livemode, ..request() };
                let body = template.render(&request);
                prop_assert!(!texts(&body).iter().any(|text| text.contains("{{")), "{body}");
            }
        }

        #[test]
        fn a_text_is_a_template_or_is_refused(text in "(\\{|\\}|code|phone|é| ){0,12}") {
            let _ = Template::try_from(Value::String(text)).map(|template| template.render(&request()));
        }
    }

    fn texts(value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(items) => items.iter().flat_map(texts).collect(),
            Value::Object(fields) => fields
                .keys()
                .cloned()
                .chain(fields.values().flat_map(texts))
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        }
    }
}
