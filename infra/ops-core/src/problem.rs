use std::cell::RefCell;
use std::fmt;

use crate::prelude::*;

/// Prints as `chai.yaml:7: limits.phone_daily must be ...`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub file: String,
    pub line: usize,
    /// `None` for the whole line or file.
    pub field: Option<String>,
    /// The problem and its remedy; continues the sentence that `field` begins.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            field,
            message,
        } = self;
        match field {
            Some(field) => write!(f, "{file}:{line}: {field} {message}"),
            None => write!(f, "{file}:{line}: {message}"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Problems {
    file: String,
    found: RefCell<Vec<Problem>>,
}

impl Problems {
    pub(crate) fn from_file(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            found: RefCell::default(),
        }
    }

    pub(crate) fn add(&self, line: usize, field: &str, message: impl Into<String>) {
        self.push(line, Some(field.to_owned()), message.into());
    }

    pub(crate) fn add_line(&self, line: usize, message: impl Into<String>) {
        self.push(line, None, message.into());
    }

    fn push(&self, line: usize, field: Option<String>, message: String) {
        let (file, field, message) = (
            self.file.clone(),
            field.as_deref().map(printable),
            printable(&message),
        );
        self.found.borrow_mut().push(Problem {
            file,
            line,
            field,
            message,
        });
    }

    pub(crate) fn count(&self) -> usize {
        self.found.borrow().len()
    }

    pub(crate) fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|problem| problem.line);
        found
    }
}
