//! Reads campaign files: YAML, or JSON, with the API's own field names.

mod check;
mod fields;
pub mod form;
pub(crate) mod leaves;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod partner_tests;
#[cfg(test)]
mod receipt_tests;
mod rules;
mod schema;
mod template;
#[cfg(test)]
mod tests;
mod tree;
pub(crate) mod write;

use crate::prelude::*;

pub use common::domain::partner::reply::MAX_ENTRIES;

pub use self::schema::schema;
pub use self::template::template;
pub use self::write::to_yaml;
pub use crate::problem::Problem;

/// Many times what a campaign with every message needs.
pub const MAX_BYTES: usize = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignFile {
    pub campaign: Campaign,
    /// False keeps the stored value.
    pub says_paused: bool,
}

/// `name` is the file in problems, which are sorted by line.
pub fn read(name: &str, text: &str) -> Result<CampaignFile, Vec<Problem>> {
    let problems = Problems::from_file(name);
    let file = if text.len() > MAX_BYTES {
        let message = format!("the file is larger than {MAX_BYTES} bytes; is it a campaign file?");
        problems.add_line(1, message);
        None
    } else {
        match tree::parse(text) {
            Ok(Some(root)) => read_tree(&root, &problems),
            Ok(None) => {
                let message =
                    "the file is empty; write at least slug, name, brand, timezone and code";
                problems.add_line(1, message);
                None
            }
            Err(tree::InvalidTree { line, message }) => {
                problems.add_line(line, message);
                None
            }
        }
    };
    match file {
        Some(file) if problems.count() == 0 => Ok(file),
        Some(_) | None => Err(problems.into_sorted()),
    }
}

fn read_tree(root: &tree::Node, problems: &Problems) -> Option<CampaignFile> {
    let mut checker = check::Checker {
        problems,
        lines: HashMap::new(),
    };
    let fields = checker.file(root)?;
    let says_paused = fields.contains_key("paused");
    let file = Value::Object(fields);
    rules::check(&rules::Field {
        path: String::new(),
        value: &file,
        lines: &checker.lines,
        problems,
    });
    if problems.count() > 0 {
        return None;
    }
    match write::from_json(file) {
        Ok(campaign) => {
            rules::check_size(&campaign, root.line, problems);
            Some(CampaignFile {
                campaign,
                says_paused,
            })
        }
        Err(error) => {
            problems.add_line(
                root.line,
                format!("the file cannot be read: {error}; report this"),
            );
            None
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<CampaignFile, Vec<Problem>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(name, text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
            let problems = Problems::from_file(name);
            problems.add_line(
                line,
                "the line holds bytes that are not UTF-8; save the file as UTF-8",
            );
            Err(problems.into_sorted())
        }
    }
}
