//! The manuals' generated parts are up to date, and the commands that they name exist.
//!
//! `WRITE_DOCS=1 cargo test --workspace --test api manuals` writes the generated parts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use local::tables::TABLES;
use serde_json::Value;
use service_tests::roles::policies;
use service_tests::template::{file_text, service};
use service_tests::text::{list_of, text_of};

const FOLDER: &str = "infra/docs";
const END: &str = "<!-- end -->";

/// Page, name, and the text between the two comments.
fn generated() -> [(&'static str, &'static str, String); 4] {
    [
        ("architecture.md", "rights", rights()),
        ("architecture.md", "crates", crates()),
        ("deploying.md", "parameters", parameters()),
        ("operating.md", "commands", commands()),
    ]
}

#[test]
fn generated_parts_are_up_to_date() {
    for (page, part, text) in generated() {
        let path = format!("{FOLDER}/{page}");
        let written = file_text(&path);
        let begin = format!("<!-- generated: {part} -->\n");
        let (before, rest) = written.split_once(&begin).expect("the part begins");
        let (now, after) = rest.split_once(END).expect("the part ends");
        if std::env::var_os("WRITE_DOCS").is_some() {
            let page = format!("{before}{begin}{text}{END}{after}");
            std::fs::write(repository().join(path), page).expect("a page");
        } else {
            assert_eq!(
                now, text,
                "run `WRITE_DOCS=1 cargo test --workspace --test api manuals`"
            );
        }
    }
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn table(titles: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let titles: Vec<_> = titles.iter().map(|&title| title.to_owned()).collect();
    let rule = vec!["---".to_owned(); titles.len()];
    let head = [line(&titles), line(&rule)].concat();
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{head}{rows}")
}

/// Tables that a function reads and writes, and its other rights.
fn rights() -> String {
    let rows = policies().into_iter().map(|(function, policy)| {
        let mut tables = BTreeMap::<String, bool>::new();
        let mut others = BTreeMap::<String, BTreeSet<String>>::new();
        for (action, resource) in policy.own {
            match resource.strip_prefix("table/") {
                Some(table) => {
                    let name = table.split('/').next().unwrap_or(table).to_owned();
                    let verb = action.trim_start_matches("dynamodb:");
                    let writes = ["Put", "Update", "Delete", "BatchWrite"];
                    let writes = writes.iter().any(|verb_of| verb.starts_with(verb_of));
                    *tables.entry(name).or_default() |= writes;
                }
                None => {
                    let verb = action.split(':').next_back().unwrap_or(&action);
                    let (_, name) = resource.split_once('/').expect("a kind and a name");
                    let name = name.trim_start_matches("local/").to_owned();
                    others.entry(name).or_default().insert(verb.to_owned());
                }
            }
        }
        let tables = tables.into_iter().map(|(name, writes)| match writes {
            true => format!("**{name}**"),
            false => name,
        });
        let others: Vec<_> = others
            .into_iter()
            .map(|(name, verbs)| {
                let verbs: Vec<_> = verbs.into_iter().collect();
                format!("`{name}`: {}", verbs.join(", "))
            })
            .collect();
        vec![
            format!("`{function}`"),
            tables.collect::<Vec<_>>().join(", "),
            others.join("; "),
        ]
    });
    table(&["function", "tables", "others"], rows)
}

/// Crates with those that they use outside tests.
fn crates() -> String {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(repository())
        .output()
        .expect("cargo");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let packages = list_of(&metadata["packages"]);
    let root = text_of(&metadata["workspace_root"]);
    let in_product = |package: &&Value| {
        let manifest = text_of(&package["manifest_path"]).strip_prefix(root);
        !manifest.expect("in the workspace").starts_with("/tests/")
    };
    let name = |value: &Value| text_of(&value["name"]).to_owned();
    let mut users = BTreeMap::<Vec<String>, Vec<String>>::new();
    for package in packages.iter().filter(in_product) {
        let used = list_of(&package["dependencies"]).iter();
        let used = used.filter(|used| used["path"].is_string() && used["kind"] != "dev");
        let used: BTreeSet<_> = used.map(name).collect();
        users
            .entry(used.into_iter().collect())
            .or_default()
            .push(name(package));
    }
    let functions: BTreeSet<_> = policies().into_keys().collect();
    let list = |mut names: Vec<String>| {
        if functions.iter().all(|function| names.contains(function)) {
            names.retain(|name| !functions.contains(name));
            names.push("all functions".to_owned());
        }
        names.sort();
        names.join(", ")
    };
    let mut rows: Vec<_> = users.into_iter().collect();
    rows.sort_by_key(|(used, _)| used.len());
    let rows = rows
        .into_iter()
        .map(|(used, users)| vec![list(users), list(used)]);
    table(&["crate", "uses"], rows)
}

fn parameters() -> String {
    let template = service();
    let parameters = template["Parameters"].as_object().expect("parameters");
    let rows = parameters.iter().map(|(name, parameter)| {
        let default = match &parameter["Default"] {
            Value::Null => "required".to_owned(),
            Value::String(text) if text.is_empty() => String::new(),
            Value::String(text) => format!("`{text}`"),
            other => format!("`{other}`"),
        };
        let text = text_of(&parameter["Description"]);
        vec![format!("`{name}`"), default, text.replace('|', "\\|")]
    });
    table(&["parameter", "default", "meaning"], rows)
}

fn commands() -> String {
    let mut rows = Vec::new();
    push_commands(&ops_core::command(), "ops", &mut rows);
    table(&["command", "does"], rows)
}

fn push_commands(command: &clap::Command, path: &str, rows: &mut Vec<Vec<String>>) {
    if !command.is_subcommand_required_set() && !command.is_arg_required_else_help_set() {
        let about = command.get_about().expect("a text").to_string();
        rows.push(vec![format!("`{path}{}`", usage(command)), about]);
    }
    for subcommand in command.get_subcommands() {
        let path = format!("{path} {}", subcommand.get_name());
        push_commands(subcommand, &path, rows);
    }
}

/// Positional arguments; `--help` has the options.
fn usage(command: &clap::Command) -> String {
    let shown = |arg: &clap::Arg| {
        let id = arg.get_id().as_str().to_uppercase();
        let value = arg.get_value_names().map_or(id, |names| names.join(" "));
        let counts = arg.get_num_args();
        let repeated = counts.is_some_and(|number| number.max_values() > 1);
        let value = format!("{value}{}", if repeated { " …" } else { "" });
        match arg.is_required_set() {
            true => format!(" {value}"),
            false => format!(" [{value}]"),
        }
    };
    command.get_positionals().map(shown).collect()
}

#[test]
fn table_of_tables_is_that_of_the_template() {
    let page = file_text("infra/docs/architecture.md");
    let (_, rows) = page.split_once("| table | key |").expect("the table");
    let rows = rows.lines().filter_map(|line| line.strip_prefix("| "));
    let keys: BTreeMap<_, _> = rows
        .filter_map(|row| row.split_once(" | `"))
        .filter_map(|(name, rest)| Some((name, rest.split_once('`')?.0)))
        .collect();
    let tables = TABLES.iter().map(|table| (table.name, table.key));
    assert_eq!(keys, tables.collect());
}

/// Commands in a page's code spans and blocks, each a line.
fn commands_of(page: &str) -> Vec<String> {
    let blocks = page.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(str::to_owned);
    let spans = page.split('`').skip(1).step_by(2).map(str::to_owned);
    lines
        .chain(spans)
        .filter_map(|text| {
            let text = text.trim().trim_start_matches("cargo ");
            Some(text.strip_prefix("ops ")?.to_owned())
        })
        .collect()
}

#[test]
fn commands_that_manuals_name_exist() {
    let ops = ops_core::command();
    let mut pages = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(repository().join(FOLDER)).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") && name != "changelog.md" {
            pages.push(format!("{FOLDER}/{name}"));
        }
    }
    let mut looked_at = 0;
    for page in &pages {
        for line in commands_of(&file_text(page)) {
            assert_exists(&ops, &line, page);
            looked_at += 1;
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}

fn assert_exists(ops: &clap::Command, line: &str, page: &str) {
    let (mut command, mut in_path) = (ops, true);
    let line = line.split(" #").next().unwrap_or_default();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let word = word.trim_matches(['[', ']', '(', ')']);
        let long = word.strip_prefix("--");
        if word == "--help" {
            continue;
        } else if let Some(name) = long.map(|name| name.split('=').next().unwrap_or_default()) {
            let mut known = ops.get_arguments().chain(command.get_arguments());
            let arg = known.find(|arg| arg.get_long() == Some(name));
            let arg = arg.unwrap_or_else(|| panic!("{page}: `ops {line}` has no --{name}"));
            if arg.get_action().takes_values() && in_path {
                words.next();
            }
        } else if let Some(subcommand) = command.find_subcommand(word) {
            command = subcommand;
        } else {
            let is_word = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let misses = in_path && command.has_subcommands() && is_word && word.len() > 1;
            assert!(!misses, "{page}: `ops {line}` names no command");
            in_path = false;
        }
    }
}
