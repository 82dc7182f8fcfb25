/// An enum of texts: `as_str`, `ALL`, and the same texts in JSON.
#[macro_export]
macro_rules! text_enum {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name { $($(#[$doc])* #[serde(rename = $text)] $variant,)+ }

        impl $name {
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|this| this.as_str() == text);
                found.ok_or_else(|| {
                    let known = Self::ALL.map(|this| format!("`{this}`")).join(", ");
                    format!("`{text}` is none of {known}")
                })
            }
        }
    };
}

macro_rules! stored_as_text {
    ($type:ident, |$value:ident| $text:expr) => {
        impl TryFrom<String> for $type {
            type Error = <Self as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from($value: $type) -> Self {
                $text
            }
        }
    };
}

/// A name of 1 to 64 of `a-z`, `0-9` and inner `-`.
macro_rules! slug_text {
    ($(#[$about:meta])* $type:ident, $what:literal, $example:literal) => {
        $(#[$about])*
        #[derive(
            Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let slug = $crate::domain::scope::parse_slug(text).map(Self);
                let example = concat!(
                    $what, " is 1 to 64 of a-z, 0-9 and inner dashes, such as `", $example, "`",
                );
                slug.ok_or_else(|| example.to_owned())
            }
        }

        stored_as_text!($type, |slug| slug.0);

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Keeps a secret or personal data out of logs.
macro_rules! masked_debug {
    ($type:ident) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("***")
            }
        }
    };
}
