//! Checks and describes a file of codes before they are imported. Writes nothing.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashSet};
use std::hash::BuildHasher;

use common::domain::code_list::CodeList;
use common::domain::code_record::CodeKey;
use common::domain::codebook::{ACCEPTABLE_ODDS, CodeBook};
use common::domain::scope::Scope;
use common::error::StoreError;
use common::store::codes::Codes;
use futures_util::{StreamExt, stream};
use sha2::{Digest, Sha256};

use super::import::{ImportRequest, batch_to_fill, is_void, refuse_minted_lengths};
use super::{MAX_CONCURRENCY, PART, book};
use crate::column::CheckedColumn;
use crate::failure::Failure;
use crate::format::{grouped, one_guess_in};
use crate::problem::Problems;
use crate::tables::Tables;

/// Codes remembered at once to find repeated ones: about 20 MB. A longer file is read several times.
const MAX_REMEMBERED: u64 = 1_000_000;

/// A shorter list is imported only with a special option: it may be counted up behind a word, and does not show it.
const MIN_CODES: u64 = 100;

/// The result of checking a file that can be imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Number of codes in the file.
    pub count: u64,
    /// How many of them repeat a code on an earlier line.
    pub repeated: u64,
    /// Those of the others that were imported before.
    pub known: AlreadyImported,
    /// Its characters and lengths.
    pub list: CodeList,
    /// The digest of all codes, in their order.
    pub digest: String,
    /// True if an import of the file was cut short, or is running.
    pub is_begun: bool,
    /// The lines of the file by the length of their code, shortest first.
    pub lengths: Vec<CodesOfLength>,
    /// The valid imported codes of the scope, once these are imported.
    pub imported_codes: u64,
}

impl Checked {
    /// The number of codes that would be imported.
    pub fn new_codes(&self) -> u64 {
        self.count.saturating_sub(self.repeated + self.known.count)
    }

    /// The odds that a guess at a text of the list's alphabet and shortest length is an imported code.
    pub fn odds_of_a_guess(&self) -> f64 {
        self.list.odds_of_a_guess(self.imported_codes)
    }
}

/// Codes of a file that were imported before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlreadyImported {
    /// Number of such codes.
    pub count: u64,
    /// How many of them are void.
    pub void: u64,
}

/// The lines whose codes have one length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodesOfLength {
    /// Characters of a code.
    pub length: usize,
    /// Number of lines.
    pub count: u64,
    /// The first of these lines.
    pub first: Sample,
    /// The last of these lines.
    pub last: Sample,
}

/// A line whose code can be recognised in the file, but not entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The line, from 1.
    pub line: usize,
    /// The code without most of its characters, such as `KE••••01`.
    pub masked: String,
}

/// Checks a file of codes. Calls `progress` with the number of codes that were looked up, and that of all codes.
pub async fn check(
    tables: &Tables,
    scope: &Scope,
    request: ImportRequest<'_>,
    progress: impl FnMut(u64, u64),
) -> Result<Checked, Failure> {
    let book = book::read(&tables.code_books, scope).await?;
    let mut seen = FileScan::default();
    let check_part = async |part: Vec<(usize, String)>, problem: &mut dyn FnMut(usize, &str)| {
        for (line, code) in part {
            if !code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                problem(
                    line,
                    "this code has other characters than the letters A to Z and digits; remove it",
                );
            }
            seen.add(line, code);
        }
        Ok(())
    };
    let CheckedColumn { count, has_heading } = request.codes.check_all(PART, check_part).await?;
    if !has_heading {
        seen.refuse_heading(request, count)?;
    }
    let digest = hex::encode(seen.digest.finalize());
    let lengths: Vec<_> = seen
        .lengths
        .into_iter()
        .map(|(length, lines)| lines.describe(length))
        .collect();
    refuse_minted_lengths(&book, &lengths)?;
    batch_to_fill(&mut book.clone(), request, &digest)?;
    let mut checked = Checked {
        count,
        repeated: 0,
        known: AlreadyImported::default(),
        list: seen.list,
        is_begun: book.begun_import(&digest).is_some(),
        digest,
        lengths,
        imported_codes: 0,
    };
    find_duplicates(
        tables.codes(),
        scope,
        &book,
        request,
        &mut checked,
        progress,
    )
    .await?;
    checked.imported_codes = book.imported_codes().saturating_add(checked.new_codes());
    if checked.new_codes() > 0 && !request.allow_weak {
        refuse_weak(&checked)?;
    }
    Ok(checked)
}

fn refuse_weak(checked: &Checked) -> Result<(), Failure> {
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

/// What was seen of a file's codes.
#[derive(Default)]
struct FileScan {
    list: CodeList,
    digest: Sha256,
    lengths: BTreeMap<usize, LinesOfLength>,
    first: Option<(usize, String)>,
    without_digits: u64,
}

struct LinesOfLength {
    count: u64,
    first: (usize, String),
    last: Option<(usize, String)>,
}

impl FileScan {
    fn add(&mut self, line: usize, code: String) {
        self.list.add(&code);
        self.digest.update(&code);
        self.digest.update(b"\n");
        self.without_digits += u64::from(has_no_digits(&code));
        if self.first.is_none() {
            self.first = Some((line, code.clone()));
        }
        match self.lengths.get_mut(&code.len()) {
            Some(lines) => {
                lines.count += 1;
                lines.last = Some((line, code));
            }
            None => {
                self.lengths.insert(
                    code.len(),
                    LinesOfLength {
                        count: 1,
                        first: (line, code),
                        last: None,
                    },
                );
            }
        }
    }

    /// Refuses a first line that is probably the heading of its column: the only one without digits.
    fn refuse_heading(&self, request: ImportRequest<'_>, count: u64) -> Result<(), Failure> {
        let first = self.first.as_ref().filter(|(_, code)| has_no_digits(code));
        let Some((line, _)) = first.filter(|_| self.without_digits == 1 && count > 1) else {
            return Ok(());
        };
        let problems = Problems::from_file(&request.codes.path.display().to_string());
        problems.add_line(
            *line,
            "this is probably the heading of the column, since all other lines have digits; say so with --column, or \
             put a line with the word code above it if it is a code",
        );
        Err(Failure::from_problems(
            request.codes.values.invalid,
            problems.into_sorted(),
        ))
    }
}

fn has_no_digits(code: &str) -> bool {
    !code.bytes().any(|byte| byte.is_ascii_digit())
}

impl LinesOfLength {
    fn describe(self, length: usize) -> CodesOfLength {
        let sample = |(line, code): &(usize, String)| Sample {
            line: *line,
            masked: masked(code),
        };
        let first = sample(&self.first);
        let last = self.last.as_ref().map_or_else(|| first.clone(), sample);
        CodesOfLength {
            length,
            count: self.count,
            first,
            last,
        }
    }
}

/// The ends of a code, at most half of its characters.
fn masked(code: &str) -> String {
    /// Characters shown at each end.
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

/// Counts the codes that the file repeats, and those that are imported already.
async fn find_duplicates(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    request: ImportRequest<'_>,
    checked: &mut Checked,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), Failure> {
    let (hasher, mut looked_up) = (RandomState::new(), 0);
    let rounds = checked.count.div_ceil(MAX_REMEMBERED).max(1);
    for round in 0..rounds {
        let mut remembered = HashSet::new();
        let mut lines = request.codes.open()?;
        loop {
            let part = lines.next_values(PART)?;
            if part.is_empty() {
                break;
            }
            let mut distinct = Vec::new();
            for code in part {
                let hash = hasher.hash_one(&code);
                if hash % rounds != round {
                    continue;
                }
                if remembered.insert(hash) {
                    distinct.push(code);
                } else {
                    checked.repeated += 1;
                }
            }
            looked_up += u64::try_from(distinct.len()).unwrap_or(u64::MAX);
            count_known(codes, scope, book, distinct, checked).await?;
            progress(looked_up, checked.count);
        }
    }
    Ok(())
}

async fn count_known(
    codes: &Codes,
    scope: &Scope,
    book: &CodeBook,
    distinct: Vec<String>,
    checked: &mut Checked,
) -> Result<(), Failure> {
    if book.likely_imported_batch().is_none() {
        return Ok(());
    }
    let lookups = distinct.into_iter().map(|code| async move {
        let key = CodeKey::Imported {
            digest: book.digest(&code),
            batch: String::new(),
        };
        let record = codes
            .get(scope, &key)
            .await?
            .filter(|record| record.batch.is_some());
        Ok::<_, StoreError>(record.map(|record| is_void(book, &record)))
    });
    let mut lookups = stream::iter(lookups).buffer_unordered(MAX_CONCURRENCY);
    while let Some(found) = lookups.next().await {
        let Some(is_void) = found? else { continue };
        checked.known.count += 1;
        checked.known.void += u64::from(is_void);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_code_shows_at_most_half_of_it() {
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
