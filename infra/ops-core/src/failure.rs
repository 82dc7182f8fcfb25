use std::error::Error as StdError;
use std::io;

use common::error::UnreadableRecord;

use crate::problem::Problem;

/// The message says what to do next, and contains no phone, code or key.
#[derive(Debug, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Stable, such as `campaign_unknown`.
    pub code: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

impl Failure {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            problems: Vec::new(),
        }
    }

    /// The message counts the problems.
    pub fn from_problems(code: &'static str, problems: Vec<Problem>) -> Self {
        let things = if problems.len() == 1 {
            "problem; correct it"
        } else {
            "problems; correct them"
        };
        let message = format!(
            "nothing was changed: {} {things} and run this again",
            problems.len()
        );
        Self {
            code,
            message,
            problems,
        }
    }

    /// `undone` says what was not done.
    pub fn unreadable(undone: &str, records: &[UnreadableRecord]) -> Self {
        /// More tell nothing new.
        const MAX_NAMED: usize = 100;
        let named: Vec<_> = records
            .iter()
            .take(MAX_NAMED)
            .map(|one| format!("\n  {one}: {}", one.reason))
            .collect();
        let (these, them) = match records.len() {
            1 => ("a record cannot be read".to_owned(), "it"),
            count => (format!("{count} records cannot be read"), "them"),
        };
        let rest = if records.len() > MAX_NAMED {
            "\n  and others"
        } else {
            ""
        };
        let message = format!(
            "{undone}, because {these}:{}{rest}\nIf a newer release wrote {them}, run this with its `ops`; otherwise restore {them} \
             (infra/docs/runbook.md#unreadable-records)",
            named.concat()
        );
        Self::new("records_unreadable", message)
    }

    pub fn check_readable(undone: &str, records: &[UnreadableRecord]) -> Result<(), Self> {
        if records.is_empty() {
            Ok(())
        } else {
            Err(Self::unreadable(undone, records))
        }
    }

    /// The failure of `doing`, such as `reading`, a file.
    pub fn from_io(path: &Path, doing: &str) -> impl Fn(io::Error) -> Self {
        move |error| {
            failure!(
                "file_failed",
                "{doing} {} failed: {error}; check the path and its permissions",
                path.display()
            )
        }
    }
}

/// Names the missing permission of `User: ARN is not authorized to perform: ACTION on resource: ARN
/// because ...`.
fn missing_right(denied: &str) -> String {
    const WHOM_TO_ASK: &str = "ask the stack's administrator for the role that has it (infra/docs/roles.md); `ops whoami` shows yours";
    let words = |after: &str| denied.split_once(after)?.1.split_whitespace().next();
    match (words("to perform: "), words("on resource: ")) {
        (Some(action), Some(arn)) => {
            // An ARN ends in a resource's kind and name.
            let resource = arn
                .splitn(6, ':')
                .last()
                .unwrap_or(arn)
                .replacen(['/', ':'], " ", 1);
            format!("you lack the permission {action} on {resource}; {WHOM_TO_ASK}")
        }
        (_, _) => format!("you lack a permission: {denied}; {WHOM_TO_ASK}"),
    }
}

/// A [`Failure`] with a code, and a message as `format!` takes it.
#[macro_export]
macro_rules! failure {
    ($code:expr, $($message:tt)+) => {
        $crate::failure::Failure::new($code, format!($($message)+))
    };
}

/// Returns such a [`Failure`].
#[macro_export]
macro_rules! bail {
    ($($failure:tt)+) => {
        return Err($crate::failure::failure!($($failure)+))
    };
}
use crate::prelude::*;
pub use {bail, failure};

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let message = format!(
            "{error}; set it from the outputs of the deployed stack, or name the file that the local stack \
             wrote (its --ready-file) with --env-file"
        );
        Self::new("not_configured", message)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if let Some(denied) = error.denied() {
            return Self::new("not_allowed", format!("{error}: {}", missing_right(denied)));
        }
        if let Some(record) = error.unreadable() {
            return Self::unreadable("nothing was done", std::slice::from_ref(record));
        }
        let mut message = error.to_string();
        let mut is_refused = false;
        let mut cause = error.source();
        while let Some(inner) = cause {
            let io_error = inner.downcast_ref::<io::Error>();
            is_refused |=
                io_error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            let text = inner.to_string();
            // SDK errors repeat their cause.
            if !message.contains(&text) {
                message += ": ";
                message += &text;
            }
            cause = inner.source();
        }
        message += if is_refused {
            "; nothing answers at this address: check the network, or, for a local stack, that it runs and that \
             --env-file is of its latest start; then run this again"
        } else {
            "; check the AWS credentials, the region and the tables' names, then run this again"
        };
        Self::new("aws_failed", message)
    }
}
