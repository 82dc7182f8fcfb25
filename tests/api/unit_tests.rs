//! Crates without unit tests build no program for them; a test in one would never run.

use std::path::Path;

use service_tests::template::file_text;

fn has_tests(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).expect("a folder");
    entries.any(|entry| {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            return has_tests(&path);
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        text.contains("#[cfg(test)]") || text.contains("#[test]")
    })
}

#[test]
fn no_unit_test_is_in_a_crate_that_runs_none() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let functions = std::fs::read_dir(root.join("functions")).expect("the functions");
    let functions = functions.map(|entry| entry.expect("an entry").file_name());
    let crates = functions.map(|name| format!("functions/{}", name.display()));
    let tests = ["tests", "tests/fuzz", "tests/receipt-photo"].map(str::to_owned);
    for krate in crates.chain(tests) {
        let manifest = file_text(&format!("{krate}/Cargo.toml"));
        let library = manifest.split("[lib]").nth(1).unwrap_or_default();
        let mut library = library.lines().take_while(|line| !line.starts_with("[["));
        if library.any(|line| line == "test = false") {
            let sources = root.join(&krate).join("src");
            assert!(
                !has_tests(&sources),
                "{krate}: its Cargo.toml says that it has no test"
            );
        }
    }
}
