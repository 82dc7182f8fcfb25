//! A row's opening: its entrant's references.

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;

const FIRST_LINE: &str = "svc-draw-entry-v1";
/// References have 9 today.
const MAX_REFERENCE_BYTES: usize = 64;

/// Prevents guessing references from published hashes.
pub type Salt = [u8; 16];

/// One entrant's references and a salt; the hash is published.
#[derive(Clone, PartialEq, Eq)]
pub struct Opening {
    references: Vec<String>,
    salt: Salt,
}

/// An error that names no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOpening {
    #[error("the opening has no reference")]
    NoReference,
    #[error("a reference is not 1 to {MAX_REFERENCE_BYTES} letters, digits and dashes")]
    InvalidReference,
    #[error("a reference occurs twice for one entrant; read the entries again, each once")]
    RepeatedReference,
    #[error(
        "the text is not an opening: it has three lines, which are {FIRST_LINE}, the references joined by commas, \
         and the salt in 32 hexadecimal digits"
    )]
    Unreadable,
}

impl Opening {
    pub fn new(mut references: Vec<String>, salt: Salt) -> Result<Self, InvalidOpening> {
        if references.is_empty() {
            return Err(InvalidOpening::NoReference);
        }
        references.iter().try_for_each(|one| check_reference(one))?;
        references.sort_unstable();
        if !references.is_sorted_by(|one, next| one < next) {
            return Err(InvalidOpening::RepeatedReference);
        }
        Ok(Self { references, salt })
    }

    pub fn references(&self) -> &[String] {
        &self.references
    }

    pub fn row_hash(&self) -> Digest {
        Digest::from_parts(&[self.to_string().as_bytes()])
    }

    /// Row and opening; `None` for the header.
    pub fn from_csv_line(line: &str) -> Option<(u64, Self)> {
        let [row, references, salt] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
        let references = references.split(' ').map(str::to_owned).collect();
        Some((
            row.parse().ok()?,
            Self::new(references, parse_salt(salt)?).ok()?,
        ))
    }
}

pub(crate) fn check_reference(text: &str) -> Result<(), InvalidOpening> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=MAX_REFERENCE_BYTES).contains(&text.len()) && text.bytes().all(is_allowed) {
        Ok(())
    } else {
        Err(InvalidOpening::InvalidReference)
    }
}

fn parse_salt(text: &str) -> Option<Salt> {
    let mut salt = Salt::default();
    hex::decode_to_slice(text, &mut salt).ok()?;
    Some(salt)
}

impl fmt::Display for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{FIRST_LINE}\n{}\n{}",
            self.references.join(","),
            hex::encode(self.salt)
        )
    }
}

impl FromStr for Opening {
    type Err = InvalidOpening;

    fn from_str(text: &str) -> Result<Self, InvalidOpening> {
        let lines: Vec<_> = text.trim().lines().map(str::trim).collect();
        let [FIRST_LINE, references, salt] = lines.as_slice() else {
            return Err(InvalidOpening::Unreadable);
        };
        let salt = parse_salt(salt).ok_or(InvalidOpening::Unreadable)?;
        Self::new(references.split(',').map(str::to_owned).collect(), salt)
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(references: &[&str]) -> Result<Opening, InvalidOpening> {
        Opening::new(
            references
                .iter()
                .map(|&reference| reference.into())
                .collect(),
            [7; 16],
        )
    }

    #[test]
    fn order_of_references_does_not_matter() {
        let hashes = [&["B-1", "A-1"], &["A-1", "B-1"]]
            .map(|order| opening(order).expect("valid").row_hash());
        assert_eq!(hashes[0], hashes[1]);
    }

    #[test]
    fn references_cannot_be_read_in_two_ways() {
        assert_eq!(opening(&[]), Err(InvalidOpening::NoReference));
        assert_eq!(
            opening(&["A", "B", "A"]),
            Err(InvalidOpening::RepeatedReference)
        );
        for reference in ["", "A,B", "A\nB", "A B", "É", &"A".repeat(65)] {
            assert_eq!(
                opening(&["A", reference]),
                Err(InvalidOpening::InvalidReference),
                "{reference:?}"
            );
        }
    }

    #[test]
    fn opening_is_read_back_however_it_was_pasted() {
        let opening = opening(&["K7M2-Q9XD", "ABCD-EFGH"]).expect("valid");
        let text = opening.to_string();
        for pasted in [
            text.clone(),
            format!("  {text}\n\n"),
            text.replace('\n', " \r\n"),
        ] {
            assert_eq!(pasted.parse(), Ok(opening.clone()), "{pasted:?}");
        }
        assert_eq!(
            Opening::from_csv_line(&format!("3,ABCD-EFGH K7M2-Q9XD,{}", "07".repeat(16))),
            Some((3, opening))
        );
        for other in [
            "",
            "svc-draw-entry-v1\nA",
            "svc-draw-entry-v2\nA\n07",
            &text.replace('0', "x"),
        ] {
            assert_eq!(
                other.parse::<Opening>(),
                Err(InvalidOpening::Unreadable),
                "{other:?}"
            );
        }
    }

    #[test]
    fn opening_is_not_printed_by_accident() {
        assert_eq!(format!("{:?}", opening(&["K7M2-Q9XD"])), "Ok(Opening(***))");
    }
}
