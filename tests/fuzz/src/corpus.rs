//! Samples of a target: good ones, odd ones, and those that once broke something.

use std::fs;
use std::path::{Path, PathBuf};

use crate::targets::Target;

/// The crate's own folder.
const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Where the samples of all targets are: a folder for each.
pub fn folder() -> PathBuf {
    Path::new(CRATE).join("corpus")
}

/// The samples of a target, in the order of their names: its own, and files of the repository that it reads.
///
/// # Panics
/// When a file cannot be read, or there is none.
pub fn of(target: &Target) -> Vec<Vec<u8>> {
    let own = files(&folder().join(target.name), "");
    let shared = target.shared.iter().flat_map(|(of, begins)| files(&Path::new(CRATE).join(of), begins));
    let samples: Vec<_> = own.into_iter().chain(shared).collect();
    assert!(!samples.is_empty(), "{} has no samples", target.name);
    samples.iter().map(|file| fs::read(file).expect("a sample")).collect()
}

/// The files in a folder whose names begin so.
fn files(folder: &Path, begins: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begins)))
        .collect();
    files.sort();
    files
}
