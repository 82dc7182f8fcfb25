//! What is wrong with a file that an operator wrote, and where.

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;

use crate::words::printable;

/// One thing that is wrong in a file. It reads `chai.yaml:7: limits.phone_daily must be ...`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, as the operator named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The field, such as `limits.phone_daily`; none when it is the file as a whole.
    pub field: Option<String>,
    /// What is wrong and what to do; it goes on where the field's name ends.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, field, message } = self;
        match field {
            Some(field) => write!(f, "{file}:{line}: {field} {message}"),
            None => write!(f, "{file}:{line}: {message}"),
        }
    }
}

/// Collects the problems of one file, so that an operator learns of all of them at once.
#[derive(Debug)]
pub(crate) struct Problems {
    file: String,
    found: RefCell<Vec<Problem>>,
}

impl Problems {
    /// None yet.
    pub(crate) fn of_file(file: &str) -> Self {
        Self { file: file.to_owned(), found: RefCell::default() }
    }

    /// One more, with a field.
    pub(crate) fn add(&self, line: usize, field: &str, message: impl Into<String>) {
        self.push(line, Some(field.to_owned()), message.into());
    }

    /// One more, of the line as a whole.
    pub(crate) fn add_line(&self, line: usize, message: impl Into<String>) {
        self.push(line, None, message.into());
    }

    fn push(&self, line: usize, field: Option<String>, message: String) {
        let (file, field, message) =
            (self.file.clone(), field.as_deref().map(printable), printable(&message));
        self.found.borrow_mut().push(Problem { file, line, field, message });
    }

    /// How many so far.
    pub(crate) fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// All of them, from the first line to the last.
    pub(crate) fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|problem| problem.line);
        found
    }
}
