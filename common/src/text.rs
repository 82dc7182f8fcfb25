//! Macros for types that are text in records, keys and replies.

/// Enum of names with texts.
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

            /// The text in records, keys and replies.
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

/// Stores a type as its text.
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

/// Keeps values out of logs.
macro_rules! masked_debug {
    ($type:ident) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("***")
            }
        }
    };
}
