use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyPointers {
    pub code: Pointer,
    pub message: Option<Pointer>,
    pub entries: Option<Pointer>,
    pub prize: Option<Pointer>,
}

/// RFC 6901, such as `/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a JSON Pointer, such as `/status` or `/result/0/text`; in it, `~` is written `~0` and `/` `~1`"
)]
pub struct InvalidPointer;

impl TryFrom<String> for Pointer {
    type Error = InvalidPointer;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_escaped = text
            .split('~')
            .skip(1)
            .all(|after| after.starts_with(['0', '1']));
        if text.starts_with('/') && is_escaped {
            Ok(Self(text))
        } else {
            Err(InvalidPointer)
        }
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.0
    }
}

impl Pointer {
    /// `null` counts as missing.
    pub(super) fn find<'d>(&self, document: &'d Value) -> Option<&'d Value> {
        document.pointer(&self.0).filter(|found| !found.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_begins_with_a_slash() {
        for text in ["/", "/a", "/a/0/b", "/a~0b~1c", "/é b"] {
            assert!(Pointer::try_from(text.to_owned()).is_ok(), "{text}");
        }
        for text in ["", "a", "#/a", "/a~", "/a~2", "$.a"] {
            assert_eq!(
                Pointer::try_from(text.to_owned()),
                Err(InvalidPointer),
                "{text}"
            );
        }
    }
}
