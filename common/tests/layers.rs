//! Modules use only those below them.

#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first.
const LAYERS: [&[&str]; 10] = [
    &["lock", "text"],
    &["domain"],
    &["cache", "clock", "config", "error", "random"],
    &["telemetry"],
    &["aws"],
    &["store"],
    &["upstream"],
    &["http"],
    &["app"],
    &["runtime"],
];

fn layer(module: &str) -> usize {
    let layer = LAYERS.iter().position(|modules| modules.contains(&module));
    layer.unwrap_or_else(|| panic!("{module} has no layer"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn modules_use_only_those_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut arrows = 0;
    for path in sources(&root) {
        let relative = path.strip_prefix(&root).expect("below the root");
        let first = relative.iter().next().and_then(|name| name.to_str());
        let module = first.expect("a name").trim_end_matches(".rs");
        // Macros belong to the modules that use them.
        if ["lib", "text"].contains(&module)
            || path.extension().is_none_or(|extension| extension != "rs")
        {
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source");
        for used in source.split("crate::").skip(1) {
            let name = |c: char| c.is_ascii_lowercase() || c == '_';
            let used = &used[..used.find(|c| !name(c)).unwrap_or(used.len())];
            let is_down = used == module || layer(used) < layer(module);
            assert!(is_down, "{} uses {used}", relative.display());
            arrows += 1;
        }
    }
    assert!(arrows > 100, "{arrows}");
}
