//! A million codes take some 20 MB.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use common::domain::code_list::CodeList;
use common::domain::codebook::ACCEPTABLE_ODDS;
use sha2::{Digest, Sha256};

use super::import::{ImportRequest, batch_to_fill, is_void, refuse_minted_lengths};
use super::{MAX_CONCURRENCY, PART, book};
use crate::column::CheckedColumn;
use crate::prelude::*;

/// Shorter lists may be a word with a counter, and do not show it.
const MIN_CODES: u64 = 100;

#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub count: u64,
    /// Lines that repeat an earlier one.
    pub repeated: u64,
    /// Codes imported before, and not repeated here.
    pub known: u64,
    pub known_void: u64,
    pub list: CodeList,
    pub digest: String,
    pub is_begun: bool,
    /// Shortest first.
    pub lengths: Vec<CodesOfLength>,
    /// The scope's valid codes after this import.
    pub imported_codes: u64,
}

impl Checked {
    pub fn new_codes(&self) -> u64 {
        self.count.saturating_sub(self.repeated + self.known)
    }

    pub fn is_known(&self) -> bool {
        self.new_codes() == 0 && !self.is_begun
    }

    pub fn odds_line(&self) -> String {
        format!(
            "{} would be right: {} imported codes, and {} texts are made like the shortest of these.",
            one_guess_in(self.odds_of_a_guess()),
            grouped(self.imported_codes),
            grouped(self.list.texts())
        )
    }

    /// Remarks for an operator to look at before the codes are imported.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.repeated > 0 {
            let repeated = grouped(self.repeated);
            remarks.push(format!(
                "{repeated} lines repeat a code of an earlier line."
            ));
        }
        let characters = self.list.characters();
        if self.lengths.len() > 1 && characters.bytes().all(|byte| byte.is_ascii_digit()) {
            remarks.push(
                "These are numbers of different lengths. If your codes begin with zeros, a spreadsheet may have dropped them."
                    .to_owned(),
            );
        }
        remarks
    }

    /// Odds in the list's alphabet and shortest length.
    pub(crate) fn odds_of_a_guess(&self) -> f64 {
        self.list.odds_of_a_guess(self.imported_codes)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodesOfLength {
    pub length: usize,
    pub count: u64,
    pub first: Sample,
    pub last: Sample,
}

/// Recognisable in the file, but cannot be entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    pub line: usize,
    /// Such as `KE••••01`.
    pub code: String,
}

/// `progress` gets the number of lines checked.
pub async fn check(
    tables: &Tables,
    scope: &Scope,
    request: &ImportRequest,
    mut progress: impl FnMut(u64),
) -> Result<Checked> {
    let book = book::read(&tables.code_books, scope).await?;
    let (mut seen, mut remembered, hasher) =
        (FileScan::default(), HashSet::new(), RandomState::new());
    let [mut checked, mut repeated, mut known, mut known_void] = [0; 4];
    let check_part = async |part: Vec<(usize, String)>, problem: &mut dyn FnMut(usize, &str)| {
        let mut distinct = Vec::new();
        for (line, code) in part {
            if !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                problem(
                    line,
                    "this code has other characters than the letters A to Z and digits; remove it",
                );
            }
            seen.add(line, &code);
            checked += 1;
            if remembered.insert(hasher.hash_one(&code)) {
                distinct.push(code);
            } else {
                repeated += 1;
            }
        }
        let [more, more_void] = count_known(tables.codes(), scope, &book, distinct).await?;
        known += more;
        known_void += more_void;
        progress(checked);
        Ok::<_, Failure>(())
    };
    let CheckedColumn { count, has_heading } = request.codes().check_all(PART, check_part).await?;
    if !has_heading {
        seen.refuse_heading(request, count)?;
    }
    let digest = hex::encode(seen.digest.finalize());
    let lengths: Vec<_> = seen.lengths.into_values().collect();
    refuse_minted_lengths(&book, &lengths)?;
    batch_to_fill(&mut book.clone(), request, &digest)?;
    let mut checked = Checked {
        count,
        repeated,
        known,
        known_void,
        list: seen.list,
        is_begun: book.begun_import(&digest).is_some(),
        digest,
        lengths,
        imported_codes: 0,
    };
    checked.imported_codes = book.imported_codes().saturating_add(checked.new_codes());
    if checked.new_codes() > 0 && !request.allow_weak {
        refuse_weak(&checked)?;
    }
    Ok(checked)
}

fn refuse_weak(checked: &Checked) -> Result<()> {
    let distinct = checked.count.saturating_sub(checked.repeated);
    let message = if distinct < MIN_CODES {
        format!(
            "the list has {distinct} codes, and fewer than {MIN_CODES} show too little of how they are made to say if they \
             can be guessed; if they are random, say --allow-weak"
        )
    } else if checked.odds_of_a_guess() > ACCEPTABLE_ODDS {
        format!(
            "{} would be right, and {} is accepted: there would be {} imported codes, and {} texts are made like the \
             shortest of this list; print longer codes with random characters, or say --allow-weak",
            one_guess_in(checked.odds_of_a_guess()),
            one_guess_in(ACCEPTABLE_ODDS),
            grouped(checked.imported_codes),
            grouped(checked.list.texts()),
        )
    } else {
        return Ok(());
    };
    Err(Failure::new("codes_too_weak", message))
}

#[derive(Default)]
struct FileScan {
    list: CodeList,
    digest: Sha256,
    lengths: BTreeMap<usize, CodesOfLength>,
    first_without_digits: Option<usize>,
    with_digits: u64,
}

impl FileScan {
    fn add(&mut self, line: usize, code: &str) {
        let has_digits = code.bytes().any(|byte| byte.is_ascii_digit());
        if self.lengths.is_empty() && !has_digits {
            self.first_without_digits = Some(line);
        }
        self.with_digits += u64::from(has_digits);
        self.list.add(code);
        self.digest.update(code);
        self.digest.update(b"\n");
        let sample = Sample {
            line,
            code: masked(code),
        };
        let length = code.len();
        let of_length = self.lengths.entry(length);
        let of_length = of_length.or_insert_with(|| CodesOfLength {
            length,
            count: 0,
            first: sample.clone(),
            last: sample.clone(),
        });
        of_length.count += 1;
        of_length.last = sample;
    }

    /// A heading is probable if only the first line has no digits.
    fn refuse_heading(&self, request: &ImportRequest, count: u64) -> Result<()> {
        let all_others = count > 1 && self.with_digits + 1 == count;
        let Some(line) = self.first_without_digits.filter(|_| all_others) else {
            return Ok(());
        };
        let problems = Problems::from_file(&request.file.display().to_string());
        problems.add_line(
            line,
            "this is probably the heading of the column, since all other lines have digits; say so with --column, or \
             put a line with the word code above it if it is a code",
        );
        let invalid = request.codes().values.invalid;
        Err(Failure::from_problems(invalid, problems.into_sorted()))
    }
}

fn masked(code: &str) -> String {
    const MAX_SHOWN: usize = 2;
    let length = code.chars().count();
    let shown = (length / 4).min(MAX_SHOWN);
    let mask = |(index, c): (usize, char)| {
        if index < shown || index >= length - shown {
            c
        } else {
            '•'
        }
    };
    code.chars().enumerate().map(mask).collect()
}

async fn count_known(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    distinct: Vec<String>,
) -> Result<[u64; 2]> {
    let mut counts = [0; 2];
    if book.likely_imported_batch().is_none() {
        return Ok(counts);
    }
    let lookups = distinct.into_iter().map(|code| async move {
        let key = CodeKey::Imported {
            digest: book.digest(&code),
            batch: String::new(),
        };
        codes.get(scope, &key).await
    });
    let mut lookups = stream::iter(lookups).buffer_unordered(MAX_CONCURRENCY);
    let [known, void] = &mut counts;
    while let Some(found) = lookups.next().await {
        if let Some(record) = found?.filter(|record| record.batch.is_some()) {
            *known += 1;
            *void += u64::from(is_void(book, &record));
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_code_shows_at_most_half() {
        for (code, shown) in [
            ("AB", "••"),
            ("ABC", "•••"),
            ("ABC123", "A••••3"),
            ("KETTLE01", "KE••••01"),
            ("KETTLE0000001", "KE•••••••••01"),
        ] {
            assert_eq!(masked(code), shown);
        }
    }
}
