//! A first user's reading and pasting: the repository's pages, and printed commands.

#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

mod pages;
mod pasted;

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    folder.canonicalize().expect("the repository")
}
