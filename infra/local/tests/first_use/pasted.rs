//! Pastes every printed block and the README's, each at once, into an interactive shell.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use common::clock::Clock;
use local::demo::{self, Demo};
use local::first_screen::FirstScreen;
use local::stack::{Options, Stack};

use super::repository;

/// Runs no startup files.
const BASH: &[&str] = &["bash", "--noprofile", "--norc", "-i"];
const ZSH: &[&str] = &["zsh", "-f", "-i"];

/// Messages of a block that cannot run.
const COMPLAINTS: [&str; 7] = [
    "command not found",
    "not found:",
    "parse error",
    "syntax error",
    "curl: (",
    "quote>",
    "error:",
];

fn is_installed(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

fn paste(shell: &[&str], folder: &Path, text: &str) -> String {
    // A new session: an interactive shell would take the test run's terminal.
    let mut child = Command::new("setsid")
        .arg("--wait")
        .args(shell)
        .current_dir(folder)
        .env("HISTFILE", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stdin = child.stdin.take().expect("piped");
    let text = format!("{text}\nexit\n");
    let writing = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writing
        .join()
        .expect("no panic")
        .expect("the shell reads everything");
    let (printed, said) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    for complaint in COMPLAINTS {
        assert!(
            !printed.contains(complaint) && !said.contains(complaint),
            "{shell:?}: {said}\n{printed}"
        );
    }
    printed.into_owned()
}

/// A string field's values in order.
fn values<'a>(printed: &'a str, field: &str) -> Vec<&'a str> {
    let name = format!("\"{field}\":\"");
    printed
        .split(name.as_str())
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

async fn start() -> (Stack, Vec<Demo>) {
    let program = env!("CARGO_BIN_EXE_local").into();
    let options = Options {
        photo_reader: Some(program),
        ..Options::default()
    };
    let stack = Stack::start(options).await.expect("it starts");
    let env = stack.env().clone().into_iter().collect();
    let demos = demo::load(&env, None, stack.partner_url(), &Clock::system())
        .await
        .expect("demos");
    (stack, demos)
}

/// Message keys of each block in order, without repeats.
const EXPECTED: [(&str, &[&str]); 11] = [
    ("the first screen", &["entered", "entered"]),
    ("README.md", &["entered"]),
    (
        "chai-bora-2026",
        &[
            "entered",
            "already_used",
            "invalid",
            "entered",
            "entered",
            "daily_limit",
            "code_held",
        ],
    ),
    (
        "duka-kuu-2026",
        &["receipt_received", "entered", "receipt_received", "entered"],
    ),
    (
        "duka-kuu-2026",
        &["receipt_received", "entered", "receipt_received", "entered"],
    ),
    (
        "risiti-na-namba-2026",
        &[
            "receipt_received",
            "receipt_wrong_store",
            "receipt_received",
            "entered",
        ],
    ),
    (
        "risiti-na-namba-2026",
        &[
            "receipt_received",
            "receipt_wrong_store",
            "receipt_received",
            "entered",
        ],
    ),
    ("bahati-2026", &["entered", "checking"]),
    (
        "bahati-2026",
        &["entered", "instant_win", "already_used", "checking"],
    ),
    ("soda-rush-2026", &["instant_win"]),
    ("mango-2025", &["campaign_ended"]),
];

fn first_screens_entry(stack: &Stack, demos: &[Demo]) -> String {
    let screen = FirstScreen {
        base_url: stack.base_url(),
        stage: "production",
        data: None,
        ready_file: None,
        demos,
        lists_demos: false,
        has_colour: false,
    };
    let screen = screen.to_string();
    let command = screen
        .lines()
        .find(|line| line.starts_with("curl "))
        .expect("a command");
    format!("{command}\n{command}")
}

fn readmes_entry(stack: &Stack) -> String {
    let page = std::fs::read_to_string(repository().join("README.md")).expect("a page");
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let blocks = blocks.inspect(|block| assert_without_comments(block));
    let calls: String = blocks.filter(|block| block.contains("curl")).collect();
    calls.replace("http://127.0.0.1:8080", stack.base_url())
}

/// Interactive zsh runs comments.
fn assert_without_comments(text: &str) {
    assert!(
        !text.split_whitespace().any(|word| word.starts_with('#')),
        "{text}"
    );
}

/// Everything on one stack, where a code or limit is missing for the next entry.
async fn what_a_first_user_pastes_works(shell: &'static [&'static str]) {
    let (stack, demos) = start().await;
    let described = demo::describe(&demos, stack.base_url(), "production");
    let mut texts = vec![first_screens_entry(&stack, &demos), readmes_entry(&stack)];
    texts.extend(
        described
            .split("\n\n")
            .filter(|block| block.starts_with("  echo '== "))
            .map(str::to_owned),
    );
    assert_eq!(texts.len(), EXPECTED.len(), "{described}");
    let pasting = tokio::task::spawn_blocking(move || {
        // In the repository, so that `cargo run` works.
        let folder = tempfile::tempdir_in(repository()).expect("a folder");
        let pasted = texts.iter().zip(EXPECTED).map(|(text, (name, expected))| {
            assert_without_comments(text);
            let printed = paste(shell, folder.path(), text);
            assert_eq!(
                values(&printed, "message_key"),
                expected,
                "{name} in {shell:?}: {printed}"
            );
            printed
        });
        pasted.collect::<Vec<_>>()
    });
    let printed = pasting.await.expect("everything works");
    let [first_screen, readme] = printed.first_chunk().expect("both");
    assert!(
        first_screen.contains("idempotent-replayed: true"),
        "{first_screen}"
    );
    assert_eq!(
        values(readme, "state").last(),
        Some(&"accepted"),
        "{readme}"
    );
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_first_user_pastes_works_in_bash() {
    what_a_first_user_pastes_works(BASH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_first_user_pastes_works_in_zsh() {
    if is_installed("zsh") {
        what_a_first_user_pastes_works(ZSH).await;
    }
}
