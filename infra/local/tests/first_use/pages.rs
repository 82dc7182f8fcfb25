//! The repository's own pages.

use std::path::{Path, PathBuf};

use super::repository;

/// Have no pages of this repository.
const LEFT_OUT: [&str; 4] = [".git", "target", "node_modules", ".aws-sam"];

fn add_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() && !LEFT_OUT.contains(&name) {
            add_pages(&path, pages);
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a page")
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars()
        .filter(|c| c.is_alphanumeric() || "-_".contains(*c))
        .collect()
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut pages = Vec::new();
    add_pages(&repository(), &mut pages);
    let mut looked_at = 0;
    for page in &pages {
        for link in read(page)
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if link.contains("://") || link.starts_with('/') {
                continue;
            }
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.with_file_name("").join(file)
            };
            assert!(target.exists(), "{} links to {link}", page.display());
            let is_heading =
                |line: &str| line.starts_with('#') && anchor(line.trim_start_matches('#')) == place;
            assert!(
                place.is_empty() || read(&target).lines().any(is_heading),
                "{} links to {link}",
                page.display()
            );
            looked_at += 1;
        }
    }
    assert!(looked_at > 50, "{looked_at}");
}

#[test]
fn the_readme_is_short() {
    let words = read(&repository().join("README.md"))
        .split_whitespace()
        .count();
    assert!(words < 800, "{words} words");
}
