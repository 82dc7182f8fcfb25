//! Builds the functions for release, as deployed, with the same cargo and target folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Builds packages together; returns programs by name.
pub(crate) fn build(packages: &[&str]) -> HashMap<String, PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("the target folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args([
            "build",
            "--release",
            "--quiet",
            "--message-format=json",
            "--target-dir",
        ])
        .arg(target);
    for package in packages {
        cargo.args(["-p", package]);
    }
    let built = cargo
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "the functions do not build");
    let messages = String::from_utf8(built.stdout).expect("JSON lines");
    messages
        .lines()
        .filter_map(|line| program(&serde_json::from_str(line).ok()?))
        .collect()
}

/// The program that a cargo message reports.
fn program(message: &Value) -> Option<(String, PathBuf)> {
    let path = message["executable"].as_str()?;
    Some((
        message["target"]["name"].as_str()?.to_owned(),
        PathBuf::from(path),
    ))
}
