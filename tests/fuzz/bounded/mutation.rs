//! Inputs made from samples by a few changes.

use std::fmt;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;

const MAX_EDITS: usize = 8;
const MAX_BYTES: usize = 80 * 1024;

/// Text with a meaning to some parser.
const TOKENS: &[&str] = &[
    "",
    "\0",
    "\u{1b}[31m",
    "\r\n",
    "\n",
    "\t",
    " ",
    "\u{a0}",
    "\u{feff}",
    "\u{202e}",
    "é",
    "ß",
    "İ",
    "ŉ",
    "🧉",
    "\u{308}",
    "\"",
    "'",
    "\\",
    "\\u0000",
    "\\ud800",
    "{",
    "}",
    "[",
    "]",
    "{}",
    "[]",
    "[[[[[[[[[[[[[[[[",
    ":",
    ",",
    ";",
    "#",
    "/",
    "//",
    "?",
    "%",
    "%00",
    "%2F",
    "&",
    "=",
    "@",
    "<",
    ">",
    "</b>",
    "<td>",
    "<!--",
    "<script>",
    "&amp;",
    "&#x0;",
    "null",
    "true",
    "false",
    "~",
    "~0",
    "~1",
    "!x",
    "&a",
    "*a",
    "|",
    ">-",
    "---\n",
    "0",
    "-0",
    "-1",
    "1.5",
    "1e999",
    ".inf",
    "0x10",
    "007",
    "255",
    "256",
    "65536",
    "4294967296",
    "9223372036854775808",
    "18446744073709551616",
    "{{code}}",
    "{{livemode}}",
    "{{x}}",
    "{{",
    "}}",
    "TEST-0-",
    "TEST0",
    "svc_test_",
    "svc_live_",
    "Bearer ",
    "+255",
    "0712345678",
    "K7M2-Q9XD-ABCD",
    "12:30",
    "12:30:60",
    "2026-02-30",
    "application/json",
    "sw;q=0.5",
    "::1",
    "127.0.0.1",
    "https://",
    "verify.tra.go.tz/",
    "_",
    "CUSTOMER",
    "RECEIPT VERIFICATION CODE",
    "TOTAL TAX",
    "1,000.00",
];

/// Prints with escapes.
#[derive(Clone, PartialEq, Eq)]
pub struct Input(pub Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

#[derive(Clone, Debug)]
enum Edit {
    Put(Index, u8),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Token(Index, Index),
    Replace(Index, u8, Index),
    Remove(Index, u8),
    Repeat(Index, u8, u8),
    Splice(Index, Index, Index, u8),
    Cut(Index),
}

pub fn inputs(samples: Vec<Vec<u8>>) -> impl Strategy<Value = Input> {
    let samples = Arc::new(samples);
    let edits = prop::collection::vec(edit(), 0..=MAX_EDITS);
    (any::<Index>(), edits).prop_map(move |(chosen, edits)| {
        let mut input = samples[chosen.index(samples.len())].clone();
        edits
            .iter()
            .for_each(|edit| edit.apply(&mut input, &samples));
        input.truncate(MAX_BYTES);
        Input(input)
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Put(at, byte)),
        1 => (at(), 0u8..8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..6)).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        3 => (at(), at()).prop_map(|(at, token)| Edit::Token(at, token)),
        3 => (at(), 0u8..24, at()).prop_map(|(at, length, token)| Edit::Replace(at, length, token)),
        2 => (at(), 1u8..48).prop_map(|(at, length)| Edit::Remove(at, length)),
        1 => (at(), 1u8..32, 1u8..100).prop_map(|(at, length, times)| Edit::Repeat(at, length, times)),
        2 => (at(), at(), at(), 1u8..64).prop_map(|(at, of, from, length)| Edit::Splice(at, of, from, length)),
        1 => (at()).prop_map(Edit::Cut),
    ]
}

impl Edit {
    fn apply(&self, input: &mut Vec<u8>, samples: &[Vec<u8>]) {
        let place = |at: &Index| at.index(input.len() + 1);
        let range = |at: &Index, length: u8| {
            let start = place(at);
            start..(start + usize::from(length)).min(input.len())
        };
        match self {
            Self::Put(at, byte) => {
                let range = range(at, 1);
                input.splice(range, [*byte]);
            }
            Self::Flip(at, bit) => {
                let at = place(at);
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            Self::Insert(at, bytes) => {
                let at = place(at);
                input.splice(at..at, bytes.iter().copied());
            }
            Self::Token(at, token) => {
                let at = place(at);
                input.splice(at..at, token.get(TOKENS).bytes());
            }
            Self::Replace(at, length, token) => {
                let range = range(at, *length);
                input.splice(range, token.get(TOKENS).bytes());
            }
            Self::Remove(at, length) => {
                let range = range(at, *length);
                input.drain(range);
            }
            Self::Repeat(at, length, times) => {
                let range = range(at, *length);
                let repeated = input[range.clone()].repeat(usize::from(*times));
                input.splice(range, repeated);
            }
            Self::Splice(at, of, from, length) => {
                let other = &samples[of.index(samples.len())];
                let start = from.index(other.len() + 1);
                let part = &other[start..(start + usize::from(*length)).min(other.len())];
                let at = place(at);
                input.splice(at..at, part.iter().copied());
            }
            Self::Cut(at) => {
                let at = place(at);
                input.truncate(at);
            }
        }
    }
}
