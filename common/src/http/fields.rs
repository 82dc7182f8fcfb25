use std::cell::RefCell;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::domain::code::InvalidCode;
use crate::domain::unicode::{has_control, is_format, stripped};
use crate::domain::{Code, Phone};
use crate::error::{Error, ErrorCode, FieldProblem};

#[derive(Debug, Default)]
pub struct Problems(RefCell<Vec<(ErrorCode, FieldProblem)>>);

impl Problems {
    pub fn note(&self, path: &str, message: impl Into<String>) {
        self.note_as(ErrorCode::ValidationFailed, path, message);
    }

    /// `code` is the error if this problem is the first.
    pub fn note_as(&self, code: ErrorCode, path: &str, message: impl Into<String>) {
        let problem = FieldProblem {
            field: path.to_owned(),
            message: message.into(),
        };
        self.0.borrow_mut().push((code, problem));
    }

    /// The error is the first problem; `validation_failed` lists all.
    pub fn check(self) -> Result<(), Error> {
        let problems = self.0.into_inner();
        match problems.first() {
            None => Ok(()),
            Some((ErrorCode::ValidationFailed, _)) => Err(Error::fields(
                problems.into_iter().map(|(_, problem)| problem).collect(),
            )),
            Some((code, problem)) => Err(Error::from(*code).with_field(problem.field.as_str())),
        }
    }
}

/// `None` stands for an absent, null or wrong field. Fields are read in the order of the reference:
/// the first problem decides the error.
#[derive(Clone)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
    problems: &'a Problems,
}

impl<'a> Fields<'a> {
    pub fn new(object: &'a Map<String, Value>, problems: &'a Problems) -> Self {
        Self {
            object,
            path: String::new(),
            problems,
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}{name}", self.path)
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub fn note(&self, name: &str, expected: &str) {
        self.note_as(ErrorCode::ValidationFailed, name, expected);
    }

    pub fn note_as(&self, code: ErrorCode, name: &str, expected: &str) {
        let path = self.path(name);
        self.problems
            .note_as(code, &path, format!("`{path}` must be {expected}."));
    }

    pub fn required<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Self, &str) -> Option<T>,
    ) -> Option<T> {
        if self.value(name).is_none() {
            let path = self.path(name);
            self.problems.note(&path, format!("`{path}` is missing."));
            return None;
        }
        read(self, name)
    }

    pub fn text(&self, name: &str, chars: RangeInclusive<usize>) -> Option<&'a str> {
        let text = self.value(name)?.as_str().map(str::trim);
        if text.is_some_and(|text| text.contains(char::is_control)) {
            self.note_control_characters(name);
            return None;
        }
        self.of_length(name, &chars, text)
    }

    /// Removes format characters and surrounding white space.
    fn typed(&self, name: &str, chars: &RangeInclusive<usize>) -> Option<String> {
        let visible = |text: &str| stripped(text).chars().filter(|c| !is_format(*c)).collect();
        self.of_length(name, chars, self.value(name)?.as_str().map(visible))
    }

    fn of_length<T: AsRef<str>>(
        &self,
        name: &str,
        chars: &RangeInclusive<usize>,
        text: Option<T>,
    ) -> Option<T> {
        let text = text.filter(|text| chars.contains(&text.as_ref().chars().count()));
        if text.is_none() {
            self.note_length(name, chars);
        }
        text
    }

    fn note_length(&self, name: &str, chars: &RangeInclusive<usize>) {
        match (chars.start(), chars.end()) {
            (0, most) => self.note(name, &format!("a string of at most {most} characters")),
            (least, most) => self.note(name, &format!("a string of {least} to {most} characters")),
        }
    }

    fn note_control_characters(&self, name: &str) {
        self.note(name, "a string without control characters");
    }

    pub fn parsed<T>(
        &self,
        name: &str,
        chars: RangeInclusive<usize>,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.text(name, chars)?);
        if value.is_none() {
            self.note(name, expected);
        }
        value
    }

    pub fn integer(&self, name: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let number = whole(self.value(name)?).and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            self.note(
                name,
                &format!("a whole number from {} to {}", range.start(), range.end()),
            );
        }
        number
    }

    /// Numbers beyond `u64` become its maximum.
    pub fn positive(&self, name: &str) -> Option<u64> {
        let number = whole(self.value(name)?).filter(|number| *number > 0);
        if number.is_none() {
            self.note(name, "a whole number greater than 0");
        }
        number
    }

    pub fn is_true(&self, name: &str) -> bool {
        self.object.get(name) == Some(&Value::Bool(true))
    }

    pub fn object(&self, name: &str) -> Option<Fields<'a>> {
        let object = self.value(name)?.as_object();
        if object.is_none() {
            self.note(name, "an object");
        }
        let path = format!("{}.", self.path(name));
        object.map(|object| Fields {
            object,
            path,
            problems: self.problems,
        })
    }

    pub fn each<T>(
        &self,
        name: &str,
        limit: usize,
        read: impl Fn(&Fields<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let list = self
            .value(name)?
            .as_array()
            .filter(|list| list.len() <= limit);
        let Some(list) = list else {
            self.note(name, &format!("a list of at most {limit} objects"));
            return None;
        };
        let item = |(index, value): (usize, &'a Value)| {
            let name = format!("{name}[{index}]");
            let Some(object) = value.as_object() else {
                self.note(&name, "an object");
                return None;
            };
            read(&Fields {
                object,
                path: format!("{}.", self.path(&name)),
                problems: self.problems,
            })
        };
        let items: Vec<Option<T>> = list.iter().enumerate().map(item).collect();
        items.into_iter().collect()
    }

    pub fn code(&self, name: &str) -> Option<Code> {
        match self.value(name)?.as_str().map(str::parse) {
            Some(Ok(code)) => return Some(code),
            Some(Err(InvalidCode::ControlCharacter)) => self.note_control_characters(name),
            Some(Err(InvalidCode::Blank)) => {
                self.note(name, "a code, of more than spaces and dashes")
            }
            Some(Err(InvalidCode::Length)) | None => self.note_length(name, &Code::CHARS),
        }
        None
    }

    pub fn receipt_code(&self, name: &str, chars: &RangeInclusive<usize>) -> Option<String> {
        let code = self.typed(name, chars)?;
        if has_control(&code) {
            self.note_control_characters(name);
            return None;
        }
        Some(code)
    }

    pub fn phone(&self, name: &str) -> Option<Phone> {
        self.phone_or(name, ErrorCode::PhoneInvalid)
    }

    /// `code` is the error for a text of the right length.
    pub fn phone_or(&self, name: &str, code: ErrorCode) -> Option<Phone> {
        let phone = self.typed(name, &Phone::TYPED_CHARS)?.parse().ok();
        if phone.is_none() {
            self.note_as(code, name, "a Tanzanian mobile number");
        }
        phone
    }
}

/// JSON does not distinguish 5 and 5.0. Numbers beyond `u64` become its maximum.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value
            .as_f64()
            .filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
        // Without a fraction, only its size can make it unreadable.
        Some(format!("{:.0}", number.abs()).parse().unwrap_or(u64::MAX))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Code, field, and places of all problems of this body.
    fn refusal(
        body: Value,
        read: impl FnOnce(&Fields<'_>),
    ) -> Option<(ErrorCode, Option<String>, Vec<String>)> {
        let problems = Problems::default();
        let object = body.as_object().expect("an object");
        read(&Fields::new(object, &problems));
        match problems.check() {
            Ok(()) => None,
            Err(Error::Refused(refusal)) => {
                let places = refusal.problems.iter().map(FieldProblem::pointer).collect();
                Some((refusal.code, refusal.field, places))
            }
            Err(Error::Internal(cause) | Error::Unavailable(cause)) => panic!("{cause}"),
        }
    }

    #[test]
    fn every_problem_is_named_with_the_path_of_its_field() {
        let body = json!({ "claimed": { "items": [{ "key": "a", "qty": 100 }, 7, { "qty": 1 }] }, "region": 7 });
        let found = refusal(body, |fields| {
            fields.text("region", 0..=80);
            let claimed = fields.object("claimed").expect("an object");
            let items = claimed.each("items", 40, |item| {
                let key = item.required("key", |item, name| item.text(name, 1..=64));
                let qty = item.required("qty", |item, name| item.integer(name, 1..=99));
                Some((key?, qty?))
            });
            assert_eq!(items, None);
        });
        let places = [
            "/region",
            "/claimed/items/0/qty",
            "/claimed/items/1",
            "/claimed/items/2/key",
        ];
        let expected = (
            ErrorCode::ValidationFailed,
            Some("region".to_owned()),
            places.map(str::to_owned).to_vec(),
        );
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn a_first_problem_with_a_code_of_its_own_is_answered_alone() {
        let found = refusal(json!({ "phone": "0812345678" }), |fields| {
            fields.phone("phone");
            fields.required("code", |fields, name| fields.text(name, 1..=64));
        });
        assert_eq!(
            found,
            Some((
                ErrorCode::PhoneInvalid,
                Some("phone".to_owned()),
                Vec::new()
            ))
        );
    }

    #[test]
    fn a_field_that_is_absent_null_or_right_is_no_problem() {
        let body = json!({ "three": "\u{e9}\u{e9}\u{e9}", "null": null });
        let found = refusal(body, |fields| {
            assert_eq!(
                fields.text("three", 1..=3),
                Some("\u{e9}\u{e9}\u{e9}"),
                "lengths count characters"
            );
            assert_eq!(fields.text("null", 1..=9), None);
            assert_eq!(fields.integer("absent", 1..=9), None);
        });
        assert_eq!(found, None);
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_of_zero() {
        let body =
            json!({ "whole": 64927.0, "half": 1.5, "less": -1.0, "huge": 1e300, "zero": -0.0 });
        let found = refusal(body, |fields| {
            assert_eq!(fields.positive("whole"), Some(64_927));
            assert_eq!(
                fields
                    .integer("half", 1..=99)
                    .or(fields.integer("less", 0..=99)),
                None
            );
            assert_eq!(
                fields.positive("huge"),
                Some(u64::MAX),
                "its value is larger than any limit"
            );
            assert_eq!(fields.integer("huge", 1..=u32::MAX), None);
            assert_eq!(fields.integer("zero", 0..=9), Some(0));
        });
        assert_eq!(found.map(|(.., places)| places.len()), Some(3));
    }

    #[test]
    fn control_characters_and_other_types_are_problems() {
        let body = json!({ "control": "x\u{0}", "line": "x\ny", "number": 7, "text": "7" });
        let found = refusal(body, |fields| {
            fields.text("control", 1..=9);
            fields.code("control");
            fields.receipt_code("control", &(1..=9));
            fields.text("line", 1..=9);
            fields.text("number", 1..=9);
            fields.code("number");
            fields.integer("text", 1..=9);
            fields.positive("text");
        });
        assert_eq!(found.map(|(.., places)| places.len()), Some(8));
    }

    #[test]
    fn what_is_stripped_does_not_count() {
        let body = json!({ "text": "\t\u{2028}abc\r\n", "code": "\u{200b} AB\tC\u{ad}\n", "blank": "\u{2014}" });
        let found = refusal(body, |fields| {
            assert_eq!(fields.text("text", 3..=3), Some("abc"));
            assert_eq!(
                fields.receipt_code("code", &(4..=4)).as_deref(),
                Some("AB\tC")
            );
            assert_eq!(
                fields.code("code").map(|code| code.normal()).as_deref(),
                Some("ABC")
            );
            assert_eq!(fields.code("blank"), None);
        });
        assert_eq!(
            found.map(|(_, field, _)| field),
            Some(Some("blank".to_owned()))
        );
    }

    #[test]
    fn foreign_phone_is_told_from_a_text_that_is_none() {
        let code = |phone: &str| {
            refusal(json!({ "phone": phone }), |fields| {
                drop(fields.phone("phone"))
            })
        };
        let refused = |phone: &str| code(phone).map(|(code, ..)| code);
        assert_eq!(
            refused(" 07123456 \u{200b}\u{200b}"),
            Some(ErrorCode::ValidationFailed)
        );
        assert_eq!(refused("0712345678\u{0}"), Some(ErrorCode::PhoneInvalid));
        assert_eq!(
            refused("\u{202a}\u{202a}\u{202a}0712\t345\u{2011}678\u{202c}\u{202c}\u{202c}"),
            None
        );
    }
}
