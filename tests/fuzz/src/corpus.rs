//! Samples of a target: valid, odd, and once failing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::targets::Target;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Has a folder for each target.
pub fn folder() -> PathBuf {
    Path::new(CRATE).join("corpus")
}

/// A target's own and shared samples, sorted by name. Panics if there are none, or one cannot be
/// read.
pub fn of(target: &Target) -> Vec<Vec<u8>> {
    let own = files(&folder().join(target.name), "");
    let shared = target
        .shared
        .iter()
        .flat_map(|(of, begins)| files(&Path::new(CRATE).join(of), begins));
    let samples: Vec<_> = own.into_iter().chain(shared).collect();
    assert!(!samples.is_empty(), "{} has no samples", target.name);
    samples
        .iter()
        .map(|file| fs::read(file).expect("a sample"))
        .collect()
}

fn files(folder: &Path, begins: &str) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.is_file())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(begins))
        })
        .collect();
    files.sort();
    files
}
